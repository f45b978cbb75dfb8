"""Labels and attributes of nodes: from values of each node or graph to flat arrays."""

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set, Sized
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from retgk.array_types import Floats
from retgk.errors import InputWarning, InvalidInputError, Remedy, warn_user
from retgk.graphs.missing_values import KEPT_NUMBERS, Missing, check_not_masked, is_missing

__all__ = [
    "KEEP_AS_NAN",
    "NodeName",
    "attribute_matrix",
    "attribute_names",
    "join_labels",
    "list_per_graph",
    "short_repr",
    "stack_attributes",
    "warn_of_unused_values",
]

NodeName = Callable[[int], str]

KEEP_AS_NAN = Remedy(
    "missing_attribute",
    'fill it in, or convert with missing="nan" and fit with impute_attributes="mean" or "median"',
)
_CHUNK = 1024
_MOST_SHOWN = 80
_MOST_NAMES = 5


def short_repr(value: Any) -> str:
    """Write a value for a message; Python refuses to write out very long integers."""
    if isinstance(value, int) and abs(value) >= 10**20:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def attribute_names(attributes: Any) -> list[Any]:
    """List the names of the attributes to read: none, one, or several."""
    if attributes is None:
        return []
    return list(attributes) if isinstance(attributes, list | tuple) else [attributes]


def warn_of_unused_values(names: Iterable[Any]) -> None:
    """Warn that nodes have values which are not read, if they have some."""
    found = list(map(repr, names))
    if found:
        shown = ", ".join(found[:_MOST_NAMES]) + ", ..." * (len(found) > _MOST_NAMES)
        warn_user(
            InputWarning(
                f"nodes have {shown}, which are not used",
                Remedy(
                    "node_values",
                    "as_batch(graphs, label=..., attributes=...) reads them, "
                    "as_batch(graphs, attributes=[]) leaves them out without this warning",
                ),
            )
        )


def attribute_matrix(
    values: Sequence[Any], name: Any, node_name: NodeName, missing: Missing = "error"
) -> Floats:
    """
    Make the matrix of one attribute, whose values are numbers or vectors of one length.

    `node_name` says what an error calls a node, given its position among all values.
    """
    if not values:
        return np.empty((0, 0))  # graphs without nodes are reported where the batch is built
    if missing in KEPT_NUMBERS:
        values = _with_nan(values)
    try:
        matrix = _matrix_of_values(values)
    except (TypeError, ValueError, OverflowError):
        _raise_bad_value(values, name, node_name)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        _raise_bad_value(values, name, node_name)
    return matrix.astype(np.float64, copy=False)


def _with_nan(values: Sequence[Any]) -> list[Any]:
    """Put NaN where a number is missing, or a vector of NaN where that of a node is missing."""
    known: Any = next((value for value in values if not is_missing(value)), math.nan)
    is_vector = isinstance(known, Sized) and not isinstance(known, str | bytes)
    absent = [math.nan] * len(known) if is_vector else math.nan
    return [absent if is_missing(value) else _without_none(value) for value in values]


def _rows_with_nan(part: Any) -> Any:
    """Rows of one graph; arrays of numbers have NaN already."""
    if isinstance(part, np.ndarray):
        return part if part.dtype.kind != "O" else _with_nan(part.tolist())
    return _with_nan(part) if isinstance(part, list | tuple) else part


def _without_none(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [math.nan if is_missing(number) else number for number in value]
    return value


def _matrix_of_values(values: Sequence[Any]) -> NDArray[Any]:
    """
    Make rows of numbers.

    ``array("d", ...)`` is quicker than ``np.array`` on Python's own numbers and vectors, and
    takes neither strings nor None for numbers.
    """
    if type(values[0]) in (list, tuple):
        return _matrix_of_vectors(values)
    kinds = set(map(type, values))
    if kinds == {np.ndarray}:
        (_,) = {value.shape for value in values}
        return np.concatenate(values).reshape(len(values), *values[0].shape)
    if kinds <= {int, float, bool}:
        return np.asarray(array("d", values))[:, None]
    matrix = np.asarray(values)
    return matrix[:, None] if matrix.ndim == 1 else matrix


def _matrix_of_vectors(values: Sequence[Any]) -> NDArray[Any]:
    """Make rows of lists and tuples, some at a time, while the processor's cache holds them."""
    flat, widths = array("d"), set[int]()
    for first in range(0, len(values), _CHUNK):
        chunk = values[first : first + _CHUNK]
        if not set(map(type, chunk)) <= {list, tuple}:
            return np.asarray(values)
        widths.update(map(len, chunk))
        flat.fromlist(list(chain.from_iterable(chunk)))
    (width,) = widths
    return np.asarray(flat).reshape(len(values), width)


def _raise_bad_value(values: Sequence[Any], name: Any, node_name: NodeName) -> NoReturn:
    width = None
    for position, value in enumerate(values):
        try:
            found = np.asarray(value)
        except ValueError:
            found = np.asarray(None)
        if found.ndim > 1 or found.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"{node_name(position)}: the attribute {name!r} is {short_repr(value)}; it must "
                "be a number or a vector of numbers",
                _remedy(value, name),
            )
        if width is None:
            width = found.shape
        if found.shape != width:
            raise InvalidInputError(
                f"{node_name(position)}: the attribute {name!r} has {_in_words(found.shape)}, "
                f"{node_name(0)} has {_in_words(width)}; give all nodes the same"
            )
    raise InvalidInputError(f"the attribute {name!r} must be numbers, the same count on all nodes")


