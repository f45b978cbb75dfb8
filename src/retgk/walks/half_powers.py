"""Return probabilities of sparse graphs by half powers, for sixteen start nodes at a time.

B is symmetric, so with ``x_h = B^h e_i``

    B^h(i, i) = x_h(i),   B^(2h-1)(i, i) = <x_(h-1), x_h>,   B^2h(i, i) = <x_h, x_h>:

S steps need S/2 sparse products. The first half of the steps is read off the vectors
themselves; only the second half takes inner products. The vectors of up to sixteen start nodes
lie interleaved, so that one entry of B is loaded once and multiplies one to four AVX2 registers.
numba does not keep such sums in registers, and counts references to arrays at every call, which
takes longer than a product with the matrix of a molecule: hence the lines of LLVM below, which
do all steps at once. A lane never meets another: a result does not depend on which nodes share a
block.
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

_REGISTER = 4
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
    found = np.empty((probabilities.shape[1] + 1) * LANES)
    reached = np.empty(largest, np.int64)
    is_reached = np.zeros(largest, np.bool_)
    buffers = (x, y, found, reached, is_reached)
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
    x, y, found, reached, is_reached = buffers
    n, n_steps = len(matrix[0]), probabilities.shape[1]
    lanes = -(-len(rows) // _REGISTER) * _REGISTER
    diagonal = np.empty(len(rows), np.int64)
    n_reached = 0
    for lane in range(len(rows)):
        diagonal[lane] = rows[lane] * lanes + lane
        x[diagonal[lane]] = 1.0
        n_reached = _reach(rows[lane], reached, is_reached, n_reached)
    if n <= _SMALL:
        reached[:n] = np.arange(n)
        n_reached = n
    n_products = (n_steps + 1) // 2
    h = 0
    while h < n_products:
        n_reached = _grown(matrix, reached, is_reached, n_reached)
        # all products at once where nothing grows: a call costs as much as some rows
        end = n_products if n_reached == n else h + 1
        vectors = (x, y, found, diagonal, reached[:n_reached])
        _multiply(lanes, vectors, matrix, (h, end, n_products))
        if (end - h) % 2:
            x, y = y, x
        h = end
    for lane in range(len(targets)):
        own = probabilities[targets[lane]]
        for step in range(n_steps):
            own[step] = found[step * lanes + lane]
    for i in reached[:n_reached]:
        x[i * lanes : (i + 1) * lanes] = 0.0
        y[i * lanes : (i + 1) * lanes] = 0.0
        is_reached[i] = False


@njit(cache=True, nogil=True)
def _multiply(lanes, vectors, matrix, steps):
    """Multiply vectors by B some times, and write what their lanes find."""
    if lanes == 16:
        _multiply_16(vectors, matrix, steps)
    elif lanes == 12:
        _multiply_12(vectors, matrix, steps)
    elif lanes == 8:
        _multiply_8(vectors, matrix, steps)
    else:
        _multiply_4(vectors, matrix, steps)


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
    if n_reached == n:
        return n
    if 4 * n_reached > n:
        reached[:n] = np.arange(n)
        return n
    for position in range(n_before):
        i = reached[position]
        for entry in range(row_begin[i], row_end[i]):
            n_reached = _reach(columns[entry], reached, is_reached, n_reached)
    reached[:n_reached].sort()
    return n_reached


_VECTOR = ir.VectorType(ir.DoubleType(), _REGISTER)
_INT64 = ir.IntType(64)
_TWO = ir.Constant(_INT64, 2)


def _multiplier(lanes):
    """Make the products with B for vectors of so many lanes."""

    def multiply(vectors, matrix, steps):
        """
        For h from steps[0] + 1 to steps[1] set ``y = B x``, and exchange x and y.

        A lane writes x_h(i) to row h - 1 of `found`, after <x_(h-1), x_h> and <x_h, x_h>, in
        the second half of the steps, to the rows 2h - 2 and 2h - 1.
        """
        x, y, found, own, rows = vectors
        begin, end, n_products = steps
        for h in range(begin + 1, end + 1):
            moments = found[(2 * h - 2) * lanes : 2 * h * lanes]
            sums = np.zeros((2, lanes))
            for i in rows:
                before = x[i * lanes : (i + 1) * lanes]
                after = y[i * lanes : (i + 1) * lanes]
                _multiply_row(x, after, before, matrix, i)
                sums += after * (before, after)
            if 2 * h > n_products:
                moments[:] = sums.reshape(-1)
            found[(h - 1) * lanes : (h - 1) * lanes + len(own)] = y[own]
            x, y = y, x

    @intrinsic
    def vector_multiply(typing, vectors, matrix, steps):  # noqa: ARG001
        def generate(context, builder, signature, args):
            types_of, values = signature.args, [cgutils.unpack_tuple(builder, a) for a in args]
            arrays = [
                [context.make_array(t)(context, builder, v) for t, v in zip(*pair, strict=True)]
                for pair in zip(types_of[:2], values[:2], strict=True)
            ]
            _generate_steps(builder, lanes // _REGISTER, arrays[0], arrays[1], values[2])
            return context.get_dummy_value()

        return types.void(vectors, matrix, steps), generate

    @overload(multiply, inline="always")
    def compiled(vectors, matrix, steps):  # noqa: ARG001
        def implementation(vectors, matrix, steps):
            vector_multiply(vectors, matrix, steps)

        return implementation

    return multiply


def _multiply_row(x, after, before, matrix, i):
    """``y_i = diagonal_i x_i + sum_e values_e x_columns_e``, for all lanes."""
    diagonal, row_begin, row_end, columns, values = matrix
    after[:] = diagonal[i] * before
    for entry in range(row_begin[i], row_end[i]):
        first = columns[entry] * len(after)
        after += values[entry] * x[first : first + len(after)]


def _generate_steps(builder, n_registers, vectors, matrix, steps):
    """Write the loop over steps."""
    x, y, found, own, rows = vectors
    begin, end, n_products = steps
    pointers = [cgutils.alloca_once_value(builder, array.data) for array in (x, y)]
    zero, one = ir.Constant(_INT64, 0), ir.Constant(_INT64, 1)
    lanes = ir.Constant(_INT64, _REGISTER * n_registers)
    with cgutils.for_range_slice(builder, begin, end, one, intp=_INT64) as (step, _):
        before, after = (builder.load(pointer) for pointer in pointers)
        doubled = builder.shl(step, one)
        wanted = builder.icmp_signed(">", builder.add(doubled, _TWO), n_products)
        sums = _generate_product(builder, n_registers, (before, after, rows), matrix, wanted)
        with builder.if_then(wanted):
            first = builder.gep(found.data, [builder.mul(doubled, lanes)])
            for total, target in zip(
                sums, _registers(builder, first, zero, 2 * n_registers), strict=True
            ):
                builder.store(builder.load(total), target, align=8)
        first = builder.gep(found.data, [builder.mul(step, lanes)])
        with cgutils.for_range(builder, own.nitems, intp=_INT64) as lane:
            value = _load(builder, after, _load(builder, own.data, lane.index))
            builder.store(value, builder.gep(first, [lane.index]))
        builder.store(after, pointers[0])
        builder.store(before, pointers[1])


def _generate_product(builder, n_registers, vectors, matrix, with_moments):
    """Write the loop over rows; sums of all lanes and both moments stay in registers."""
    x, y, rows = vectors
    diagonal, row_begin, row_end, columns, values = (array.data for array in matrix)
    sums = [cgutils.alloca_once(builder, _VECTOR) for _ in range(2 * n_registers)]
    totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(n_registers)]
    zero, one = ir.Constant(_INT64, 0), ir.Constant(_INT64, 1)
    for total in sums:
        builder.store(ir.Constant(_VECTOR, None), total)
    with cgutils.for_range_slice(builder, zero, rows.nitems, one, intp=_INT64) as (position, _):
        i = _load(builder, rows.data, position)
        own = _registers(builder, x, i, n_registers)
        factor = _broadcast(builder, _load(builder, diagonal, i))
        for r, total in enumerate(totals):
            builder.store(builder.fmul(factor, builder.load(own[r], align=8)), total)
        begin, end = _load(builder, row_begin, i), _load(builder, row_end, i)
        with cgutils.for_range_slice(builder, begin, end, one, intp=_INT64) as (entry, _):
            factor = _broadcast(builder, _load(builder, values, entry))
            column = builder.sext(_load(builder, columns, entry), _INT64)
            for r, other in enumerate(_registers(builder, x, column, n_registers)):
                _add_product(builder, factor, builder.load(other, align=8), totals[r])
        for r, target in enumerate(_registers(builder, y, i, n_registers)):
            builder.store(builder.load(totals[r]), target, align=8)
        with builder.if_then(with_moments):
            for r in range(n_registers):
                total = builder.load(totals[r])
                _add_product(builder, builder.load(own[r], align=8), total, sums[r])
                _add_product(builder, total, total, sums[n_registers + r])
    return sums


def _load(builder, pointer, position):
    return builder.load(builder.gep(pointer, [position]))


def _registers(builder, pointer, row, n_registers):
    """Addresses of the registers of one row of a vector, or of the moments."""
    first = builder.mul(row, ir.Constant(_INT64, _REGISTER * n_registers))
    positions = [builder.add(first, ir.Constant(_INT64, _REGISTER * r)) for r in range(n_registers)]
    return [
        builder.bitcast(builder.gep(pointer, [position]), _VECTOR.as_pointer())
        for position in positions
    ]


def _broadcast(builder, scalar):
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), _REGISTER), [0] * _REGISTER)
    return builder.shuffle_vector(first, undefined, lanes)


def _add_product(builder, a, b, total):
    """``total += a b``, rounded once."""
    signature = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
    multiply_add = cgutils.get_or_insert_function(
        builder.module, signature, f"llvm.fmuladd.v{_REGISTER}f64"
    )
    builder.store(builder.call(multiply_add, [a, b, builder.load(total)]), total)


_multiply_4, _multiply_8, _multiply_12, _multiply_16 = map(_multiplier, (4, 8, 12, 16))
