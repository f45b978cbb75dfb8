"""Parsed data sets in one binary file each: JSON and memory-mapped arrays, no pickles."""

import hashlib
import json
import math
import mmap
import os
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk._runtime.files import atomic_path, open_own_file
from retgk.errors import InvalidInputError, warn_of
from retgk.graphs.batch import FlatGraphs, flat_arrays, trusted_batch, with_reading
from retgk.graphs.edges import Adjacency, EdgeLabels, Symmetrize
from retgk.graphs.reading import reading_of
from retgk.io.dataset import GraphDataset

_MAGIC = b"retgk-cache-3\n"
_ALIGNMENT = 64
_DTYPES = ("<i4", "<i8", "<f8")
_LENGTH_BYTES = 8
_DIGEST_BYTES = 32
_PAGE_WORDS = 512
_SHIFT = np.uint64(29)
_BLOCK_PAGES = 64
_KEYS = np.random.default_rng(0).integers(0, 1 << 63, (2, _PAGE_WORDS), np.uint64) | np.uint64(1)


class ReadOptions(NamedTuple):
    """What changes the result of reading the same files."""

    symmetrize: Symmetrize = False
    weight_column: int | None = None


def fingerprint(source: Path, options: ReadOptions) -> str:
    """Describe what a parsed copy depends on: the bytes of the files, and how to read them."""
    files = sorted(source.glob("*.[tT][xX][tT]")) if source.is_dir() else [source]
    digests = [(path.name, _file_digest(path)) for path in files]
    return json.dumps([str(source.resolve()), digests, list(options)])


def _file_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def with_options(dataset: GraphDataset, options: ReadOptions) -> GraphDataset:
    """Give the data set whose graphs say with which options they were read."""
    return replace(
        dataset, graphs=with_reading(dataset.graphs, reading_of("tu", options._asdict()))
    )


def cache_path(folder: Path, name: str, source: Path, options: ReadOptions) -> Path:
    """Name the file of a parsed copy: one for each source and way to read it."""
    key = json.dumps([str(source.resolve()), list(options)])
    return folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.bin"


def store_cached(path: Path, dataset: GraphDataset, mark: str, notes: Sequence[str] = ()) -> None:
    """Write a parsed copy where that is possible; a cache is never worth an error."""
    graphs = flat_arrays(dataset.graphs)
    arrays: dict[str, NDArray[Any] | None] = {
        "node_ptr": graphs.node_ptr,
        **graphs.adjacency._asdict(),
        "labels": graphs.labels,
        "attributes": graphs.attributes,
        "targets": dataset.targets,
        "edge_labels": None if graphs.edge_labels is None else graphs.edge_labels.codes,
    }
    header = {
        "fingerprint": mark,
        "name": dataset.name,
        "description": dataset.description,
        "label_names": list(graphs.label_names),
        "edge_label_names": list(dataset.graphs.edge_label_names),
        "notes": list(notes),
    }
    with suppress(OSError, InvalidInputError):  # the latter for a link in its place
        _write(path, header, {key: array for key, array in arrays.items() if array is not None})


