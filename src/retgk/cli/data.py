"""`retgk info`, `retgk convert` and `retgk datasets`: what graphs there are, in which form."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from retgk._runtime.files import atomic_folder, data_home_folder
from retgk.cli.command import Stopwatch, command, note, print_pairs, print_record, print_table
from retgk.cli.inputs import read_collection, required_targets
from retgk.cli.options import (
    DATA_HOME_REMEDY,
    Common,
    DataHome,
    DataSetNames,
    FileRole,
    Reading,
    Source,
)
from retgk.cli.outputs import check_new_file
from retgk.errors import InvalidInputError
from retgk.io.tudataset import SUBJECT_OF, TUDATASETS

if TYPE_CHECKING:
    from retgk.io.dataset import GraphDataset

# retgk info

_MOST_SHOWN = 12


@command(
    examples=[
        "retgk info MUTAG",
        "retgk info molecules.csv --target-column active",
        "retgk info graphs/ --json",
    ]
)
def info(source: Source, reading: Reading, common: Common) -> None:
    """Show numbers of graphs, nodes, edges, labels, attributes and targets."""
    collection = read_collection(source, reading, common, announce=False)
    record = _summary(collection)
    if common.json:
        print_record(record)
    else:
        print_pairs(_readable_summary(record))


def _summary(collection: GraphDataset) -> dict[str, Any]:
    import numpy as np

    graphs = collection.graphs
    return {
        "name": collection.name,
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "edges": graphs.n_edges,
        "weighted": graphs.is_weighted,
        "graph_size": _spread(graphs.node_counts),
        "graph_edges": _spread(graphs.edge_counts),
        "isolated_nodes": int((np.diff(graphs.indptr) == 0).sum()),
        "labels": list(graphs.label_names) if graphs.has_labels else None,
        "edge_labels": list(graphs.edge_label_names) if graphs.has_edge_labels else None,
        "attributes": graphs.n_attributes,
        "targets": _summary_of_targets(collection),
        "description": collection.description or None,
    }


def _spread(values: Any) -> dict[str, float]:
    import numpy as np

    return {
        "min": int(values.min()),
        "median": float(np.median(values)),
        "mean": round(float(values.mean()), 2),
        "max": int(values.max()),
    }


def _summary_of_targets(collection: GraphDataset) -> dict[str, Any] | None:
    import numpy as np

    targets = collection.targets
    if targets is None:
        return None
    if targets.ndim == 2:
        return {"kind": "values", "columns": targets.shape[1]}
    if targets.dtype.kind == "f" and (targets != np.floor(targets)).any():
        return {"kind": "values", "min": float(targets.min()), "max": float(targets.max())}
    names, counts = np.unique(targets, return_counts=True)
    sizes = {str(name): int(count) for name, count in zip(names.tolist(), counts, strict=True)}
    return {"kind": "classes", "sizes": sizes}


def _readable_summary(record: dict[str, Any]) -> dict[str, str]:
    spread = "{min:,} to {max:,}, median {median:,g}, mean {mean:,}".format
    lines = {
        "name": record["name"],
        "graphs": f"{record['graphs']:,}",
        "nodes": f"{record['nodes']:,} ({spread(**record['graph_size'])} a graph)",
        "edges": f"{record['edges']:,} ({spread(**record['graph_edges'])} a graph)"
        + (", weighted" if record["weighted"] else ""),
        "isolated": f"{record['isolated_nodes']:,} nodes have no edge",
        "labels": _shortened_list(record["labels"] or []),
        "edge labels": _shortened_list(record["edge_labels"] or []),
        "attributes": f"{record['attributes']} a node" if record["attributes"] else "none",
        "targets": _readable_targets(record["targets"]),
    }
    if record["description"]:
        lines["about"] = " ".join(record["description"].split())
    return lines


def _shortened_list(names: list[Any]) -> str:
    if not names:
        return "none"
    shown = ", ".join(map(str, names[:_MOST_SHOWN])) + ", ..." * (len(names) > _MOST_SHOWN)
    return f"{len(names)}: {shown}"


def _readable_targets(targets: dict[str, Any] | None) -> str:
    if targets is None:
        return "none"
    if targets["kind"] == "classes":
        sizes = [f"{name} ({count:,})" for name, count in targets["sizes"].items()]
        return f"{len(sizes)} classes: {_shortened_list(sizes).partition(': ')[2]}"
    if "columns" in targets:
        return f"{targets['columns']} values a graph"
    return f"values from {targets['min']:g} to {targets['max']:g}"


# retgk convert

Form = Literal["parquet", "tu", "graphml", "edges", "json"]
ConvertOutput = Annotated[
    Path,
    FileRole.WRITTEN,
    typer.Argument(
        metavar="OUTPUT",
        help="File that ends in .parquet, .zip (TU), .json or .jsonl (or .gz of them); with --to "
        "graphml or edges a new folder.",
    ),
]
To = Annotated[
    Form | None, typer.Option("--to", help="Form to write; by the ending of OUTPUT otherwise.")
]
_FORM_OF_SUFFIX: dict[str, Form] = {
    ".parquet": "parquet",
    ".zip": "tu",
    ".json": "json",
    ".jsonl": "json",
}


@command(
    examples=[
        "retgk convert MUTAG mutag.parquet",
        "retgk convert molecules.csv molecules.parquet --target-column active",
        "retgk convert graphs.parquet graphs --to graphml",
        "retgk convert graphs/ GRAPHS.zip",
    ],
    remedies={
        "plain_graphs": "write GraphML, or --no-labels, --no-edge-labels and --no-attributes",
        "integer_edge_labels": "leave labels of edges out with --no-edge-labels, or write Parquet",
        "graphml": "write GraphML",
        "integers": "number them anew, or write Parquet",
        "integer_labels": "leave labels out with --no-labels, or write Parquet",
    },
)
def convert(
    source: Source, output: ConvertOutput, reading: Reading, common: Common, to: To = None
) -> None:
    """
    Write graphs in another form: Parquet, TU text, JSON, GraphML or edge lists.

    Targets, labels, attributes and weights are kept; where a form has no room for what the graphs
    have, that is an error.
    """
    form = to or _form_of(output)
    _check_convert_output(output, form)
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
    plain = output.with_suffix("") if output.suffix.lower() == ".gz" else output
    form = _FORM_OF_SUFFIX.get(plain.suffix.lower())
    if form is None:
        raise InvalidInputError(
            f"cannot tell from {str(output)!r} what to write; end the name in .parquet, .zip or "
            ".json, or give --to graphml or --to edges, which make a folder of that name"
        )
    return form


def _check_convert_output(output: Path, form: Form) -> None:
    if form in ("graphml", "edges") and os.path.lexists(output):
        raise InvalidInputError(f"{output} exists; remove it, or choose a new folder")
    check_new_file(output)
    if form == "tu" and output.suffix != ".zip":
        raise InvalidInputError(f"TU text is written as NAME.zip; {output} should end in .zip")


def _write_parquet(collection: GraphDataset, output: Path) -> None:
    from retgk.io.parquet import write_parquet

    write_parquet(collection.graphs if collection.targets is None else collection, output)


def _write_tu(collection: GraphDataset, output: Path) -> None:
    from retgk.io.tudataset import save_tudataset

    if collection.targets is None:
        raise InvalidInputError(
            f"{collection.name} has no targets, which TU text needs; give them with --targets, or "
            "write Parquet"
        )
    save_tudataset(replace(collection, name=output.stem), output.parent)


def _write_graphml(collection: GraphDataset, output: Path) -> None:
    from retgk.io.graphml import write_graphml

    with atomic_folder(output) as part:
        write_graphml(collection.graphs, part)
        _write_targets(collection, part)


def _write_edges(collection: GraphDataset, output: Path) -> None:
    from retgk.io.edges import write_edge_list

    with atomic_folder(output) as part:
        write_edge_list(collection.graphs, part)
        _write_targets(collection, part)


def _write_json(collection: GraphDataset, output: Path) -> None:
    from retgk.io.json import write_json

    write_json(collection, output)


def _write_targets(collection: GraphDataset, folder: Path) -> None:
    """Put targets beside the graphs, in the form that --targets reads."""
    if collection.targets is not None:
        lines = [f"{target}\n" for target in required_targets(collection).tolist()]
        (folder / "targets.txt").write_text("".join(lines), encoding="utf-8")


_WRITERS: dict[Form, Callable[[GraphDataset, Path], None]] = {
    "parquet": _write_parquet,
    "tu": _write_tu,
    "graphml": _write_graphml,
    "edges": _write_edges,
    "json": _write_json,
}


# retgk datasets

datasets_app = typer.Typer(no_args_is_help=True, help="List and fetch collections of graphs.")

Here = Annotated[bool, typer.Option("--here", help="Only those that need no download.")]


@command(name="list", examples=["retgk datasets list", "retgk datasets list --here --json"])
def list_datasets(common: Common, data_home: DataHome = None, here: Here = False) -> None:
    """List the collections that can be named instead of a file."""
    home = data_home_folder(data_home)
    present = _names_in(home)
    names = sorted({*TUDATASETS, *present}, key=str.lower)
    entries = [{"name": "digits", "subject": "computer vision", "here": True}]
    entries += [
        {"name": name, "subject": SUBJECT_OF.get(name, "your own"), "here": name in present}
        for name in names
    ]
    shown = [entry for entry in entries if entry["here"] or not here]
    if common.json:
        print_record({"data_home": str(home), "datasets": shown})
        return
    rows = [(e["name"], e["subject"], "yes" if e["here"] else "") for e in shown]
    print_table(["name", "subject", "here"], rows)
    note(common, f"fetched collections are kept in {home}")


def _names_in(folder: Path) -> set[str]:
    """Collections in the data home, packed or not."""
    if not folder.is_dir():
        return set()
    archives = {path.stem for path in folder.glob("*.zip")}
    folders = {path.parent.name for path in folder.glob("*/*_A.txt")}
    return archives | {name for name in folders if (folder / name / f"{name}_A.txt").is_file()}


@command(name="fetch", examples=["retgk datasets fetch MUTAG ENZYMES"], remedies=DATA_HOME_REMEDY)
def fetch_datasets(names: DataSetNames, common: Common, data_home: DataHome = None) -> None:
    """Fetch collections into the data home, and check that they can be read."""
    from retgk.io.tudataset import load_tudataset

    for name in names:
        dataset = load_tudataset(name, data_home)
        if common.json:
            print_record({"name": name, "graphs": len(dataset), "nodes": dataset.graphs.n_nodes})
        else:
            note(common, f"{name}: {dataset.graphs!r}")


for _each in (list_datasets, fetch_datasets):
    _each.add_to(datasets_app)
