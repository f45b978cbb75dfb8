"""`retgk convert`: graphs from one form to another."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.options import Common, Reading, Source
from retgk.cli.places import check_new_file
from retgk.cli.sources import read_collection
from retgk.cli.terminal import Stopwatch, note, print_record
from retgk.errors import InvalidInputError

__all__ = ["register"]

Target = Annotated[
    Path,
    typer.Argument(
        metavar="OUTPUT",
        help="File that ends in .parquet or .zip (TU); with --to graphml or edges a new folder.",
    ),
]
Form = Literal["parquet", "tu", "graphml", "edges"]
To = Annotated[
    Form | None, typer.Option("--to", help="Form to write; by the ending of OUTPUT otherwise.")
]

ADVICE = (
    ("number the labels with with_labels(graphs.labels)", "leave labels out with --no-labels"),
    ("use write_graphml", "write GraphML"),
    ("use write_parquet", "write Parquet"),
)
_FORM_OF_SUFFIX: dict[str, Form] = {".parquet": "parquet", ".zip": "tu"}


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk convert MUTAG mutag.parquet",
            "retgk convert molecules.csv molecules.parquet --target-column active",
            "retgk convert graphs.parquet graphs --to graphml",
            "retgk convert graphs/ GRAPHS.zip",
        ],
        advice=ADVICE,
    )(convert)


def convert(
    source: Source, output: Target, reading: Reading, common: Common, to: To = None
) -> None:
    """
    Write graphs in another form: Parquet, TU text, GraphML or edge lists.

    Targets, labels, attributes and weights are kept; where a form has no room for what the graphs
    have, that is an error.
    """
    form = to or _form_of(output)
    _check_free(output, form)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
    with watch.timing("write"):
        _WRITERS[form](collection, output)
    if common.json:
        record = {"output": str(output), "format": form, "graphs": len(collection)}
        print_record({**record, "seconds": watch.seconds})
    else:
        note(common, f"wrote {output}: {len(collection):,} graphs as {form}")


def _form_of(output: Path) -> Form:
    form = _FORM_OF_SUFFIX.get(output.suffix.lower())
    if form is None:
        raise InvalidInputError(
            f"cannot tell from {str(output)!r} what to write; end the name in .parquet or .zip, "
            "or give --to graphml or --to edges, which make a folder of that name"
        )
    return form


def _check_free(output: Path, form: Form) -> None:
    """Raise, before any work is done, if the output cannot be put in its place."""
    if form in ("graphml", "edges") and output.exists():
        raise InvalidInputError(f"{output} exists; remove it, or choose a new folder")
    check_new_file(output)
    if form == "tu" and output.suffix != ".zip":
        raise InvalidInputError(f"TU text is written as NAME.zip; {output} should end in .zip")


def _write_parquet(collection: Collection, output: Path) -> None:
    from retgk.io.formats.parquet import write_parquet
    from retgk.io.graph_dataset import GraphDataset

    if collection.targets is None:
        write_parquet(collection.graphs, output)
        return
    data = GraphDataset(
        collection.graphs,
        collection.targets,
        collection.name,
        collection.description,
        collection.edge_labels,
    )
    write_parquet(data, output)


def _write_tu(collection: Collection, output: Path) -> None:
    from retgk.io.datasets.tudataset import save_tudataset
    from retgk.io.graph_dataset import GraphDataset

    if collection.targets is None:
        raise InvalidInputError(
            f"{collection.name} has no targets, which TU text needs; give them with --targets, or "
            "write Parquet"
        )
    data = GraphDataset(
        collection.graphs,
        collection.targets,
        output.stem,
        collection.description,
        collection.edge_labels,
    )
    save_tudataset(data, output.parent)


def _write_graphml(collection: Collection, output: Path) -> None:
    from retgk.io.formats.graphml import write_graphml

    with _atomic_folder(output) as part:
        write_graphml(collection.graphs, part)
        _write_targets(collection, part)


def _write_edges(collection: Collection, output: Path) -> None:
    from retgk.io.formats.edge_lists import write_edge_list

    with _atomic_folder(output) as part:
        write_edge_list(collection.graphs, part)
        _write_targets(collection, part)


def _write_targets(collection: Collection, folder: Path) -> None:
    """Put targets beside the graphs, in the form that --targets reads."""
    if collection.targets is not None:
        lines = [f"{target}\n" for target in collection.required_targets().tolist()]
        (folder / "targets.txt").write_text("".join(lines), encoding="utf-8")


@contextmanager
def _atomic_folder(path: Path) -> Iterator[Path]:
    """Folder to fill; it takes its place when the block ends well."""
    part = path.with_name(f".{path.name}-{secrets.token_hex(8)}.part")
    part.mkdir(parents=True)
    try:
        yield part
        os.replace(part, path)
    finally:
        shutil.rmtree(part, ignore_errors=True)


_WRITERS: dict[Form, Callable[[Collection, Path], None]] = {
    "parquet": _write_parquet,
    "tu": _write_tu,
    "graphml": _write_graphml,
    "edges": _write_edges,
}
