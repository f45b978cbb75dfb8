"""Node labels: arbitrary hashable values on the outside, small integers inside."""

import cmath
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set, Sized
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from operator import eq
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from retgk._runtime.parallel import run_tasks
from retgk.array_types import Codes, Floats, Ints
from retgk.errors import InvalidInputError

_SMALL_RANGE = 1 << 16
_PLAIN = frozenset({str, int, float, bool, type(None)})


def encode_labels(labels: Any) -> tuple[Codes, tuple[Hashable, ...]]:
    """Map labels to integers; names are sorted if they can be, else in order of appearance."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biuf":
        return _encode_numbers(labels)
    return _encode_hashables(labels)


def _encode_numbers(labels: NDArray[Any]) -> tuple[Codes, tuple[Hashable, ...]]:
    if labels.dtype.kind != "f" and labels.size:
        low, high = int(labels.min()), int(labels.max())
        if high - low <= max(len(labels), _SMALL_RANGE):
            return _encode_small_integers(labels, low, high)
    names, codes = np.unique(labels, return_inverse=True)
    return codes.astype(np.int32), tuple(map(plain_label, names.tolist()))


def _encode_small_integers(
    labels: NDArray[Any], low: int, high: int
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Encode by a table over the range, which needs no sorting."""
    # Unsigned labels may lie beyond int64, differences of signed ones beyond their own type.
    wide = labels.astype(np.uint64 if labels.dtype.kind == "u" else np.int64)
    shifted = (wide - wide.dtype.type(low) if low else wide).astype(np.int64, copy=False)
    present = np.zeros(high - low + 1, bool)
    present[shifted] = True
    table = np.cumsum(present, dtype=np.int32) - np.int32(1)
    names = [low + step for step in np.flatnonzero(present).tolist()]
    return table[shifted], tuple(map(bool, names) if labels.dtype.kind == "b" else names)


def _encode_hashables(labels: Iterable[Hashable]) -> tuple[Codes, tuple[Hashable, ...]]:
    values = list(labels)
    try:
        plain = _plain_of_each(values)
    except TypeError as error:
        raise InvalidInputError(f"labels must be hashable, one per node: {error}") from error
    names = list(dict.fromkeys(plain.values()))
    place = {name: code for code, name in enumerate(names)}
    position = {label: place[name] for label, name in plain.items()}
    codes = np.fromiter(map(position.__getitem__, values), np.int32, len(values))
    ordered = _sorted_names(names)
    return recode(codes, names, ordered), ordered


def _plain_of_each(values: list[Hashable]) -> dict[Hashable, Hashable]:
    try:
        return {label: plain_label(label) for label in dict.fromkeys(values)}
    except TypeError:  # `Decimal(1) == np.int64(1)` raises; plain values can be compared
        values[:] = map(plain_label, values)
        return {label: label for label in dict.fromkeys(values)}


def plain_label(label: Any) -> Any:
    """Plain Python value of a label that is of NumPy or of a subclass, as files hold it."""
    if type(label) in _PLAIN:
        return label
    if isinstance(label, np.generic):
        value = label.item()
        return _of_long(value) if isinstance(value, np.generic) else plain_label(value)
    for kind, plain in _VALUE_OF:
        if isinstance(label, kind):
            return plain(label)
    return label


def _of_long(label: Any) -> Any:
    """Value of a long double, the one number of NumPy that Python has no type for."""
    if isinstance(label, np.complexfloating):
        return complex(label)
    is_float = float(label) == label or np.isnan(label)
    return float(label) if is_float else Fraction(*label.as_integer_ratio())


_VALUE_OF: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (tuple, lambda label: tuple(map(plain_label, label))),
    (frozenset, lambda label: frozenset(map(plain_label, label))),
    (str, str.__str__),
    (bytes, bytes),
    (int, int.__int__),
    (float, float.__float__),
)


def _sorted_names(names: list[Hashable]) -> tuple[Hashable, ...]:
    values: list[Any] = list(names)
    try:
        values.sort()
        is_total = all(a < b for a, b in pairwise(values))  # frozensets compare, but partially
    except TypeError:
        return tuple(names)
    return tuple(values if is_total else names)


def recode(codes: Codes, names: Sequence[Hashable], new_names: Sequence[Hashable]) -> Codes:
    position = {name: code for code, name in enumerate(new_names)}
    table = [position.get(name, -1) for name in names]
    return np.array([*table, -1], dtype=np.int32)[codes]  # the last is for codes of -1


def union_of_names(vocabularies: Iterable[Sequence[Hashable]]) -> tuple[Hashable, ...]:
    """Join vocabularies: every name once, in sorted order where the names can be compared."""
    names = list(dict.fromkeys(name for names in vocabularies for name in names))
    return _sorted_names(names)


