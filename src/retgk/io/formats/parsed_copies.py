"""Parsed data sets in one binary file each: JSON and memory-mapped arrays, no pickles."""

import hashlib
import json
import mmap
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from retgk.graphs.adjacency import Adjacency
from retgk.graphs.batch import flat_arrays, trusted_batch
from retgk.graphs.slicing import FlatGraphs
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.storage import atomic_path

__all__ = ["ReadOptions", "cache_path", "fingerprint", "load_cached", "store_cached"]

_MAGIC = b"retgk-cache-1\n"
_ALIGNMENT = 64
_DTYPES = ("<i4", "<i8", "<f8")
_LENGTH_BYTES = 8


class ReadOptions(NamedTuple):
    """What changes the result of reading the same files."""

    symmetrize: bool = False
    weight_column: int | None = None


def fingerprint(source: Path, options: ReadOptions) -> str:
    """Describe what a parsed copy depends on: files, their sizes and times, how to read them."""
    files = sorted(source.glob("*.txt")) if source.is_dir() else [source]
    stats = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return json.dumps([str(source.resolve()), stats, list(options)])


def cache_path(folder: Path, name: str, source: Path, options: ReadOptions) -> Path:
    """Name the file of a parsed copy: one for each source and way to read it."""
    key = json.dumps([str(source.resolve()), list(options)])
    return folder / f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.bin"


def store_cached(path: Path, dataset: GraphDataset, mark: str) -> None:
    """Write a parsed copy where that is possible; a cache is never worth an error."""
    graphs = flat_arrays(dataset.graphs)
    arrays: dict[str, NDArray[Any] | None] = {
        "node_ptr": graphs.node_ptr,
        **graphs.adjacency._asdict(),
        "labels": graphs.labels,
        "attributes": graphs.attributes,
        "targets": dataset.targets,
        "edge_labels": dataset.edge_labels,
    }
    header = {
        "fingerprint": mark,
        "name": dataset.name,
        "description": dataset.description,
        "label_names": list(graphs.label_names),
    }
    with suppress(OSError):
        _write(path, header, {key: array for key, array in arrays.items() if array is not None})


def load_cached(path: Path, mark: str) -> GraphDataset | None:
    """Map a parsed copy; None if there is none, or it is stale or damaged in any way."""
    try:
        header, arrays = _read(path, mark)
        adjacency = Adjacency(arrays["indptr"], arrays["indices"], arrays.get("weights"))
        names = tuple(
            tuple(name) if isinstance(name, list) else name for name in header["label_names"]
        )
        graphs = FlatGraphs(
            arrays["node_ptr"], adjacency, arrays.get("labels"), names, arrays["attributes"]
        )
        return GraphDataset(
            trusted_batch(graphs),
            arrays["targets"].copy(),
            header["name"],
            header["description"],
            arrays.get("edge_labels"),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write magic, length and checksum of the header, the header, then the arrays."""
    offset, places, flat = 0, {}, []
    for name, array in arrays.items():
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        places[name] = [little.dtype.str, list(little.shape), offset, _checksum(little)]
        padding = -little.nbytes % _ALIGNMENT
        offset += little.nbytes + padding
        flat.append((little, padding))
    text = json.dumps({**header, "arrays": places, "n_bytes": offset}).encode()
    start = len(_MAGIC) + 2 * _LENGTH_BYTES + len(text)
    with atomic_path(path, synced=False) as part, part.open("wb") as stream:
        stream.write(_MAGIC)
        stream.write(len(text).to_bytes(_LENGTH_BYTES, "little"))
        stream.write(zlib.crc32(text).to_bytes(_LENGTH_BYTES, "little"))
        stream.write(text + bytes(-start % _ALIGNMENT))
        for little, padding in flat:
            stream.write(little.data if little.size else b"")
            stream.write(bytes(padding))


def _read(path: Path, mark: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Map a file into memory; ValueError or KeyError where anything is not as written."""
    with path.open("rb") as stream:
        content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    at = len(_MAGIC)
    if content[:at] != _MAGIC:
        raise ValueError("another format")
    length = int.from_bytes(content[at : at + _LENGTH_BYTES], "little")
    checksum = int.from_bytes(content[at + _LENGTH_BYTES : at + 2 * _LENGTH_BYTES], "little")
    start = at + 2 * _LENGTH_BYTES
    text = content[start : start + length]
    if zlib.crc32(text) != checksum:
        raise ValueError("the header is damaged")
    header = json.loads(text)
    start += length + -(start + length) % _ALIGNMENT
    if header["fingerprint"] != mark or len(content) != start + header["n_bytes"]:
        raise ValueError("stale or cut off")
    return header, {
        name: _map_array(content, start, place) for name, place in header["arrays"].items()
    }


def _map_array(content: mmap.mmap, start: int, place: list[Any]) -> NDArray[Any]:
    dtype, shape, offset, checksum = place
    if dtype not in _DTYPES:
        raise ValueError(f"unexpected type {dtype}")
    count = int(np.prod(shape))
    array = np.frombuffer(content, np.dtype(dtype), count, start + offset).reshape(shape)
    if _checksum(array) != checksum:
        raise ValueError("an array is damaged")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _checksum(array: NDArray[Any]) -> int:
    """
    Combine the sum of the pages of an array with their sum weighted by position.

    This finds accidents (lost pages, flipped bits, pages that swapped places) at the speed of
    memory; a CRC would take longer than everything else a cached load does.
    """
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    n_whole = len(data) // 4096 * 4096
    pages = data[:n_whole].view(np.uint64).reshape(-1, 512).sum(axis=1)
    position = np.arange(1, len(pages) + 1, dtype=np.uint64)
    return zlib.crc32(data[n_whole:].tobytes(), int((pages * position).sum()) & 0xFFFFFFFF) ^ (
        int(pages.sum())
    )
