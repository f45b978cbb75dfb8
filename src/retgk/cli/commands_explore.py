"""`retgk explore`: one interactive page of a collection of graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk.cli.command import command
from retgk.cli.completion import model_files
from retgk.cli.model_reading import (
    MODEL_REMEDIES,
    MaxSteps,
    as_fitted,
    load_predictor,
    read_for_model,
)
from retgk.cli.options import Common, FileRole, Reading, Source
from retgk.cli.outputs import check_new_file
from retgk.cli.sources import column_values, known_smiles, read_collection, texts_of_file
from retgk.cli.terminal import Stopwatch, note, print_record
from retgk.errors import InvalidInputError

if TYPE_CHECKING:
    from retgk.array_types import Floats
    from retgk.io.graph_dataset import GraphDataset

__all__ = ["explore"]

PageFile = Annotated[
    Path,
    FileRole.WRITTEN,
    typer.Option("--output", "-o", metavar="FILE", help="Page to write; its name ends in .html."),
]
OptionalModel = Annotated[
    Path | None,
    FileRole.READ,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="File that `retgk fit` wrote: show its predictions, and shares of nodes in them.",
        autocompletion=model_files,
    ),
]
Predicted = Annotated[
    str | None,
    FileRole.READ,
    typer.Option(
        "--predicted",
        metavar="COLUMN|FILE",
        help="Predictions made elsewhere, shown in place of the model's: a CSV that `retgk cv` or "
        "`retgk predict` wrote, a text file of one line per graph, or a column of the table.",
    ),
]
MoreColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="NAME",
        help="CSV: a further column to show and to colour by; repeatable.",
    ),
]
NameColumn = Annotated[
    str | None,
    typer.Option("--name-column", metavar="NAME", help="CSV: column of the names of graphs."),
]
PositionAttributes = Annotated[
    str | None,
    typer.Option(
        "--position-attributes",
        metavar="X,Y",
        help="Numbers, from 0, of two attributes of nodes that are their places in drawings, with "
        "y downwards; 2,1 for digits.",
    ),
]
Title = Annotated[str | None, typer.Option("--title", help="What stands above the page.")]
MapKind = Annotated[
    Literal["auto", "tsne", "pca"],
    typer.Option(
        "--projection",
        help="How graphs are placed: t-SNE keeps neighbours together, pca (kernel PCA) is quick.",
    ),
]
MostNodes = Annotated[
    int,
    typer.Option(
        "--max-drawn-nodes",
        min=0,
        help="Nodes of all drawings together; beyond that, a random sample is drawn.",
    ),
]
Threads = Annotated[
    int | None, typer.Option("--n-jobs", "-j", help="Threads; all cores by default.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]


@command(
    examples=[
        "retgk explore MUTAG -o mutag.html",
        "retgk explore digits --position-attributes 2,1 -o digits.html",
        "retgk explore new.csv --model model.retgk --target-column active -o collection.html",
        "retgk cv MUTAG -o out.csv && retgk explore MUTAG --predicted out.csv -o mutag.html",
    ],
    remedies={
        **MODEL_REMEDIES,
        **{key: f"{{value}} with --{key}" for key in ("column", "name-column", "predicted")},
    },
)
def explore(
    source: Source,
    reading: Reading,
    common: Common,
    output: PageFile,
    model_file: OptionalModel = None,
    predicted: Predicted = None,
    column: MoreColumns = None,
    name_column: NameColumn = None,
    position_attributes: PositionAttributes = None,
    title: Title = None,
    projection: MapKind = "auto",
    max_drawn_nodes: MostNodes = 500_000,
    max_steps: MaxSteps = 4096,
    n_jobs: Threads = None,
    seed: Seed = 0,
) -> None:
    """
    Write one page on which a collection can be looked at, in any browser, without a network.

    A map of all graphs, drawings of each (structural formulas of molecules) with its nearest
    graphs, two graphs side by side, and what a model says of them.
    """
    from retgk.explorer.exploring import explore as page_of

    if output.suffix.lower() not in (".html", ".htm"):
        raise InvalidInputError(f"the page is written as HTML; end the name {output} in .html")
    check_new_file(output)
    watch = Stopwatch()
    model = None
    with watch.timing("read"):
        if model_file is None:
            collection = read_collection(source, reading, common, n_jobs=n_jobs)
        else:
            model = load_predictor(model_file, (reading.max_bytes, max_steps))
            collection = read_for_model(model, source, reading, common)
            reading = as_fitted(reading, model.reading_, source)
        known = (source, collection, reading)
        columns = {name: _typed(column_values(*known, name, "column")) for name in column or ()}
        given = None if predicted is None else _predictions(*known, predicted)
        names = column_values(*known, name_column, "name-column") if name_column else None
        smiles = known_smiles(source, collection, reading)
        positions = _positions(position_attributes, collection)
    with watch.timing("explore"):
        page = page_of(
            collection,
            model=model,
            predicted=given,
            names=names,
            columns=columns,
            smiles=smiles,
            positions=positions,
            title=title,
            projection=projection,
            max_drawn_nodes=max_drawn_nodes,
            n_jobs=n_jobs,
            random_state=seed,
        )
    with watch.timing("write"):
        page.save(output)
    facts = {"output": str(output), "graphs": page.n_graphs, "drawn": page.n_drawn}
    if common.json:
        n_bytes = output.stat().st_size
        print_record({**facts, "bytes": n_bytes, "seconds": watch.seconds})
    else:
        size = output.stat().st_size / 1e6
        drawn = "" if page.n_drawn == page.n_graphs else f", {page.n_drawn:,} of them drawn"
        note(common, f"wrote {output}: {page.n_graphs:,} graphs{drawn}, {size:.1f} MB; open it in "
             "a browser")  # fmt: skip


def _typed(texts: list[str]) -> Any:
    """Numbers where all texts are such, with gaps unless all are whole, else the texts."""
    import numpy as np

    from retgk.io.formats.plain_numbers import numbers_in

    numbers = numbers_in(texts, gaps=True)
    return np.array(texts, dtype=object) if numbers is None else numbers


def _predictions(source: str, collection: GraphDataset, reading: Reading, given: str) -> Any:
    """Predictions of all graphs: of a table as commands write them, of a list, or of a column."""
    from retgk.io.formats.graph_tables import is_table
    from retgk.io.formats.target_tables import What

    path, what = Path(given), What("prediction", "prediction")
    if path.is_file() and is_table(path):
        return _typed(texts_of_file(collection, path, what.heading, what, reading))
    return _typed(column_values(source, collection, reading, given, "predicted"))


def _positions(text: str | None, collection: GraphDataset) -> Floats | None:
    """Places of nodes from two of their attributes."""
    if text is None:
        return None
    graphs = collection.graphs
    parts = [part.strip() for part in text.split(",")]
    numbers = [int(part) if part.isdecimal() else -1 for part in parts]
    if len(numbers) != 2 or not all(0 <= number < graphs.n_attributes for number in numbers):
        raise InvalidInputError(
            f"--position-attributes must be two numbers of attributes, such as 2,1; got {text!r}, "
            f"and nodes of {collection.name} have {graphs.n_attributes} attributes"
        )
    return graphs.attributes[:, numbers]
