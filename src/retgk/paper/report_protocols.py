"""How accuracies were found, from the settings of the protocols; and both beside each other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from retgk.paper.report_grids import Entry, Grid
from retgk.paper.report_sections import measured_text, published_text, succeeded
from retgk.paper.summaries import Row
from retgk.paper.table_cells import TABLES, read_settings, table_cells

__all__ = ["both_protocols_grid", "protocols_grid"]

Rules = Mapping[str, Any]


def protocols_grid() -> Grid:
    """What is split, chosen and fixed, in the paper's protocol and in the nested one."""
    rules = read_settings("protocols")
    paper, nested = rules["paper"], rules["nested"]
    folds, tenth = paper["folds"], _ordinal_part(paper["folds"])
    lines = [
        ("folds", _paper_folds(folds), f"{nested['folds']} stratified folds, drawn anew for each "
         "repetition; every graph is tested once."),
        ("medians", "Over all graphs, test graphs included (transductive).",
         "Over training graphs alone."),
        ("C", f"From {_set(paper['c'])}, on a validation {tenth}; ties go to the larger C. Then "
         "training and validation graphs train together. This is the authors' code; the paper's "
         "text prints 1e-3 to 1e3.",
         f"From {_set(nested['c'])}, together with everything else that is chosen, by "
         f"{nested['inner_folds']}-fold cross-validation inside the training folds; ties go to "
         "the larger C."),
        ("RetGK_I", "Bandwidth: the median. p, the number of steps S and a factor of the median "
         "of graphs are the authors' choices for each set. Bandwidth of attributes: 1 / "
         "sqrt(dimension).", _nested_exact(nested)),
        ("RetGK_II", "The scales of the frequencies, p and S are the authors' choices for each "
         "set.", _nested_embedding(nested)),
        ("WL, SP", "C alone is chosen; their other settings are fixed.",
         "C alone is chosen; their other settings are fixed."),
        ("cells", "All methods that are computed here, all sets.",
         f"{', '.join(nested['methods'])}; sets of at most {nested['max_graphs']:,} graphs."),
    ]  # fmt: skip
    rows = [[Entry(name), Entry(one, kind="text"), Entry(two, kind="text")]
            for name, one, two in lines]  # fmt: skip
    notes = [
        "Accuracies of the tables are by the paper's protocol: test graphs have a part in its "
        "medians, and test accuracies may have had one in the authors' choices for each set.",
        f"In both, RetGK_I is computed with tol = {_tolerances()}: every inner product of mean "
        "embeddings is within tol of its exact value.",
    ]
    return Grid("protocols", "Protocols", ["", "paper", "nested"], rows, notes)


def _tolerances() -> str:
    cells = [cell for table in TABLES for cell in table_cells(table)]
    found = {cell.settings["tol"] for cell in cells if "tol" in cell.settings}
    return " or ".join(f"{tol:g}" for tol in sorted(found))


def _set(values: Sequence[float]) -> str:
    return "{" + ", ".join(f"{value:g}" for value in values) + "}"


def _ordinal_part(n: int) -> str:
    return "tenth" if n == 10 else f"part of 1/{n}"


def _paper_folds(n_folds: int) -> str:
    return (
        f"One random order of all graphs for each repetition, not stratified, cut into {n_folds} "
        f"folds of n - ceil({1 - 1 / n_folds:g} n) graphs. Where {n_folds} does not divide n, up "
        f"to {n_folds - 1} graphs are never tested."
    )


def _nested_exact(rules: Rules) -> str:
    return (
        f"Chosen: the scale of the node kernel, 1 / median over training graphs rounded to a "
        f"power of {rules['gamma_ratio']:.3g}, times one of {_set(rules['gamma_factors'])}; p from "
        f"{_set(rules['p'])}; C. Fixed: {_fixed(rules)}, and 1 / sqrt(dimension) for attributes."
    )


def _nested_embedding(rules: Rules) -> str:
    return (
        f"Chosen: the scale of frequencies from {_set(rules['structure_scale'])}, that of "
        f"attributes from {_set(rules['attribute_scale'])}; p from {_set(rules['p'])}; C. Fixed: "
        f"{_fixed(rules)}, and the widths of the tables."
    )


def _fixed(rules: Rules) -> str:
    return f"S = {rules['n_steps']}, factor {rules['median_scale']:g} of the median of graphs"


def both_protocols_grid(rows: Iterable[Row]) -> Grid:
    """Accuracies by both protocols side by side."""
    lines = []
    for row in rows:
        if not (succeeded(row.nested) and succeeded(row.paper)):
            continue
        difference = row.nested.accuracy - row.paper.accuracy
        texts = [
            row.dataset, row.method, f"Table {row.table}", published_text(row.published),
            measured_text(row.paper), measured_text(row.nested), f"{difference:+.1f}",
            f"{row.paper.n_repetitions}, {row.nested.n_repetitions}",
        ]  # fmt: skip
        lines.append([Entry(text) for text in texts])
    header = [
        "set", "method", "table", "paper", "paper's protocol", "nested protocol", "difference",
        "repetitions",
    ]  # fmt: skip
    return Grid("both_protocols", "Both protocols side by side", header, lines)
