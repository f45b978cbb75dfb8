"""Return probabilities of sparse graphs by half powers, for sixteen start nodes at a time.

B is symmetric, so with ``x_h = B^h e_i``

    B^h(i, i) = x_h(i),   B^(2h-1)(i, i) = <x_(h-1), x_h>,   B^2h(i, i) = <x_h, x_h>:

S steps need S/2 sparse products. The first half of the steps is read off the vectors
themselves; only the second half takes inner products. The vectors of sixteen start nodes lie
interleaved, so that one entry of B is loaded once and multiplies four AVX2 registers. numba
does not turn such short loops into vector instructions, hence the few lines of LLVM below.
A lane never meets another: a result does not depend on which nodes share a block.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from retgk.walks.twins import Quotients

__all__ = ["LANES", "fill_half_powers"]

LANES = 16

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
    _fill(node_ptr, quotients, *starts, probabilities)


@njit(cache=True, nogil=True)
def _fill(node_ptr, quotients, graphs, rows, targets, probabilities):
    largest = 0
    for graph in graphs:
        largest = max(largest, quotients.n_classes[graph])
    x = np.zeros(largest * LANES)
    y = np.zeros(largest * LANES)
    moments = np.empty(2 * LANES)
    reached = np.empty(largest, np.int64)
    is_reached = np.zeros(largest, np.bool_)
    buffers = (x, y, moments, reached, is_reached)
    begin = 0
    while begin < len(graphs):
        graph = graphs[begin]
        end = begin + 1
        while end < min(begin + LANES, len(graphs)) and graphs[end] == graph:
            end += 1
        part = slice(node_ptr[graph], node_ptr[graph] + quotients.n_classes[graph])
        matrix = (
            quotients.diagonal[part],
            quotients.row_begin[part],
            quotients.row_end[part],
            quotients.columns,
            quotients.values,
        )
        _fill_block(matrix, rows[begin:end], targets[begin:end], buffers, probabilities)
        begin = end


@njit(cache=True, nogil=True)
def _fill_block(matrix, rows, targets, buffers, probabilities):
    """Half powers from up to sixteen rows; `x`, `y` and `is_reached` are zero before and after."""
    x, y, moments, reached, is_reached = buffers
    n, n_steps = len(matrix[0]), probabilities.shape[1]
    n_reached = n if n <= _SMALL else 0
    for lane in range(len(rows)):
        x[rows[lane] * LANES + lane] = 1.0
        if n_reached < n:
            n_reached = _reach(rows[lane], reached, is_reached, n_reached)
    n_products = (n_steps + 1) // 2
    for h in range(1, n_products + 1):
        moments[:] = 0.0
        if n_reached < n:
            n_reached = _grown(matrix, reached, is_reached, n_reached)
            _multiply_reached(matrix, x, y, moments, reached[:n_reached])
        else:
            _multiply(matrix, x, y, moments, 2 * h > n_products)
        for lane in range(len(rows)):
            target = targets[lane]
            probabilities[target, h - 1] = y[rows[lane] * LANES + lane]
            if 2 * h > n_products + 1:
                probabilities[target, 2 * h - 2] = moments[lane]
            if 2 * h > n_products and 2 * h <= n_steps:
                probabilities[target, 2 * h - 1] = moments[LANES + lane]
        x, y = y, x
    if n_reached == n:
        x[: n * LANES] = 0.0
        y[: n * LANES] = 0.0
        is_reached[:n] = False
    else:
        for i in reached[:n_reached]:
            x[i * LANES : (i + 1) * LANES] = 0.0
            y[i * LANES : (i + 1) * LANES] = 0.0
            is_reached[i] = False


@njit(cache=True, nogil=True)
def _multiply(matrix, x, y, moments, with_moments):
    """Set ``y = B x`` for all lanes, and add up the moments where they are wanted."""
    diagonal, row_begin, row_end, columns, values = matrix
    if with_moments:
        for i in range(len(diagonal)):
            _row_product(x, y, values, columns, row_begin[i], row_end[i], diagonal[i], i)
            _add_moments(x, y, moments, i)
    else:
        for i in range(len(diagonal)):
            _row_product(x, y, values, columns, row_begin[i], row_end[i], diagonal[i], i)


@njit(cache=True, nogil=True)
def _multiply_reached(matrix, x, y, moments, reached):
    """Do the same for the rows that walks have reached, all others being zero."""
    diagonal, row_begin, row_end, columns, values = matrix
    for i in reached:
        _row_product(x, y, values, columns, row_begin[i], row_end[i], diagonal[i], i)
        _add_moments(x, y, moments, i)


@njit(cache=True, nogil=True)
def _reach(row, reached, is_reached, n_reached):
    if is_reached[row]:
        return n_reached
    is_reached[row] = True
    reached[n_reached] = row
    return n_reached + 1


@njit(cache=True, nogil=True)
def _grown(matrix, reached, is_reached, n_reached):
    """
    Add the neighbours of the rows that walks have reached; all rows once there are many.

    Rows stay sorted, so that sums are taken in one order, whichever rows are left out as zero.
    """
    diagonal, row_begin, row_end, columns, _ = matrix
    n, n_before = len(diagonal), n_reached
    if 4 * n_reached > n:
        reached[:n] = np.arange(n)
        return n
    for position in range(n_before):
        i = reached[position]
        for entry in range(row_begin[i], row_end[i]):
            n_reached = _reach(columns[entry], reached, is_reached, n_reached)
    reached[:n_reached].sort()
    return n_reached


def _row_product(x, y, values, columns, begin, end, diagonal, i):
    """``y_i = diagonal * x_i + sum_e values_e x_columns_e``, for all lanes."""
    own = slice(i * LANES, (i + 1) * LANES)
    total = diagonal * x[own]
    for entry in range(begin, end):
        column = columns[entry]
        total = total + values[entry] * x[column * LANES : (column + 1) * LANES]
    y[own] = total


def _add_moments(x, y, moments, i):
    """Add ``x_i y_i`` and ``y_i y_i`` to the moments, for all lanes."""
    own = slice(i * LANES, (i + 1) * LANES)
    moments[:LANES] += x[own] * y[own]
    moments[LANES:] += y[own] * y[own]


@overload(_row_product, inline="always")
def _compiled_row_product(x, y, values, columns, begin, end, diagonal, i):  # noqa: ARG001
    def implementation(x, y, values, columns, begin, end, diagonal, i):
        _vector_row_product(x, y, values, columns, begin, end, diagonal, i)

    return implementation


@overload(_add_moments, inline="always")
def _compiled_add_moments(x, y, moments, i):  # noqa: ARG001
    def implementation(x, y, moments, i):
        _vector_add_moments(x, y, moments, i)

    return implementation


_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_INT64 = ir.IntType(64)


def _pointer(context, builder, array_type, value):
    return context.make_array(array_type)(context, builder, value).data


def _address(builder, pointer, position):
    offset = builder.mul(position, ir.Constant(_INT64, LANES))
    return builder.bitcast(builder.gep(pointer, [offset]), _VECTOR.as_pointer())


def _broadcast(builder, scalar):
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, lanes)


def _multiply_add(builder, a, b, c):
    signature = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    name = f"llvm.fmuladd.v{LANES}f64"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), [a, b, c])


@intrinsic
def _vector_row_product(typing, x, y, values, columns, begin, end, diagonal, i):  # noqa: ARG001
    """Compile `_row_product` with the sum of all lanes kept in registers."""

    def generate(context, builder, signature, args):
        pointers = [
            _pointer(context, builder, *pair)
            for pair in zip(signature.args[:4], args[:4], strict=True)
        ]
        x, y, values, columns = pointers
        begin, end, diagonal, i = args[4:]
        total = cgutils.alloca_once(builder, _VECTOR)
        own = builder.load(_address(builder, x, i), align=8)
        builder.store(builder.fmul(_broadcast(builder, diagonal), own), total)
        one = ir.Constant(_INT64, 1)
        with cgutils.for_range_slice(builder, begin, end, one, intp=_INT64) as (entry, _):
            value = builder.load(builder.gep(values, [entry]))
            column = builder.sext(builder.load(builder.gep(columns, [entry])), _INT64)
            other = builder.load(_address(builder, x, column), align=8)
            product = _multiply_add(builder, _broadcast(builder, value), other, builder.load(total))
            builder.store(product, total)
        builder.store(builder.load(total), _address(builder, y, i), align=8)
        return context.get_dummy_value()

    return types.void(x, y, values, columns, begin, end, diagonal, i), generate


@intrinsic
def _vector_add_moments(typing, x, y, moments, i):  # noqa: ARG001
    """Compile `_add_moments`."""

    def generate(context, builder, signature, args):
        pairs = zip(signature.args[:3], args[:3], strict=True)
        x, y, moments = (_pointer(context, builder, *pair) for pair in pairs)
        before = builder.load(_address(builder, x, args[3]), align=8)
        after = builder.load(_address(builder, y, args[3]), align=8)
        for position, other in enumerate((before, after)):
            address = _address(builder, moments, ir.Constant(_INT64, position))
            total = builder.load(address, align=8)
            builder.store(_multiply_add(builder, other, after, total), address, align=8)
        return context.get_dummy_value()

    return types.void(x, y, moments, i), generate
