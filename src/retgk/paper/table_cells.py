"""
What there is to compute: the cells of tables and figures, from the files in ``settings``.

A method ``[methods.NAME]`` of ``settings/table_N.toml`` is a column of that table. Its `kind` says
how it is computed: see `retgk.paper.runner.METHOD_KINDS`.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

from retgk.errors import InvalidInputError
from retgk.paper.records import key_of

__all__ = [
    "TABLES",
    "Cell",
    "Protocol",
    "cell_key",
    "chosen_cells",
    "computed_methods",
    "fair_cells",
    "figure_cells",
    "n_repetitions",
    "protocol_settings",
    "read_settings",
    "set_sizes",
    "table_cells",
    "variation_cells",
]

TABLES = (1, 2, 3, 4)
Protocol = Literal["paper", "nested", "time", "fair"]
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Cell:
    """One number of a table or one point of a figure."""

    place: str
    """As in "table 2", "figure 2: S=20", "variation of table 1: p=2", or "fair table"."""
    dataset: str
    method: str
    settings: Settings = field(hash=False)
    """Everything that the result depends on, but for the protocol and the repetition."""
    protocol: Protocol = "paper"
    """How the accuracy is found; "time" is without."""
    deduplicate: bool = False
    """Whether copies of graphs are dropped first."""

    def identity(self) -> dict[str, Any]:
        """Everything that the accuracies depend on, but for the repetition."""
        return {
            "dataset": self.dataset,
            "settings": dict(self.settings),
            "protocol": self.protocol,
            "protocol_settings": dict(protocol_settings(self.protocol)),
            "deduplicate": self.deduplicate,
        }

    def key(self, repetition: int) -> str:
        """Name of the record of one repetition; cells of the same settings share it."""
        return key_of({**self.identity(), "repetition": repetition})


def cell_key(identity: Mapping[str, Any]) -> str:
    """Name of a cell, from `Cell.identity` or from a record of any of its repetitions."""
    names = ("dataset", "settings", "protocol", "protocol_settings", "deduplicate")
    return key_of({name: identity[name] for name in names})


@cache
def read_settings(name: str) -> dict[str, Any]:
    """Content of a file of settings: "table_1" to "table_4", "protocols", "sets" and so on."""
    path = resources.files("retgk.paper") / "settings" / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8"))


def protocol_settings(protocol: Protocol) -> Settings:
    """Settings of a protocol that its results depend on, without those that choose cells."""
    settings = read_settings("protocols")[protocol]
    return {name: value for name, value in settings.items() if name not in _CHOICE_OF_CELLS}


_CHOICE_OF_CELLS = ("methods", "max_graphs")


def set_sizes(name: str) -> tuple[int, int, float]:
    """Graphs, classes and mean number of nodes of a set, as its makers state them."""
    n_graphs, n_classes, n_nodes = read_settings("sets").get(name, (1000, 2, 50.0))
    return n_graphs, n_classes, n_nodes


def table_cells(
    table: int, protocol: Protocol = "paper", *, deduplicate: bool = False
) -> list[Cell]:
    """
    Cells of a table that can be computed, set by set.

    The nested protocol is for some methods and for sets of some size, see protocols.toml.
    """
    if table not in TABLES:
        raise InvalidInputError(f"there is no table {table}; choose from {TABLES}")
    settings = read_settings(f"table_{table}")
    cells = [
        Cell(
            f"table {table}",
            name,
            method,
            _cell_settings(settings, name, method),
            protocol,
            deduplicate,
        )
        for name in settings["sets"]
        for method in computed_methods(table)
    ]
    return [cell for cell in cells if _has_protocol(cell)]


def computed_methods(table: int) -> list[str]:
    """Methods of a table that are computed, in the order of its settings."""
    return list(read_settings(f"table_{table}")["methods"])


def _cell_settings(table: Settings, name: str, method: str) -> dict[str, Any]:
    overrides = table.get("overrides", {}).get(name, {}).get(method, {})
    used = {use: table[use] for use in ("uses_labels", "uses_attributes")}
    chosen = {**table["methods"][method], **overrides}
    if chosen["kind"] in ("native", "network"):
        chosen["kernel"] = method
    return {**used, **table.get("editions", {}).get(name, {}), **chosen}


def _has_protocol(cell: Cell) -> bool:
    if cell.settings["kind"] == "network":  # days by the nested protocol, and no kernel to time
        return cell.protocol == "paper"
    choice = read_settings("protocols")[cell.protocol]
    if cell.method not in choice.get("methods", [cell.method]):
        return False
    return bool(set_sizes(cell.dataset)[0] <= choice.get("max_graphs", float("inf")))


# The fair table


def fair_cells() -> list[Cell]:
    """Cells of the table with fixed folds, set by set; a digest of the folds is in the settings."""
    settings = read_settings("fair")
    return [
        Cell("fair table", name, method, _fair_settings(name, method), "fair")
        for name in settings["sets"]
        for method in settings["methods"]
    ]


def _fair_settings(name: str, method: str) -> dict[str, Any]:
    """Settings of a method, with lists of what is chosen from."""
    fair = read_settings("fair")
    source, own = fair["sets"][name], fair["methods"][method]
    table = read_settings(f"table_{source['table']}")
    found = {use: table[use] for use in ("uses_labels", "uses_attributes")}
    if own["kind"] == "classifier":
        found["defaults"] = _classifier_defaults()
    if own["kind"] == "levels" and "n_steps" not in own:
        found |= _published_settings(table, name)
    found |= {**own, "folds": source["folds"]}
    if "scale_attributes" in found and not found["uses_attributes"]:
        found["scale_attributes"] = ["raw"]
    return found


def _published_settings(table: Settings, name: str) -> dict[str, Any]:
    """Settings of RetGK_I in a table, as lists of one."""
    published = _cell_settings(table, name, "RetGK_I")
    del published["structure_gamma"]  # the median, as in all others
    chosen = {key: [published[key]] for key in ("p", "median_scale")}
    return {**published, **chosen, "scale_attributes": ["raw"]}


@cache
def _classifier_defaults() -> dict[str, str]:
    """Defaults of the classifier, in text: with others, it is another method."""
    from retgk.estimators.classifier import RetGKClassifier

    values = RetGKClassifier().get_params(deep=False)
    of_no_effect = ("n_jobs", "random_state", "verbose")
    return {key: repr(value) for key, value in values.items() if key not in of_no_effect}


def n_repetitions(cell: Cell, n_wanted: int) -> int:
    """Number of repetitions of a cell, of which so many are wanted, that are not all the same."""
    if cell.protocol != "fair":
        return n_wanted
    return min(n_wanted, int(read_settings("fair")["repetitions"].get(cell.method, 1)))


# Figures and variations


def figure_cells(figure: int = 2) -> list[Cell]:
    """
    Cells of a figure, set by set and parameter by parameter; figure 1 needs no records.

    Those that agree with a cell of a table have its key.
    """
    if figure not in (1, 2):
        raise InvalidInputError(f"there is no figure {figure}; choose from (1, 2)")
    if figure == 1:
        return []
    settings = read_settings("figure_2")
    return [
        Cell(f"figure 2: {parameter}={value}", name, settings["method"], changed)
        for name, table in settings["sets"].items()
        for parameter, value, changed in _figure_2_points(name, table, settings)
    ]


def _figure_2_points(
    name: str, table: int, figure: Settings
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Parameter, value and all settings of every point for a set."""
    base = _cell_settings(read_settings(f"table_{table}"), name, figure["method"])
    widths: Sequence[int] = base["n_components"]
    for value in figure["values"]["S"]:
        yield "S", value, {**base, "n_steps": value}
    for value in figure["values"]["D0"]:
        yield "D0", value, {**base, "n_components": [value, widths[1]]}
    if base["uses_attributes"]:
        for value in figure["values"]["Dc"]:
            yield "Dc", value, {**base, "n_components": [widths[0], value]}