def _remedy(value: Any, name: Any) -> Remedy | None:
    """What helps where a value is no number: text is a label or a category, others are missing."""
    if is_missing(value):
        return KEEP_AS_NAN
    if not isinstance(value, str):
        return None
    return Remedy(
        "categorical",
        f"read it as the label with label={name!r}, or as columns of zeros and ones, one for each "
        f"value, with categorical=[{name!r}]",
        value=str(name),
    )


def _in_words(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} values" if shape else "one number"


def join_labels(labels: Any, sizes: Sequence[int]) -> Any:
    """Join the labels of graphs; each graph needs one for each of its nodes."""
    if labels is None:
        return None
    parts = list_per_graph(labels, "labels")
    _check_counts(parts, sizes, "labels")
    for graph, part in enumerate(parts):
        check_not_masked(part, f"graph {graph}: labels")
    if all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        return np.concatenate(parts)
    return list(chain.from_iterable(parts))


def stack_attributes(
    attributes: Any, sizes: Sequence[int], missing: Missing = "error"
) -> Floats | None:
    """Stack the attribute matrices of graphs; one row for each node, all equally wide."""
    if attributes is None:
        return None
    given = list_per_graph(attributes, "attributes")
    if missing in KEPT_NUMBERS:
        given = [_rows_with_nan(part) for part in given]
    parts = [_checked_matrix(part, graph) for graph, part in enumerate(given)]
    _check_counts(parts, sizes, "rows of attributes")
    for graph, part in enumerate(parts):
        if part.shape[1] != parts[0].shape[1]:
            raise InvalidInputError(
                f"graph {graph} has {part.shape[1]} attributes a node, graph 0 has "
                f"{parts[0].shape[1]}; give all the same"
            )
    return np.concatenate(parts)


def list_per_graph(values: Any, what: str) -> list[Any]:
    """List what belongs to one graph after the other."""
    if isinstance(values, str | bytes | Mapping | Set) or not isinstance(values, Iterable):
        raise InvalidInputError(
            f"{what} must be a sequence with those of one graph after the other, got "
            f"{type(values).__name__}"
        )
    return list(values)


def _checked_matrix(part: Any, graph: int) -> Floats:
    check_not_masked(part, f"graph {graph}: attributes")
    try:
        matrix = np.asarray(part)
    except ValueError:
        matrix = np.empty(0, object)
    if matrix.dtype.kind not in "biuf" or matrix.ndim not in (1, 2):
        _check_no_gap(matrix, graph)
        raise InvalidInputError(
            f"graph {graph}: attributes must be numbers of shape (n_nodes, n_attributes), "
            f"got {matrix.dtype} of shape {matrix.shape}"
        )
    return (matrix if matrix.ndim == 2 else matrix[:, None]).astype(np.float64, copy=False)


def _check_no_gap(matrix: NDArray[Any], graph: int) -> None:
    """Raise at the first number that is missing in rows of objects."""
    for node, row in enumerate(matrix.tolist() if matrix.dtype.kind == "O" else []):
        if any(map(is_missing, row if isinstance(row, list | tuple) else [row])):
            raise InvalidInputError(
                f"graph {graph}: an attribute of node {node} is missing", KEEP_AS_NAN
            )


def _check_counts(parts: Sequence[Any], sizes: Sequence[int], what: str) -> None:
    if len(parts) != len(sizes):
        raise InvalidInputError(f"got {what} for {len(parts)} graphs, but {len(sizes)} graphs")
    for graph, (part, size) in enumerate(zip(parts, sizes, strict=True)):
        if not isinstance(part, Sized) or getattr(part, "ndim", 1) == 0:
            raise InvalidInputError(
                f"graph {graph}: {what} must be a sequence of {size}, one for each node, got "
                f"{type(part).__name__}"
            )
        if len(part) != size:
            raise InvalidInputError(f"graph {graph} has {len(part)} {what} for {size} nodes")
