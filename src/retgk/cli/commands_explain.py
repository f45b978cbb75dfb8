"""`retgk explain`: what every node of a graph contributes to a prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgk.cli.command import command
from retgk.cli.model_reading import (
    MODEL_REMEDIES,
    MaxSteps,
    as_fitted,
    load_predictor,
    read_for_model,
)
from retgk.cli.options import Common, FileRole, ModelFile, Reading, Source
from retgk.cli.outputs import Table, check_new_file, check_output, report_output, write_table
from retgk.cli.sources import key_columns, known_smiles
from retgk.cli.terminal import Stopwatch, note, print_record
from retgk.errors import InvalidInputError
from retgk.runtime.storage import atomic_path

if TYPE_CHECKING:
    from retgk.estimators.explanation import Explanation
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["explain"]

PAGE = ".html"
PageOrTable = Annotated[
    str,
    FileRole.WRITTEN,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="File to write, by its ending: .html is a page with drawings; .parquet, .csv, .npz or "
        ".json a table with one row per node; - for standard output.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--class",
        metavar="CLASS",
        help="Explain the decision value of this class (of several outputs: the number of one); "
        "by default that of the class that is predicted.",
    ),
]
Limit = Annotated[
    int, typer.Option("--limit", min=1, help="Most graphs on a page; tables have all.")
]


@command(
    examples=[
        "retgk explain mutag.retgk new.smi -o page.html",
        "retgk explain mutag.retgk new.smi --class 1 -o shares.csv",
    ],
    remedies=MODEL_REMEDIES,
)
def explain(
    model_file: ModelFile,
    source: Source,
    reading: Reading,
    common: Common,
    output: PageOrTable = "-",
    target: Target = None,
    limit: Limit = 50,
    max_steps: MaxSteps = 4096,
) -> None:
    """
    Say what every node of a graph contributes to what a model predicts.

    Shares of nodes add up, with a baseline, to the decision value; they are in its units, not in
    those of probabilities. A page shows graphs with their nodes coloured by shares (molecules as
    structural formulas), the training graphs that pushed most, and the nearest of another class.
    """
    is_page = Path(output).suffix.lower() == PAGE
    if is_page:
        check_new_file(Path(output))
    else:
        _check_table(output)
    watch = Stopwatch()
    with watch.timing("read"):
        model = load_predictor(model_file, (reading.max_bytes, max_steps))
        wanted = _target_of(model, target)
        collection = read_for_model(model, source, reading, common)
    with watch.timing("explain"):
        found = model.explain(collection.graphs, wanted)
    if not is_page:
        table = _node_table(collection, found)
        with watch.timing("write"):
            write_table(table, output, json=common.json)
        report_output(table, output, common, watch, graphs=len(collection))
        return
    with watch.timing("write"):
        known = known_smiles(source, collection, as_fitted(reading, model.reading_, source))
        smiles: list[str | None] = [None] * len(collection) if known is None else [*known]
        _write_page(Path(output), model, collection, found, smiles[:limit])
    shown = min(limit, len(collection))
    if common.json:
        facts = {"output": output, "graphs": len(collection), "shown": shown}
        print_record({**facts, "seconds": watch.seconds})
    else:
        note(common, f"wrote {output}: {shown:,} of {len(collection):,} graphs")


def _check_table(output: str) -> None:
    try:
        check_output(output, has_matrix=False)
    except InvalidInputError as error:
        if "end the name in one of" not in error.problem:
            raise
        problem = error.problem.replace("one of ", f"one of {PAGE}, ")
        raise InvalidInputError(problem, error.remedy) from error


def _target_of(model: Any, text: str | None) -> Any:
    """Give the class that is written as a text, or the number of an output."""
    if text is None:
        return None
    names = model.classes_.tolist() if hasattr(model, "classes_") else None
    names = list(range(len(model.intercept_))) if names is None else names
    for name in names:
        if str(name) == text:
            return name
    known = ", ".join(map(str, names[:10])) + ", .." * (len(names) > 10)
    raise InvalidInputError(f"--class {text} is none of those of the model, which are {known}")


def _node_table(collection: GraphDataset, found: Explanation) -> Table:
    """One row per node: the graph, the node, its label and share, and what is explained."""
    import numpy as np

    graphs = collection.graphs
    rows = np.repeat(np.arange(len(graphs)), graphs.node_counts)
    keys = {name: column[rows] for name, column in key_columns(collection).items()}
    keys["node"] = np.arange(graphs.n_nodes) - graphs.node_ptr[rows]
    if graphs.has_labels:
        names = np.array([str(name) for name in graphs.label_names], dtype=object)
        keys["label"] = names[graphs.labels]
    keys["share"] = found.shares
    keys["explained"] = found.targets[rows]
    if found.predictions.ndim == 1:
        keys["prediction"] = found.predictions[rows]
    keys["decision"], keys["baseline"] = found.decisions[rows], found.baseline[rows]
    return Table(keys)


def _write_page(
    path: Path,
    model: Any,
    collection: GraphDataset,
    found: Explanation,
    smiles: list[str | None],
) -> None:
    from retgk.plot.explanation_page import PageGraph, explanation_page

    keys = key_columns(collection)
    names = [f"graph {number}" for number in keys["graph"].tolist()]
    if "name" in keys:
        names = [f"{one}: {name}" for one, name in zip(names, keys["name"], strict=True)]
    elif any(smiles):
        names = [f"{one}: {text}" for one, text in zip(names, smiles, strict=False)]
    shown = [PageGraph(names[i], collection.graphs[i : i + 1], own) for i, own in enumerate(smiles)]
    missing = len(collection) - len(shown)
    more = f" The first {len(shown):,} of {len(collection):,} graphs are shown." if missing else ""
    text = explanation_page(
        f"What decides about {collection.name}",
        shown,
        found,
        _training_classes(model),
        f"Explained by a {type(model).__name__} of retgk.{more}",
    )
    with atomic_path(path) as part:
        part.write_text(text, "utf-8")


def _training_classes(model: Any) -> dict[int, Any]:
    """Classes of the support graphs by their numbers in the training set, if they are known."""
    codes = getattr(model, "support_codes_", None)
    if codes is None or codes.ndim > 1:
        return {}
    classes = model.classes_[codes].tolist()
    return dict(zip(model.support_.tolist(), classes, strict=True))