# Runs of a flat array that are given by their offsets, as the nodes of graphs are.

BLOCK_ENTRIES = 1 << 18
"""Entries that are worked on at a time: enough that the overhead of a block does not count."""


def rows_of(indptr: Ints) -> Ints:
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def offsets(counts: ArrayLike) -> Ints:
    """First position of every run, and the sum of all lengths: 0, 3, 5 of lengths 3, 2."""
    lengths = np.asarray(counts)
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


def compact(values: Ints) -> NDArray[Any]:
    """Give the same numbers, none of them negative, in 32 bits if they fit."""
    return values.astype(np.int32) if values.max(initial=0) <= np.iinfo(np.int32).max else values


def graph_of(node_ptr: Ints, node: int) -> int:
    return int(np.searchsorted(node_ptr, node, side="right")) - 1


def first_of_run(ptr: Ints) -> Ints:
    return np.repeat(ptr[:-1], np.diff(ptr))


def numbers_of_nodes(node_ptr: Ints) -> Ints:
    """Number of every node within its graph, from 0."""
    return np.arange(node_ptr[-1]) - first_of_run(node_ptr)


def node_name_array(names: Sequence[Any] | NDArray[Any], node_ptr: Ints) -> NDArray[Any] | None:
    """Names of nodes, as integers or objects; None where they are the numbers of the nodes."""
    numbers = numbers_of_nodes(node_ptr)
    if isinstance(names, np.ndarray) and names.dtype.kind in "iu":
        return None if np.array_equal(names, numbers) else names
    listed, plain = list(names), numbers.tolist()
    if listed == plain or (listed[0] == "0" and all(map(eq, listed, map(str, plain)))):
        return None
    return np.fromiter(listed, object, len(listed))


def chunks(
    ptr: Ints, max_entries: int | None, max_runs: int | None = None, *others: tuple[Ints, int]
) -> Iterator[tuple[int, int]]:
    """Cut runs into chunks of whole runs within limits; a run beyond them is a chunk on its own."""
    limits = others if max_entries is None else ((ptr, max_entries), *others)
    first, n_runs = 0, len(ptr) - 1
    while first < n_runs:
        last = n_runs if max_runs is None else min(first + max_runs, n_runs)
        for own, most in limits:
            last = min(last, int(np.searchsorted(own, own[first] + most, side="right")) - 1)
        last = max(last, first + 1)
        yield first, last
        first = last


def run_over_runs(
    work: Callable[[int, int], None],
    ptr: Ints,
    max_entries: int | None,
    n_jobs: int | None,
    text: str,
    max_runs: int | None = None,
) -> None:
    """Call ``work(first, last)`` for `chunks` of runs, on several threads."""
    ranges = list(chunks(ptr, max_entries, max_runs))
    costs = [float(ptr[last] - ptr[first]) for first, last in ranges]
    run_tasks(work, ranges, costs, n_jobs, text)


def gather_runs(values: NDArray[Any], starts: Ints, counts: Ints) -> NDArray[Any]:
    """Concatenate runs of an array: ``values[start:start + count]`` for every run."""
    ptr = offsets(counts)
    gathered = np.empty((int(ptr[-1]), *values.shape[1:]), values.dtype)
    for first, last in chunks(ptr, BLOCK_ENTRIES):
        positions = np.repeat(starts[first:last] - ptr[first:last], counts[first:last])
        positions += np.arange(ptr[first], ptr[last])
        # "clip" writes straight into the result; the default mode would buffer it
        np.take(values, positions, axis=0, out=gathered[ptr[first] : ptr[last]], mode="clip")
    return gathered


# Labels and attributes that some nodes lack: errors, unless the caller says what to do.

Missing = Literal["error", "label", "nan", "keep"]
"""What becomes of missing values: see `from_networkx`."""

KEPT_LABELS: tuple[Missing, ...] = ("label", "keep")
KEPT_NUMBERS: tuple[Missing, ...] = ("nan", "keep")

NO_VALUE = {True: "which stands for none", False: "of which a part stands for none"}
"""What is wrong with a label, by whether all of it is missing."""

_NOT_AVAILABLE = ("NAType", "NaTType", "MaskedConstant")  # of pandas and NumPy


