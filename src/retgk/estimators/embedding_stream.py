"""Vectors of a stream of graphs in one file: as if all graphs had been embedded at once."""

import io
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.estimators.embedding import RetGKEmbedding
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import union_of_names

__all__ = ["check_streamable", "write_vectors"]

_ROWS = 4096  # that are moved at a time

Names = tuple[Hashable, ...] | None


def check_streamable(embedding: RetGKEmbedding) -> None:
    """Raise unless vectors depend on their own graph and on the labels of all graphs alone."""
    kernels = (embedding.structure_kernel, embedding.attribute_kernel)
    has_median = any(getattr(kernel, "gamma", None) == "median" for kernel in kernels)
    if has_median or embedding.scale_attributes == "standard" or embedding.impute_attributes:
        raise InvalidInputError(
            "a stream is embedded while it is read, so no median, mean or deviation over all its "
            "nodes can be used; fit on a sample and transform the stream"
        )


def write_vectors(
    path: Path,
    embedding: RetGKEmbedding,
    batches: Iterable[GraphBatch],
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[int, int]:
    """
    Fit an embedding on a stream of graphs and write their vectors, with little memory.

    The file is the one that ``numpy.save`` would write of ``fit_transform`` of all graphs at once,
    to the last bit. Vectors are written as graphs come. A label that is first seen late gives all
    graphs before it columns of zeros: the file is then gone through once more.

    Parameters
    ----------
    path : Path
        File to fill, which is there and empty.
    embedding : RetGKEmbedding
        To be fitted; see `check_streamable`.
    batches : iterable of GraphBatch
        The graphs, read in one way.
    advance : callable
        Called with the number of graphs of every batch that is done.

    Returns
    -------
    tuple of int
        Number of graphs, and of columns.
    """
    check_streamable(embedding)
    parts: list[tuple[int, Names]] = []
    with path.open("r+b") as stream:
        stream.write(_npy_header((0, 0), embedding.dtype))
        for batch in batches:
            embedding.partial_fit(batch)
            vectors = embedding.transform(batch)
            parts.append((len(vectors), _block_names(embedding)))
            stream.write(np.ascontiguousarray(vectors).data)
            advance(len(vectors))
        if not parts:
            raise InvalidInputError("there are no graphs to embed")
        _order_labels(embedding)
        shape = (sum(n_rows for n_rows, _ in parts), embedding.n_features_out_)
        _lay_out_again(stream, parts, embedding, len(_npy_header(shape, embedding.dtype)))
        stream.seek(0)
        stream.write(_npy_header(shape, embedding.dtype))
    return shape


def _npy_header(shape: tuple[int, int], dtype: Any) -> bytes:
    """Start of an .npy file; NumPy leaves room in it, so that its length is that of any shape."""
    text = io.BytesIO()
    described = np.lib.format.dtype_to_descr(np.dtype(dtype))
    fields = {"descr": described, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(text, fields)
    return text.getvalue()


def _block_names(embedding: RetGKEmbedding) -> Names:
    """Labels that have blocks of columns; None where there is one block for all."""
    return None if embedding.engine_.feature_map == "phases" else embedding.label_names_


def _order_labels(embedding: RetGKEmbedding) -> None:
    """Put labels, which are in the order in which they came, in the order of `fit`."""
    if embedding.label_names_ is not None:
        names = union_of_names([embedding.label_names_])
        embedding.label_names_ = embedding.engine_.label_names = names


def _lay_out_again(
    stream: IO[bytes], parts: list[tuple[int, Names]], embedding: RetGKEmbedding, start: int
) -> None:
    """
    Give the rows of all parts the columns of all labels, in their place in the file.

    Rows only get longer, so none is written over before it is read if the last come first.
    """
    names, width = _block_names(embedding), embedding.engine_.block_width
    if names is None or all(own == names for _, own in parts):
        return
    n_columns, size = embedding.n_features_out_, np.dtype(embedding.dtype).itemsize
    first_row = sum(n_rows for n_rows, _ in parts)
    end = start + sum(n_rows * len(own or ()) for n_rows, own in parts) * width * size
    for n_rows, own in reversed(parts):
        blocks = np.array([names.index(name) for name in own or ()])
        row_bytes = len(blocks) * width * size
        for n_moved in _runs(n_rows):
            end -= n_moved * row_bytes
            first_row -= n_moved
            stream.seek(end)
            rows = np.frombuffer(stream.read(n_moved * row_bytes), embedding.dtype)
            stream.seek(start + first_row * n_columns * size)
            stream.write(_spread(rows.reshape(n_moved, -1, width), blocks, n_columns).data)


def _runs(n_rows: int) -> list[int]:
    """Numbers of rows to move, one after the other."""
    return [_ROWS] * (n_rows // _ROWS) + [n_rows % _ROWS] * (n_rows % _ROWS > 0)


def _spread(rows: NDArray[Any], blocks: Ints, n_columns: int) -> NDArray[Any]:
    """Rows whose blocks have other places, with zeros in between."""
    n_rows, _, width = rows.shape
    spread = np.zeros((n_rows, n_columns // width, width), rows.dtype)
    spread[:, blocks] = rows
    return spread.reshape(n_rows, n_columns)