def load_cached(path: Path, mark: str) -> GraphDataset | None:
    """Map a parsed copy; None if there is none, or it is stale or damaged in any way."""
    try:
        header, arrays = _read(path, mark)
        adjacency = Adjacency(arrays["indptr"], arrays["indices"], arrays.get("weights"))
        names, edge_names = _names(header["label_names"]), _names(header["edge_label_names"])
        edges = EdgeLabels(arrays["edge_labels"], edge_names) if "edge_labels" in arrays else None
        nodes = (arrays.get("labels"), names, arrays["attributes"])
        graphs = FlatGraphs(arrays["node_ptr"], adjacency, *nodes, edge_labels=edges)
        _check_bounds(graphs)
        dataset = GraphDataset(
            trusted_batch(graphs),
            arrays["targets"].copy(),
            header["name"],
            header["description"],
        )
        notes = [str(note) for note in header["notes"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    warn_of(notes)
    return dataset


def _names(stored: Any) -> tuple[Hashable, ...]:
    """Names of labels, each of them once; JSON has lists for tuples."""
    names = tuple(tuple(name) if isinstance(name, list) else name for name in stored)
    if len(set(names)) < len(names):
        raise ValueError("a name of labels is there twice")
    return names


def _check_bounds(graphs: FlatGraphs) -> None:
    """
    Raise ValueError where arrays lead outside each other: compiled code looks at no bound again.

    Digests find accidents; who changes a copy on purpose can make them fit.
    """
    node_ptr, (indptr, indices, weights), labels, names, attributes, _, edges = graphs
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
    """Check offsets, and give the last of them."""
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


def _write(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write magic, length and digest of the header, the header, then the arrays."""
    offset, places, flat = 0, {}, []
    for name, array in arrays.items():
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        places[name] = [little.dtype.str, list(little.shape), offset, page_digest(little)]
        padding = -little.nbytes % _ALIGNMENT
        offset += little.nbytes + padding
        flat.append((little, padding))
    text = json.dumps({**header, "arrays": places, "n_bytes": offset}).encode()
    start = len(_MAGIC) + _LENGTH_BYTES + _DIGEST_BYTES + len(text)
    with (
        atomic_path(path, synced=False, follow_links=False) as part,
        part.open("wb") as stream,
    ):
        stream.write(_MAGIC)
        stream.write(len(text).to_bytes(_LENGTH_BYTES, "little"))
        stream.write(hashlib.sha256(text).digest())
        stream.write(text + bytes(-start % _ALIGNMENT))
        for little, padding in flat:
            stream.write(little.data if little.size else b"")
            stream.write(bytes(padding))


def _read(path: Path, mark: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Map a file into memory; ValueError or KeyError where anything is not as written."""
    with open(open_own_file(path, os.O_RDONLY), "rb") as stream:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    at = len(_MAGIC)
    if content[:at] != _MAGIC:
        raise ValueError("another format")
    length = int.from_bytes(content[at : at + _LENGTH_BYTES], "little")
    digest = content[at + _LENGTH_BYTES : at + _LENGTH_BYTES + _DIGEST_BYTES]
    start = at + _LENGTH_BYTES + _DIGEST_BYTES
    text = content[start : start + length]
    if hashlib.sha256(text).digest() != digest:
        raise ValueError("the header is damaged")
    header = json.loads(text)
    start += length + -(start + length) % _ALIGNMENT
    if header["fingerprint"] != mark or len(content) != start + header["n_bytes"]:
        raise ValueError("stale or cut off")
    return header, {
        name: _map_array(content, start, place) for name, place in header["arrays"].items()
    }


def _map_array(content: mmap.mmap, start: int, place: list[Any]) -> NDArray[Any]:
    dtype, shape, offset, digest = place
    if dtype not in _DTYPES or min([offset, *shape]) < 0:
        raise ValueError(f"unexpected type {dtype} or shape {shape}")
    count = math.prod(shape)
    array = np.frombuffer(content, np.dtype(dtype), count, start + offset).reshape(shape)
    if page_digest(array) != digest:
        raise ValueError("an array is damaged")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def page_digest(array: NDArray[Any]) -> str:
    """
    SHA-256 of the sums of the pages of an array, each word times a key of its place in the page.

    This finds accidents (flipped bits, lost or swapped pages and sectors) at the speed of memory;
    SHA-256 of the array itself would take longer than everything else that a cached load does.
    The keys are odd, so a changed word changes the sum; sums of shifted words see to it that
    changes in the highest bits of two words do not cancel out.
    """
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    n_whole = len(data) // (8 * _PAGE_WORDS) * (8 * _PAGE_WORDS)
    pages = data[:n_whole].view("<u8").reshape(-1, _PAGE_WORDS)
    digest = hashlib.sha256(data[n_whole:].tobytes())
    shifted = np.empty((_BLOCK_PAGES, _PAGE_WORDS), np.uint64)
    for first in range(0, len(pages), _BLOCK_PAGES):
        block = pages[first : first + _BLOCK_PAGES]
        np.right_shift(block, _SHIFT, out=shifted[: len(block)])
        for key, words in zip(_KEYS, (block, shifted[: len(block)]), strict=True):
            digest.update((words @ key).astype("<u8").tobytes())
    return digest.hexdigest()
