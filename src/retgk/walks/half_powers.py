"""Return probabilities of sparse graphs by half powers, for sixteen start nodes at a time.

B is symmetric, so with ``x_h = B^h e_i``

    B^h(i, i) = x_h(i),   B^(2h-1)(i, i) = <x_(h-1), x_h>,   B^2h(i, i) = <x_h, x_h>:

S steps need S/2 sparse products. The first half of the steps is read off the vectors
themselves; only the second half takes inner products. The vectors of up to sixteen start nodes
lie interleaved, so that one entry of B is loaded once for all of them. A lane never meets another:
a result does not depend on which nodes share a block.
"""

from typing import Any

import numpy as np

from retgk.runtime.compiling import njit
from retgk.simd import SOURCE
from retgk.simd.half_power_steps import multiply_4, multiply_8, multiply_12, multiply_16
from retgk.walks.twins import Quotients

__all__ = ["LANES", "fill_half_powers"]

LANES = 16

_REGISTER = 4  # lanes that are not used fill up to a multiple of this
_SMALL = 512  # rows up to which walks reach everything so soon that it is not worth watching


def fill_half_powers(
    node_ptr: Any, quotients: Quotients, starts: tuple[Any, ...], probabilities: Any
) -> None:
    """
    Write ``Bq^s(C, C)``, s = 1..S, for some rows of the quotients.

    Parameters
    ----------
    node_ptr : ndarray of int64
        First row of every quotient.
    quotients : Quotients
        Normalised adjacency of all graphs.
    starts : tuple of ndarray
        Graph, row within its quotient, and row of `probabilities` for every start node;
        start nodes of the same graph stand together.
    probabilities : ndarray of float64, shape (n_rows, n_steps)
        Where the result is written.
    """
    largest = int(quotients.n_classes[starts[0]].max(initial=0))
    q = quotients
    matrix = (q.diagonal, q.row_begin, q.row_end, q.columns, q.values)
    buffers = (np.empty(LANES, np.int64), np.empty(largest, np.int64), np.zeros(largest, np.bool_))
    _fill(node_ptr, quotients.n_classes, *matrix, *starts, *buffers, probabilities)


@njit(nogil=True, inline="always")
def _reach(row, reached, is_reached, n_reached):
    if not is_reached[row]:
        is_reached[row] = True
        reached[n_reached] = row
        n_reached += 1
    return n_reached


@njit(nogil=True, inline="always")
def _add_neighbours(first, n, row_begin, row_end, columns, reached, is_reached, n_reached):
    """
    Add the neighbours of the rows that walks have reached; all rows once there are many.

    Rows stay sorted, so that sums are taken in one order, whichever rows are left out as zero.
    """
    n_before = n_reached
    if n_reached < n and 4 * n_reached <= n:
        for position in range(n_before):
            i = first + reached[position]
            for entry in range(row_begin[i], row_end[i]):
                n_reached = _reach(columns[entry], reached, is_reached, n_reached)
        n_reached = _list_reached(n, reached, is_reached, n_reached)
    elif n_reached < n:
        for i in range(n):
            reached[i] = i
        n_reached = n
    return n_reached


@njit(nogil=True, inline="always")
def _list_reached(n, reached, is_reached, n_reached):
    """Sort the rows that are reached: off their flags if there are many, else by Shell's method."""
    if n < 32 * n_reached:
        n_reached = 0
        for i in range(n):
            reached[n_reached] = i
            n_reached += is_reached[i]
    else:
        gap = 1
        while gap < n_reached // 3:
            gap = 3 * gap + 1
        while gap > 0:
            for i in range(gap, n_reached):
                row, j = reached[i], i
                while j >= gap and reached[j - gap] > row:
                    reached[j] = reached[j - gap]
                    j -= gap
                reached[j] = row
            gap //= 3
    return n_reached


@njit(nogil=True, inline="always")
def _clear(x, y, lanes, reached, is_reached, n_reached):
    for position in range(n_reached):
        i = reached[position]
        is_reached[i] = False
        for place in range(i * lanes, (i + 1) * lanes):
            x[place] = y[place] = 0.0


@njit(nogil=True, inline="always")
def _multiply(
    lanes, x, y, found, own, reached, diagonal, row_begin, row_end, columns, values, numbers
):
    """Multiply x by B some times, in turns with y, and write what the lanes find."""
    if lanes == 16:
        multiply_16(
            x, y, found, own, reached, diagonal, row_begin, row_end, columns, values, numbers
        )
    elif lanes == 12:
        multiply_12(
            x, y, found, own, reached, diagonal, row_begin, row_end, columns, values, numbers
        )
    elif lanes == 8:
        multiply_8(
            x, y, found, own, reached, diagonal, row_begin, row_end, columns, values, numbers
        )
    else:
        multiply_4(
            x, y, found, own, reached, diagonal, row_begin, row_end, columns, values, numbers
        )


@njit(nogil=True, inline="always")
def _start(rows, start, stop, n, lanes, x, own, reached, is_reached):
    """Put a one where each lane starts; list the rows that are reached, or all of a small graph."""
    n_reached = 0
    for lane in range(stop - start):
        own[lane] = rows[start + lane] * lanes + lane
        x[own[lane]] = 1.0
        n_reached = _reach(rows[start + lane], reached, is_reached, n_reached)
    if n <= _SMALL:
        for i in range(n):
            reached[i] = i
        n_reached = n
    return n_reached


@njit(cache=True, nogil=True, no_cfunc_wrapper=True)
def _fill(
    node_ptr,
    n_classes,
    diagonal,
    row_begin,
    row_end,
    columns,
    values,
    graphs,
    rows,
    targets,
    own,
    reached,
    is_reached,
    probabilities,
    simd=SOURCE,  # noqa: ARG001
):
    """Go over blocks of up to sixteen start nodes; `x`, `y`, `is_reached` are zero in between."""
    n_steps = probabilities.shape[1]
    # by numba, whose arrays are aligned to registers; NumPy's are not, which costs a tenth
    x, y = np.zeros(len(reached) * LANES), np.zeros(len(reached) * LANES)
    found = np.zeros((n_steps + 1) * LANES)
    n_products = (n_steps + 1) // 2
    start = 0
    while start < len(graphs):
        graph, stop = graphs[start], start + 1
        while stop < min(start + LANES, len(graphs)) and graphs[stop] == graph:
            stop += 1
        first, n = node_ptr[graph], n_classes[graph]
        lanes = (stop - start + _REGISTER - 1) // _REGISTER * _REGISTER
        n_reached = _start(rows, start, stop, n, lanes, x, own, reached, is_reached)
        h = 0
        while h < n_products:
            n_reached = _add_neighbours(
                first, n, row_begin, row_end, columns, reached, is_reached, n_reached
            )
            # all products at once where nothing grows: a call costs as much as some rows
            end = n_products if n_reached == n else h + 1
            numbers = (stop - start, n_reached, first, h, end, n_products)
            _multiply(
                lanes,
                x,
                y,
                found,
                own,
                reached,
                diagonal,
                row_begin,
                row_end,
                columns,
                values,
                numbers,
            )
            if (end - h) % 2:
                x, y = y, x
            h = end
        for lane in range(stop - start):
            for step in range(n_steps):
                probabilities[targets[start + lane], step] = found[step * lanes + lane]
        _clear(x, y, lanes, reached, is_reached, n_reached)
        start = stop
