"""`retgk info`: what is in a collection of graphs."""

from __future__ import annotations

from typing import Any

import typer

from retgk.cli.collection import Collection
from retgk.cli.command import command
from retgk.cli.options import Common, Reading, Source
from retgk.cli.sources import read_collection
from retgk.cli.terminal import print_pairs, print_record

__all__ = ["register"]

_MOST_SHOWN = 12


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    command(
        app,
        examples=[
            "retgk info MUTAG",
            "retgk info molecules.csv --target-column active",
            "retgk info graphs/ --json",
        ],
    )(info)


def info(source: Source, reading: Reading, common: Common) -> None:
    """Show numbers of graphs, nodes, edges, labels, attributes and targets."""
    collection = read_collection(source, reading, common, announce=False)
    record = _summary(collection)
    if common.json:
        print_record(record)
    else:
        print_pairs(_readable(record))


def _summary(collection: Collection) -> dict[str, Any]:
    import numpy as np

    graphs = collection.graphs
    return {
        "name": collection.name,
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "edges": graphs.n_edges,
        "weighted": graphs.is_weighted,
        "graph_size": _spread(graphs.sizes),
        "graph_edges": _spread(graphs.edge_counts),
        "isolated_nodes": int((np.diff(graphs.indptr) == 0).sum()),
        "labels": list(graphs.label_names) if graphs.has_labels else None,
        "attributes": graphs.n_attributes,
        "targets": _targets(collection),
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


def _targets(collection: Collection) -> dict[str, Any] | None:
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


def _readable(record: dict[str, Any]) -> dict[str, str]:
    spread = "{min:,} to {max:,}, median {median:,g}, mean {mean:,}".format
    lines = {
        "name": record["name"],
        "graphs": f"{record['graphs']:,}",
        "nodes": f"{record['nodes']:,} ({spread(**record['graph_size'])} a graph)",
        "edges": f"{record['edges']:,} ({spread(**record['graph_edges'])} a graph)"
        + (", weighted" if record["weighted"] else ""),
        "isolated": f"{record['isolated_nodes']:,} nodes have no edge",
        "labels": _listed(record["labels"] or []),
        "attributes": f"{record['attributes']} a node" if record["attributes"] else "none",
        "targets": _readable_targets(record["targets"]),
    }
    if record["description"]:
        lines["about"] = " ".join(record["description"].split())
    return lines


def _listed(names: list[Any]) -> str:
    if not names:
        return "none"
    shown = ", ".join(map(str, names[:_MOST_SHOWN])) + ", ..." * (len(names) > _MOST_SHOWN)
    return f"{len(names)}: {shown}"


def _readable_targets(targets: dict[str, Any] | None) -> str:
    if targets is None:
        return "none"
    if targets["kind"] == "classes":
        sizes = [f"{name} ({count:,})" for name, count in targets["sizes"].items()]
        return f"{len(sizes)} classes: {_listed(sizes).partition(': ')[2]}"
    if "columns" in targets:
        return f"{targets['columns']} values a graph"
    return f"values from {targets['min']:g} to {targets['max']:g}"
