"""Graphs in array files, mapped into memory: parsed copies of data sets, graphs of an index."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.array_files import read_arrays, write_arrays
from retgk._runtime.fields import Arrays, flatten, unflatten
from retgk._runtime.files import file_digest
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.batch import FlatGraphs, GraphBatch, flat_arrays, trusted_batch, with_reading
from retgk.graphs.edges import Adjacency, EdgeLabels, Negative, Symmetrize
from retgk.graphs.flat import checked_label_columns
from retgk.graphs.reading import reading_of
from retgk.io.dataset import GraphDataset

_KIND = "data set"


class ReadOptions(NamedTuple):
    """What changes the result of reading the same files."""

    symmetrize: Symmetrize = False
    weight_column: int | None = None
    negative: Negative = "error"
    skip_invalid: bool = False


def fingerprint(source: Path, options: ReadOptions) -> str:
    """Describe what a parsed copy depends on: the bytes of the files, and how to read them."""
    files = sorted(source.glob("*.[tT][xX][tT]")) if source.is_dir() else [source]
    digests = [(path.name, file_digest(path)) for path in files]
    return json.dumps([str(source.resolve()), digests, list(options)])


def with_options(dataset: GraphDataset, options: ReadOptions) -> GraphDataset:
    return replace(
        dataset, graphs=with_reading(dataset.graphs, reading_of("tu", options._asdict()))
    )


def cache_path(folder: Path, name: str, source: Path, options: ReadOptions) -> Path:
    key = json.dumps([str(source.resolve()), list(options)])
    return folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.safetensors"


def store_cached(path: Path, dataset: GraphDataset, mark: str, notes: Sequence[str] = ()) -> None:
    """Write a parsed copy where that is possible; a cache is never worth an error."""
    names, arrays = parts_of_batch(dataset.graphs)
    header = {
        "fingerprint": mark,
        "name": dataset.name,
        "description": dataset.description,
        "names": names,
        "notes": list(notes),
    }
    with suppress(OSError, InvalidInputError):  # the latter for a link in its place
        arrays["targets"] = np.asarray(dataset.targets)
        if dataset.rows is not None:
            arrays["rows"] = dataset.rows
        write_arrays(path, _KIND, header, arrays, synced=False, follow_links=False)


def load_cached(path: Path, mark: str) -> GraphDataset | None:
    """Map a parsed copy; None if there is none, or it is stale or damaged in any way."""
    try:
        header, arrays = read_arrays(path, _KIND, mapped=True)
        if header["fingerprint"] != mark:
            return None
        graphs = batch_of_parts(header["names"], arrays)
        targets = arrays["targets"].copy()
        about = (header["name"], header["description"])
        dataset = GraphDataset(graphs, targets, *about, rows=arrays.get("rows"))
        notes = [str(note) for note in header["notes"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    warn_of(notes)
    return dataset


def parts_of_batch(batch: GraphBatch) -> tuple[Any, Arrays]:
    """Names of labels as JSON, and arrays, of graphs that an array file is to hold."""
    graphs = flat_arrays(batch)
    arrays: dict[str, NDArray[Any] | None] = {
        "node_ptr": graphs.node_ptr,
        **graphs.adjacency._asdict(),
        "labels": graphs.labels,
        "attributes": graphs.attributes,
        "edge_labels": None if graphs.edge_labels is None else graphs.edge_labels.codes,
    }
    names = [tuple(graphs.label_names), tuple(batch.edge_label_names), graphs.label_columns]
    present = {name: array for name, array in arrays.items() if array is not None}
    return flatten(names, "labels"), present


def batch_of_parts(names: Any, arrays: Arrays) -> GraphBatch:
    """Graphs of an array file, without a copy; ValueError where anything leads out of an array."""
    label_names, edge_names, columns = unflatten(names)
    for own in (label_names, edge_names, columns):
        if not isinstance(own, tuple) or len(set(own)) < len(own):
            raise ValueError("a name of labels is there twice")
    adjacency = Adjacency(arrays["indptr"], arrays["indices"], arrays.get("weights"))
    edges = EdgeLabels(arrays["edge_labels"], edge_names) if "edge_labels" in arrays else None
    nodes = (arrays.get("labels"), label_names, arrays["attributes"])
    columns = checked_label_columns(columns, arrays.get("labels"), label_names)
    graphs = FlatGraphs(arrays["node_ptr"], adjacency, *nodes, None, edges, columns)
    _check_bounds(graphs)
    return trusted_batch(graphs)


def _check_bounds(graphs: FlatGraphs) -> None:
    """Raise where arrays lead outside each other: compiled code checks no bound again."""
    node_ptr, (indptr, indices, weights), labels, names, attributes, _, edges, *_ = graphs
    n_nodes = _check_rising(node_ptr, np.int64, strictly=True)
    n_entries = _check_rising(indptr, np.int64, strictly=False)
    expected: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
        "indptr": (indptr, np.int64, (n_nodes + 1,)),
        "indices": (indices, np.int32, (n_entries,)),
        "weights": (weights, np.float64, (n_entries,)),
        "labels": (labels, np.int32, (n_nodes,)),
        "edge_labels": (edges and edges.codes, np.int32, (n_entries,)),
        "attributes": (attributes, np.float64, (n_nodes, *attributes.shape[1:2])),
    }
    for name, (array, dtype, shape) in expected.items():
        if array is not None and (array.dtype != dtype or array.shape != shape):
            raise ValueError(f"{name} has another type or shape")
    _check_within_graphs(indices, indptr[node_ptr], np.diff(node_ptr))
    if labels is not None and not (len(names) and _are_below(labels, len(names))):
        raise ValueError("a label has no name")
    if edges is not None and not _are_below(edges.codes, len(edges.names)):
        raise ValueError("a label of an edge has no name")
    if weights is not None and not (np.isfinite(weights).all() and (weights > 0).all()):
        raise ValueError("a weight is not a positive number")
    if not np.isfinite(attributes).all():
        raise ValueError("an attribute is not finite")


def _check_rising(ptr: NDArray[Any], dtype: Any, strictly: bool) -> int:
    if ptr.dtype != dtype or ptr.ndim != 1 or len(ptr) < 2 or ptr[0] != 0:
        raise ValueError("offsets of another form")
    rises = ptr[1:] > ptr[:-1] if strictly else ptr[1:] >= ptr[:-1]
    if not rises.all():
        raise ValueError("offsets that fall")
    return int(ptr[-1])


def _check_within_graphs(indices: NDArray[Any], entry_ptr: NDArray[Any], sizes: Any) -> None:
    """Raise where a neighbour is not a node of its graph; as unsigned, negative ones are large."""
    has_edges = np.flatnonzero(np.diff(entry_ptr))
    if len(has_edges):
        largest = np.maximum.reduceat(indices.view(np.uint32), entry_ptr[has_edges])
        if (largest >= sizes[has_edges]).any():
            raise ValueError("a neighbour is out of range")


def _are_below(codes: NDArray[Any], n_codes: int) -> bool:
    return len(codes) == 0 or int(codes.view(np.uint32).max()) < n_codes