def variation_cells() -> list[Cell]:
    """Cells of tables with other settings, tried where a cell is not where the paper has it."""
    return [
        Cell(
            f"variation of table {table}: {_change_text(change)}",
            name,
            method,
            {**_cell_settings(read_settings(f"table_{table}"), name, method), **change},
        )
        for table, name, method, changes in _changes()
        for change in changes
    ]


def _changes() -> Iterator[tuple[int, str, str, list[dict[str, Any]]]]:
    """Table, set and method of variations.toml, and the changes that were tried there."""
    for table, sets in read_settings("variations").items():
        for name, methods in sets.items():
            for method, changes in methods.items():
                yield int(table), name, method, changes


def _change_text(change: Settings) -> str:
    """Settings and their values; of `choose` what there is to choose from."""
    return ", ".join(
        " or ".join(map(_change_text, value)) if name == "choose" else f"{name}={value}"
        for name, value in change.items()
    )


def chosen_cells(
    *,
    tables: Sequence[int] | None = None,
    figures: Sequence[int] | None = None,
    variations: bool = False,
    sets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    protocols: Sequence[Protocol] = ("paper",),
    deduplicate: bool = False,
) -> list[Cell]:
    """
    Cells that are asked for: all tables and figure 2 unless some of these or variations are named.

    `sets` and `methods` leave out cells of other names. Figures and variations are made by the
    paper's protocol alone; the fair protocol has one table of its own.
    """
    _check_fair(tables, deduplicate=deduplicate, protocols=protocols)
    if (figures or variations) and (deduplicate or "paper" not in protocols):
        raise InvalidInputError(
            "figures and variations are made by the paper's protocol with all graphs; leave them "
            "out, or take the protocol 'paper' without dropping copies"
        )
    if tables is None and figures is None and not variations:
        tables, figures = TABLES, (2,)
    cells = [
        cell
        for protocol in protocols
        if protocol != "fair"
        for table in tables or ()
        for cell in table_cells(table, protocol, deduplicate=deduplicate)
    ]
    cells += fair_cells() if "fair" in protocols else []
    if "paper" in protocols and not deduplicate:
        cells += [cell for figure in figures or () for cell in figure_cells(figure)]
    cells += variation_cells() if variations else []
    known_sets = {cell.dataset for cell in cells}
    _check_names("set", sets, known_sets)
    _check_names("method", methods, {cell.method for cell in cells})
    return [
        cell
        for cell in cells
        if (not sets or cell.dataset in sets) and (not methods or cell.method in methods)
    ]


def _check_fair(
    tables: Sequence[int] | None, *, deduplicate: bool, protocols: Sequence[Protocol]
) -> None:
    """Raise where the fair table is asked for with what it cannot have."""
    if "fair" in protocols and deduplicate:
        raise InvalidInputError(
            "the folds of the fair protocol are of all graphs; do not drop copies with it"
        )
    if list(protocols) == ["fair"] and tables is not None:
        raise InvalidInputError(
            "the fair protocol has a table of its own; leave the numbers of tables out"
        )


def _check_names(what: str, wanted: Sequence[str] | None, known: set[str]) -> None:
    unknown = sorted(set(wanted or ()) - known)
    if unknown:
        raise InvalidInputError(
            f"no cell that is asked for has the {what} {unknown[0]!r}; choose from "
            f"{', '.join(sorted(known))}"
        )