def check_missing(missing: Any) -> None:
    if missing not in get_args(Missing):
        raise InvalidInputError(
            f"missing must be one of {', '.join(map(repr, get_args(Missing)))}, got {missing!r}"
        )


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or NA of pandas."""
    if value is None or type(value).__name__ in _NOT_AVAILABLE:
        return True
    return isinstance(value, float | complex | Decimal) and cmath.isnan(value)


def lacks_part(label: Any) -> bool:
    """Whether a label is missing, or a part of a tuple or frozenset is NaN or NA."""
    if isinstance(label, tuple | frozenset):
        return any(part is not None and lacks_part(part) for part in label)
    return is_missing(label)


def check_not_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} are a masked array; fill the gaps with .filled(value), or drop the graphs "
            "that have some together with their targets"
        )


def check_one_each(values: Any, n_expected: int, what: str, owner: str) -> None:
    unordered = isinstance(values, str | bytes | Set | Mapping) or not isinstance(values, Sized)
    if unordered or getattr(values, "ndim", 1) == 0:
        raise InvalidInputError(
            f"{what} must be a sequence with one for each {owner}, in the order of the {owner}s; "
            f"got {type(values).__name__}"
        )
    check_not_masked(values, what)
    if len(values) != n_expected:
        raise InvalidInputError(
            f"got {len(values)} {what} for {n_expected} {owner}s; give one for each"
        )


def joined_weights(parts: Sequence[tuple[int, Floats | None]]) -> Floats | None:
    """Weights of all parts, given with their numbers of entries; None if no part has any."""
    if all(weights is None for _, weights in parts):
        return None
    return np.concatenate([np.ones(n) if weights is None else weights for n, weights in parts])


def check_no_missing_label(codes: Codes, names: Sequence[Hashable], node_ptr: Ints) -> None:
    """Raise where a node has None or NaN for its label."""
    for code, name in enumerate(names):
        if lacks_part(name):
            node = int(np.argmax(codes == code))
            graph = graph_of(node_ptr, node)
            where = f"graph {graph}: node {node - node_ptr[graph]}"
            raise InvalidInputError(
                f"{where} has the label {name}, {NO_VALUE[is_missing(name)]}; give all nodes "
                'labels, or make a label of its own of missing ones with missing="label"'
            )


def with_one_missing_label(
    codes: Codes, names: tuple[Hashable, ...]
) -> tuple[Codes, tuple[Hashable, ...]]:
    """Name all missing labels, and missing parts of labels, None, be they None or NaN."""
    if not any(map(lacks_part, names)):
        return codes, names
    filled = [_with_none(name) for name in names]
    known = [name for name in dict.fromkeys(filled) if name is not None]
    ordered = (*known, None) if None in filled else tuple(known)
    place = {name: code for code, name in enumerate(ordered)}
    return np.array([place[name] for name in filled], np.int32)[codes], ordered


def _with_none(label: Any) -> Any:
    if isinstance(label, tuple | frozenset):
        return type(label)(map(_with_none, label))
    return None if is_missing(label) else label


def check_numbers(values: Floats, node_ptr: Ints, missing: Missing = "error") -> None:
    """Raise where an attribute is infinite, or NaN unless that is to be kept."""
    finite = np.isfinite(values)
    if finite.all():
        return
    bad = np.isinf(values) if missing in KEPT_NUMBERS else ~finite
    if not bad.any():
        return
    node, column = (int(position[0]) for position in np.nonzero(bad))
    graph = graph_of(node_ptr, node)
    where = f"graph {graph}: attribute {column} of node {node - node_ptr[graph]}"
    if np.isinf(values[node, column]):
        raise InvalidInputError(
            f"{where} is {values[node, column]}; fill it in or drop the graph together with its "
            "target"
        )
    raise InvalidInputError(f"{where} is nan; {FILL_IN}")


FILL_IN = (
    "fill it in, drop the graph together with its target, or leave attributes out "
    "(without_attributes(), --no-attributes); models (RetGK, retgk fit and cv) fill in what was "
    'converted with missing="nan" by impute_attributes="mean" or "median"'
)


# What a GraphBatch is built from; nothing checks it again afterwards.

MAX_GRAPH_SIZE = 2**31 - 1  # nodes are numbered by int32 within a graph
MAX_INTEGER = 2**63 - 1


def integers(values: Any, name: str) -> NDArray[Any]:
    check_not_masked(values, name)
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must be integers, got {array.dtype}")
    if array.dtype == np.uint64 and array.size and array.max() > MAX_INTEGER:
        raise InvalidInputError(f"{name} holds {array.max()}; the largest is {MAX_INTEGER}")
    return array if array.dtype.kind == "i" else array.astype(np.int64)


def weight_array(weights: ArrayLike | None) -> Floats | None:
    if weights is None:
        return None
    check_not_masked(weights, "weights")
    return _floats(weights, "weights must be real numbers", copy=False)


def _floats(values: ArrayLike, rule: str, copy: bool) -> Floats:
    """Convert to float64; NumPy alone would drop the imaginary part of complex numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "c":
        raise InvalidInputError(f"{rule}: got {values.dtype}")
    convert = np.array if copy else np.asarray  # the latter copies where it must
    try:
        return convert(values, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{rule}: {error}") from error


def checked_edges(edges: Any, name: str = "edges") -> NDArray[Any]:
    pairs = integers(edges, name)
    if pairs.size == 0:
        return np.empty((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        hint = "; transpose them" if pairs.ndim == 2 and len(pairs) == 2 else ""
        raise InvalidInputError(f"{name} must have shape (n_edges, 2), got {pairs.shape}{hint}")
    return pairs


def checked_node_ptr(node_ptr: ArrayLike) -> Ints:
    nodes = integers(node_ptr, "node_ptr").astype(np.int64)
    if nodes.ndim != 1 or len(nodes) == 0 or nodes[0] != 0:
        raise InvalidInputError(f"node_ptr must be one-dimensional and start at 0, got {nodes}")
    sizes = np.diff(nodes)
    if (sizes < 1).any():
        graph = int(np.flatnonzero(sizes < 1)[0])
        raise InvalidInputError(f"graph {graph} has no nodes; drop it together with its target")
    if (sizes > MAX_GRAPH_SIZE).any():
        graph = int(np.argmax(sizes))
        raise InvalidInputError(
            f"graph {graph} has {sizes[graph]} nodes; the largest possible is {MAX_GRAPH_SIZE}"
        )
    return nodes


def checked_labels(
    labels: Any, node_ptr: Ints, missing: Missing = "error"
) -> tuple[Codes | None, tuple[Hashable, ...]]:
    """Encode one label per node: codes and vocabulary; None and () where there are none."""
    if labels is None:
        return None, ()
    check_one_each(labels, int(node_ptr[-1]), "labels", "node")
    codes, names = encode_labels(labels)
    check_missing(missing)
    if missing in KEPT_LABELS:
        return with_one_missing_label(codes, names)
    check_no_missing_label(codes, names, node_ptr)
    return codes, names


def checked_label_columns(
    columns: Sequence[str], codes: Codes | None, names: Sequence[Hashable]
) -> tuple[str, ...]:
    """Names of the columns of labels, which are tuples where there are several columns."""
    found = (columns,) if isinstance(columns, str) else tuple(columns)
    if not all(isinstance(name, str) for name in found) or len(set(found)) < len(found):
        raise InvalidInputError(f"label_columns must be different names, got {found!r:.200}")
    if found and codes is None:
        raise InvalidInputError(
            f"label_columns names {columns_in_words(found)}, but there are no labels; give some, "
            "or leave it out"
        )
    odd = [name for name in names if not (isinstance(name, tuple) and len(name) == len(found))]
    if len(found) > 1 and odd:
        raise InvalidInputError(
            f"label_columns names {columns_in_words(found)}, but the label {odd[0]!r:.80} is no "
            f"tuple of {len(found)} values; give one value for each column"
        )
    return found


def columns_in_words(columns: Sequence[str]) -> str:
    if not columns:
        return "no named columns"
    return f"the column{'s' * (len(columns) > 1)} {', '.join(columns)}"


def checked_attributes(
    attributes: ArrayLike | None, node_ptr: Ints, missing: Missing = "error"
) -> Floats:
    """Copy attributes, which must be finite, or NaN if that is kept, and have one row per node."""
    n_nodes = int(node_ptr[-1])
    if attributes is None:
        return np.empty((n_nodes, 0))
    check_not_masked(attributes, "attributes")
    rule = "attributes must be real numbers, the same count for every node"
    values = _floats(attributes, rule, copy=True)
    if values.ndim != 2 or len(values) != n_nodes:
        hint = "; reshape(-1, 1) makes one attribute of them" if values.shape == (n_nodes,) else ""
        raise InvalidInputError(
            f"attributes must have shape ({n_nodes}, n_attributes), got {values.shape}{hint}"
        )
    check_missing(missing)
    check_numbers(values, node_ptr, missing)
    return values


def checked_positions(key: Any, n_graphs: int) -> Ints:
    """Positions, none of them negative, that an index or boolean array selects."""
    keys = np.asarray(key)
    if keys.ndim == 1 and keys.size == 0:
        return np.empty(0, np.int64)
    if keys.ndim != 1 or keys.dtype.kind not in "biu" or isinstance(key, tuple):
        raise IndexError(
            "graphs are selected by an integer, a slice, or a one-dimensional array of integers "
            f"or booleans; got {type(key).__name__} of shape {keys.shape} and {keys.dtype}"
        )
    if keys.dtype.kind == "b":
        if len(keys) != n_graphs:
            raise IndexError(f"got {len(keys)} booleans to select from {n_graphs} graphs")
        return np.flatnonzero(keys)
    outside = (keys >= n_graphs) | (keys < -n_graphs)
    if outside.any():
        raise IndexError(f"graph {keys[outside][0]} is out of range for {n_graphs} graphs")
    positions = keys.astype(np.int64)
    return np.where(positions < 0, positions + n_graphs, positions)


Labels = Sequence[Hashable] | NDArray[Any]
"""One label for each node."""
