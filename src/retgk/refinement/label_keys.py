"""
Keys of labels and of refined labels: 64 random bits for each, the same in every process.

A key stands for a label where no vocabulary is kept, in vectors of fixed width. Keys of colours
are made of those of the neighbourhood, so that graphs that were never seen have theirs too. Two
different ones share a key with probability 2^-64 a pair.
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import UTC, date, datetime
from enum import Enum
from numbers import Complex, Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retgk import _core
from retgk.array_types import Ints
from retgk.errors import InvalidInputError
from retgk.graphs.batch import GraphBatch
from retgk.graphs.labels import plain_label
from retgk.graphs.ragged import BLOCK_ENTRIES, chunks
from retgk.runtime.parallel import run_tasks

__all__ = ["Keys", "colour_keys", "keys_of_names"]

Keys = NDArray[np.uint64]

_DECIMAL_BITS = 1 << 11


def keys_of_names(names: Sequence[Hashable], seed: int) -> Keys:
    """
    Give a key for each label: equal ones for equal labels, such as 1 and 1.0, and for no others.

    Examples
    --------
    >>> len(set(keys_of_names(["C", "N", 1, 1.0], seed=0).tolist()))
    3
    """
    secret = int(seed).to_bytes(8, "little")
    digests = (
        hashlib.blake2b(_bytes(plain_label(name)), digest_size=8, key=secret).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _bytes(label: Any) -> bytes:
    """
    Write a label such that equal ones have equal bytes, in every process, and others do not.

    How the bytes begin says what the label is. No `repr` takes part: it tells equal numbers of
    two types apart, and what it escapes in a text depends on the version of Python.
    """
    for kind, write in _WRITERS:
        if isinstance(label, kind):
            return write(label)
    raise InvalidInputError(
        f"the label {label!r:.80} is of type {type(label).__name__}, of which no key is known that "
        "is the same in every process; use numbers, text or tuples of these as labels"
    )


def _listed(items: Iterable[bytes]) -> bytes:
    """Join items, each after its length, so that no two lists have the same bytes."""
    return b"".join(b"%d:%b" % (len(item), item) for item in items)


def _number(value: Any) -> str:
    """Write the value of a number, whatever its type: all digits of a fraction in lowest terms."""
    if isinstance(value, Complex) and value.imag:
        return f"j{_number(value.real)},{_number(value.imag)}"
    value = value.real
    try:
        ratio = value.as_integer_ratio()
    except OverflowError:
        return "inf" if value > 0 else "-inf"
    # hexadecimal from where Python refuses to write so many decimals
    top, bottom = (str(n) if n.bit_length() < _DECIMAL_BITS else hex(n) for n in ratio)
    return top if ratio[1] == 1 else f"{top}/{bottom}"


def _member(label: Enum) -> str:
    return f"<{type(label).__module__}.{type(label).__qualname__}.{label.name}>"


def _moment(label: datetime) -> str:
    return f"t{label.astimezone(UTC) if label.tzinfo else label}"


_WRITERS: tuple[tuple[type, Callable[[Any], bytes]], ...] = (
    (type(None), lambda _: b"None"),
    (str, lambda text: b"'" + text.encode("utf-8", "surrogatepass") + b"'"),
    (bytes, lambda label: b"b'" + label + b"'"),
    (Number, lambda number: _number(number).encode()),
    (tuple, lambda parts: b"(" + _listed(map(_bytes, parts)) + b")"),
    (frozenset, lambda parts: b"{" + _listed(sorted(map(_bytes, parts))) + b"}"),
    (Enum, lambda label: _member(label).encode()),
    (datetime, lambda label: _moment(label).encode()),
    (date, lambda label: f"d{label}".encode()),
)


def colour_keys(
    batch: GraphBatch, labels: Keys, depth: int, seed: int, n_jobs: int | None
) -> list[Keys]:
    """Keys of nodes after 0, 1, .., depth rounds of refinement that begin with those of labels."""
    ranges = list(chunks(batch.indptr[batch.node_ptr], BLOCK_ENTRIES, 1 << 14))
    costs = [float(batch.node_ptr[last] - batch.node_ptr[first]) for first, last in ranges]
    arrays: tuple[Ints, Ints, Any] = (batch.node_ptr, batch.indptr, batch.indices)
    edge_keys = np.empty(0, np.uint64)
    if batch.has_edge_labels:
        edge_keys = keys_of_names(batch.edge_label_names, seed)[batch.edge_labels]
    found = [labels]
    for _ in range(depth):
        before, after = found[-1], np.empty(batch.n_nodes, np.uint64)

        def work(first: int, last: int, before: Keys = before, after: Keys = after) -> None:
            _core.fill_keys(first, last, *arrays, before, edge_keys, after)

        run_tasks(work, ranges, costs, n_jobs, "neighbourhoods")
        found.append(after)
    return found
