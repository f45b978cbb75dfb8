"""How graphs were read: options that new graphs have to share with those a model was fitted on."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from retgk._runtime.fields import stored
from retgk.errors import InvalidInputError


class _Kind(NamedTuple):
    """What graphs were before they were read, and the names of options and of forms of a reader."""

    words: str
    options: tuple[str, ...]
    form: tuple[str, ...] = ("symmetrize", "missing")


_NAMED = ("label", "attributes", "categorical", "weight", "edge_label", "negative")
_OF_MOLECULES = ("attributes", "add_hydrogens", "bond_orders", "bond_types")

# A new converter or reader is added here; a new option of one has its name in one of the two lists.
_KINDS = {
    "molecules": _Kind("molecules or SMILES strings", _OF_MOLECULES, ("smiles_column",)),
    "networkx": _Kind("networkx graphs", _NAMED),
    "igraph": _Kind("igraph graphs", _NAMED),
    "pyg": _Kind(
        "PyTorch Geometric Data", ("label", "attributes", "weight", "edge_label", "negative")
    ),
    "dataframe": _Kind("tables of edges", _NAMED),
    "grakel": _Kind("GraKeL graphs", ("as_attributes", "negative")),
    "arrays": _Kind(
        "adjacency matrices or arrays of edges",
        ("negative", "fisher_z", "threshold", "density"),
        ("symmetrize", "missing", "variable"),
    ),
    "json": _Kind("graphs of JSON files", ("weighted", "negative"), ("symmetrize", "missing")),
    "edges": _Kind(
        "graphs of files of edges",
        ("weight", "edge_label", "negative"),
        ("delimiter", "symmetrize"),
    ),
    "tu": _Kind("graphs of a TU data set", ("weight_column", "negative"), ("symmetrize",)),
}
_SURE_WEIGHTS = ("molecules", "tu")
_FLAGS = ("add_hydrogens", "as_attributes", "bond_orders", "bond_types", "fisher_z", "weighted")
_LISTED = ("attributes", "edge_label")  # None is the empty list, with which nothing warns again


@stored
@dataclass(frozen=True)
class Reading:
    """How graphs were read: `options` change the graphs, `form` may differ between sources."""

    kind: str
    options: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    labels: bool = True
    attributes: bool = True
    edge_labels: bool = True
    label_columns: tuple[str, ...] = ()
    """Columns of labels that were chosen; empty for all."""

    def without_labels(self) -> "Reading":
        options = _with(self.options, "label", None)
        return replace(self, labels=False, label_columns=(), options=options)

    def with_label_columns(self, columns: tuple[str, ...]) -> "Reading":
        return replace(self, label_columns=columns)

    def without_attributes(self) -> "Reading":
        options = _with(_with(self.options, "attributes", []), "categorical", {})
        return replace(self, attributes=False, options=options)

    def without_edge_labels(self) -> "Reading":
        options = _with(_with(self.options, "edge_label", []), "bond_types", False)
        return replace(self, edge_labels=False, options=options)

    def with_form(self, **form: Any) -> "Reading":
        return replace(self, form={**self.form, **form})

    def after_loading(self) -> None:
        names = _KINDS.get(self.kind)
        if names is None:
            raise InvalidInputError(f"there is no kind of graphs {self.kind!r:.80}")
        for group, own, values in (
            ("options", names.options, self.options),
            ("form", names.form, self.form),
        ):
            if not values.keys() <= set(own):
                raise InvalidInputError(f"{group} of reading {self.kind} are {values!r:.80}")
            for name, option in values.items():
                if not _is_plain(option):
                    raise InvalidInputError(f"the option {name} of reading is {option!r:.80}")

    @property
    def in_words(self) -> str:
        return _KINDS[self.kind].words

    @property
    def tells_weights(self) -> bool:
        """Whether its options alone say if graphs are weighted: names of values may be absent."""
        return self.kind in _SURE_WEIGHTS


def _with(options: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {**options, name: value} if name in options else options


def reading_of(kind: str, given: Mapping[str, Any]) -> Reading:
    """Make a reading of the options of a converter or reader, of which it keeps those it knows."""
    names = _KINDS[kind]
    values = {name: _plain(name, value) for name, value in given.items()}
    return Reading(
        kind,
        {name: values[name] for name in names.options if name in values},
        {name: values[name] for name in names.form if name in values},
    )


def _plain(name: str, value: Any) -> Any:
    """Give one form to all ways to say the same: yes or no, a list of names of attributes."""
    if name in _FLAGS or (name == "symmetrize" and not isinstance(value, str)):
        return bool(value)
    if name == "categorical":
        return {  # Python's own values for NumPy's, which no file holds
            each: [one.item() if isinstance(one, np.generic) else one for one in values]
            for each, values in (value or {}).items()
        }
    if name in _LISTED and value is None:
        return []
    if name != "attributes":
        return list(value) if isinstance(value, list) else value
    return list(value) if isinstance(value, list | tuple) else [value]


def check_same_reading(
    own: Reading | None,
    its: Reading | None,
    batch_was: str = "the graphs were",
    others_were: str = "the fitted ones",
) -> None:
    if own is None or its is None or own.kind != its.kind:
        return
    for name in own.options:
        mine, theirs = own.options[name], its.options.get(name, own.options[name])
        # categories make columns in the order of their names
        if mine != theirs or (isinstance(mine, dict) and list(mine) != list(theirs)):
            wanted = f"{name}={theirs!r}"
            raise InvalidInputError(
                f"{batch_was} read with {name}={mine!r}, {others_were} with "
                f"{wanted}; read all in one way, such as with {wanted}"
            )


def _is_plain(value: Any) -> bool:
    """Whether a value is one that files hold; names may be any objects of a user's."""
    if isinstance(value, Mapping):
        return all(map(_is_plain, value)) and all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str) or type(value) in (bool, int, float)
