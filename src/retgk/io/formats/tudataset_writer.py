"""Writer of collections in the text form of the TUDataset benchmarks."""

import zipfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats, Ints
from retgk.errors import InvalidInputError, Remedy
from retgk.graphs.batch import GraphBatch
from retgk.graphs.ragged import first_of_run
from retgk.io.formats.written_labels import label_remedy
from retgk.io.graph_dataset import GraphDataset
from retgk.runtime.progress import progress_bar

__all__ = ["write_archive", "write_folder"]

_BLOCK_GRAPHS = 256
_BLOCK_ROWS = 1 << 13
_LARGEST = 10**18 - 1


def write_archive(dataset: GraphDataset, path: Path) -> None:
    """Write all files of a collection; columns are written in blocks of some graphs."""
    files = dict(_files(dataset))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, blocks in files.items():
            member = f"{dataset.name}/{dataset.name}_{kind}.txt"
            with archive.open(member, "w", force_zip64=True) as stream:
                _write_blocks(blocks, stream)


def write_folder(dataset: GraphDataset, folder: Path) -> None:
    """Write the same files into a folder that is there; equal collections give equal bytes."""
    files = dict(_files(dataset))
    n_attributes = dataset.graphs.n_nodes * dataset.graphs.n_attributes
    with progress_bar("writing", n_attributes) as advance:
        for kind, blocks in files.items():
            with (folder / f"{dataset.name}_{kind}.txt").open("wb") as stream:
                for block in blocks:
                    _write_blocks([block], stream)
                    advance(block.size if kind == "node_attributes" else 0)


def _files(dataset: GraphDataset) -> Iterator[tuple[str, Iterable[NDArray[Any]]]]:
    """List the files: end of the name, and rows in blocks."""
    graphs = dataset.graphs
    yield "A", _edges(graphs)
    yield "graph_indicator", [np.repeat(np.arange(1, len(graphs) + 1), graphs.node_counts)]
    if dataset.targets is None:
        raise InvalidInputError(
            f"{dataset.name} has no targets, which TUDataset files need; give each graph one, or "
            "use write_parquet"
        )
    targets = dataset.targets
    if targets.dtype.kind in "biu" and targets.ndim == 1:
        yield "graph_labels", [_checked_integers(targets, "targets")]
    elif targets.dtype.kind == "f":
        yield "graph_attributes", [targets.astype(np.float64)]
    else:
        raise InvalidInputError(
            f"the targets are {targets.dtype} of shape {targets.shape}, but TUDataset files hold "
            "numbers, one integer per graph for classes",
            Remedy("integers", "number the classes, or use write_parquet"),
        )
    if graphs.has_labels:
        yield "node_labels", [_integer_names(graphs.label_names, "labels")[graphs.labels]]
    if graphs.n_attributes:
        yield "node_attributes", _row_blocks(graphs.attributes)
    if graphs.has_edge_labels:
        names = _integer_names(graphs.edge_label_names, "edge labels").astype(np.int64)
        yield "edge_labels", [names[graphs.edge_labels]]
    if graphs.is_weighted:
        yield "edge_attributes", [graphs.weights]


def _row_blocks(values: Floats) -> Iterator[Floats]:
    """Some rows at a time, since columns are copied on their way to text."""
    for first in range(0, len(values), _BLOCK_ROWS):
        yield values[first : first + _BLOCK_ROWS]


def _integer_names(vocabulary: Sequence[Hashable], what: str) -> Ints:
    """Names of labels as an array; those of edges are single numbers, as the reader has it."""
    try:
        names = np.array(vocabulary, None if vocabulary else np.int64)
    except ValueError:  # tuples of different lengths
        names = np.array([], dtype=object)
    of_edges = what == "edge labels"
    if names.dtype.kind not in "biu" or (of_edges and names.ndim != 1):
        raise InvalidInputError(
            f"TUDataset files hold integer {what}, got {vocabulary[0]!r}",
            label_remedy(of_edges),
        )
    return _checked_integers(names, what)


def _checked_integers(values: NDArray[Any], what: str) -> Ints:
    """Convert to int64; raise for more than 18 digits, which the reader refuses."""
    largest = max(-int(values.min()), int(values.max())) if values.size else 0
    if largest > _LARGEST:
        raise InvalidInputError(
            f"the {what} hold {largest}, but integers in TUDataset files have 18 digits at most",
            Remedy("integers", "number them anew, or use write_parquet"),
        )
    return values.astype(np.int64)


def _edges(graphs: GraphBatch) -> Iterator[Ints]:
    """Both directions of every edge, in the order of the entries; nodes count from 1."""
    for first in range(0, len(graphs), _BLOCK_GRAPHS):
        part = graphs[first : first + _BLOCK_GRAPHS]
        rows = np.repeat(np.arange(part.n_nodes), np.diff(part.indptr))
        columns = part.indices + first_of_run(part.node_ptr)[rows]
        yield np.stack([rows, columns], axis=1) + (1 + graphs.node_ptr[first])


def _write_blocks(blocks: Iterable[NDArray[Any]], stream: Any) -> None:
    """Write rows as lines; numbers are as short as they can be without loss."""
    import pyarrow as pa
    from pyarrow import csv

    options = csv.WriteOptions(include_header=False, quoting_style="none")
    for block in blocks:
        columns = block.reshape(len(block), -1)
        names = [str(column) for column in range(columns.shape[1])]
        arrays = [pa.array(np.ascontiguousarray(column)) for column in columns.T]
        csv.write_csv(pa.table(arrays, names=names), stream, options)
