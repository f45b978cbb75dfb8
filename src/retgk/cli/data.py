"""`retgk info`, `retgk convert` and `retgk datasets`: what graphs there are, in which form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from retgk._runtime.files import data_home_folder
from retgk.cli.command import Stopwatch, command, note, print_pairs, print_record, print_table
from retgk.cli.inputs import read_collection, required_targets
from retgk.cli.options import (
    Common,
    DataHome,
    DataSetNames,
    FileRole,
    Reading,
    Source,
    format_names,
    known_format,
)
from retgk.cli.outputs import STANDARD_OUTPUT, check_new_file
from retgk.datasets import SUBJECT_OF, TUDATASETS

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

ConvertOutput = Annotated[
    Path,
    FileRole.WRITTEN,
    typer.Argument(
        metavar="OUTPUT",
        help="File that ends in {written} (text also in .gz); with --to {written_folders} a new "
        "folder.",
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        help="Format to write; by the ending of OUTPUT otherwise.",
        callback=known_format,
        autocompletion=format_names,
    ),
]


@command(
    examples=[
        "retgk convert MUTAG mutag.parquet",
        "retgk convert molecules.csv molecules.parquet --target-column active",
        "retgk convert graphs.parquet graphs --to graphml",
        "retgk convert graphs/ GRAPHS.zip",
    ],
)
def convert(
    source: Source, output: ConvertOutput, reading: Reading, common: Common, to: To = None
) -> None:
    """
    Write graphs in another format.

    Targets, labels, attributes and weights are kept; where a form has no room for what the graphs
    have, that is an error.
    """
    from retgk.io.read import format_to_write, write_graphs

    if str(output) == STANDARD_OUTPUT:
        check_new_file(output)  # which says what is wrong with it
    form = format_to_write(output, to)
    check_new_file(output)
    watch = Stopwatch()
    with watch.timing("read"):
        collection = read_collection(source, reading, common)
    with watch.timing("write"):
        required_targets(
            collection
        ) if form.writes_folder and collection.targets is not None else None
        write_graphs(collection, output, format=form.name)
    if common.json:
        record = {"output": str(output), "format": form.name, "graphs": len(collection)}
        print_record({**record, "seconds": watch.seconds})
    else:
        note(common, f"wrote {output}: {len(collection):,} graphs as {form.name}")


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
    if not folder.is_dir():
        return set()
    archives = {path.stem for path in folder.glob("*.zip")}
    folders = {path.parent.name for path in folder.glob("*/*_A.txt")}
    return archives | {name for name in folders if (folder / name / f"{name}_A.txt").is_file()}


@command(name="fetch", examples=["retgk datasets fetch MUTAG ENZYMES"])
def fetch_datasets(names: DataSetNames, common: Common, data_home: DataHome = None) -> None:
    """Fetch collections into the data home, and check that they can be read."""
    from retgk.datasets import load_tudataset

    for name in names:
        dataset = load_tudataset(name, data_home)
        if common.json:
            print_record({"name": name, "graphs": len(dataset), "nodes": dataset.graphs.n_nodes})
        else:
            note(common, f"{name}: {dataset.graphs!r}")


for _each in (list_datasets, fetch_datasets):
    _each.add_to(datasets_app)
