"""
What tiles are made of: loops over vectors that the processor keeps in its registers.

A tile has 144 columns (points) and as many rows as two AVX2 registers hold, its lanes. It is made
in passes, each bound by another part of the processor: squared distances (the sums of six columns
fill all registers), then roots and powers of two, then sums over graphs. numba does not turn such
short loops into vector instructions, hence the lines of LLVM. The Python versions at the top say
what is computed, and are used where nothing is compiled.

A lane never meets another before the last pass, and every sum is taken in an order that depends
on the points alone. Multiply-adds may be fused: they round once instead of twice, so that every
bound on the rounding error stays valid.

Squared distances are sums of squared differences, not ``|x|^2 + |y|^2 - 2 <x, y>``, for any
number of coordinates: subtractions go to other units of the processor than multiply-adds, so that
a matrix product gained nothing when tried for 780 coordinates (44 million kernel values a second
either way; sgemm alone makes 58 million inner products), and it would cancel for near points.

numba's cache does not notice changes of this file: touch tiles.py, which it is compiled into.
"""

import math
from functools import reduce
from itertools import product

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

__all__ = ["GROUP", "LANES", "RUN", "add_distances", "add_dots", "add_run", "finish"]

LANES = {"float32": 16, "float64": 8}
GROUP = 6
RUN = 8  # products that are summed in the precision of the tile, and without a branch

_LARGEST = {"float32": 115.0, "float64": 1000.0}  # exponents are cut off there
_COEFFICIENTS = {
    # minimax polynomial of 2^f on [-1/2, 1/2] among those that are 1 at 0: 1.1e-7 off, rounded
    "float32": [
        1.0,
        0.6931470036506653,
        0.24022242426872253,
        0.05550733581185341,
        0.009671512991189957,
        0.001326472731307149,
    ],
    "float64": [math.log(2.0) ** k / math.factorial(k) for k in range(14)],
}


def add_distances(where, span, is_absolute, is_first, tile):
    """Add ``sum_k (x_k - y_k)^2``, or ``|x_k - y_k|``, to a tile, or to zero if it is the first."""
    rows, r, columns, group, n_groups = where
    for j in range(n_groups * GROUP):
        lanes = slice(j * rows.shape[2], (j + 1) * rows.shape[2])
        total = np.zeros_like(tile[lanes]) if is_first else tile[lanes].copy()
        for k in range(*span):
            difference = rows[r, k] - columns[group + j // GROUP, k, j % GROUP]
            total += np.abs(difference) if is_absolute else difference * difference
        tile[lanes] = total


def finish(squares, is_root, is_first, is_last, tile, n_vectors):
    """Add squares or their roots to a tile; if they are the last, give 2 to minus that power."""
    part = slice(n_vectors * LANES[squares.dtype.name])
    exponents = np.sqrt(squares[part]) if is_root else squares[part]
    exponents = exponents if is_first else tile[part] + exponents
    tile[part] = np.exp2(-exponents) if is_last else exponents


def add_run(tile, positions, weights, s, scale, sums, target):
    """``sums[target] += scale sum_e w_e tile[position_e]``, for all lanes."""
    lanes = sums.shape[2]
    vectors = tile.reshape(-1, lanes)[positions[s]]
    sums.reshape(-1, lanes)[target] += scale * (weights[s] @ vectors)


def add_dots(_, sums, place, weights, s, products, target):
    """``products[target, g] += <weights[s], sums[r, g]>`` for all graphs from the lowest on."""
    r, lowest = place
    products[target, lowest:] += sums[r, lowest:] @ weights[s]


class _Vector:
    """Operations on vectors of one type, added to the function that is being built."""

    def __init__(self, builder, name, lanes):
        self.builder, self.name, self.lanes = builder, name, lanes
        bits = 8 * np.dtype(name).itemsize
        scalar = ir.FloatType() if name == "float32" else ir.DoubleType()
        self.type = ir.VectorType(scalar, lanes)
        self.integers = ir.VectorType(ir.IntType(bits), lanes)

    @classmethod
    def like(cls, builder, array_type):
        """Vectors as tiles of this type have them."""
        name = array_type.dtype.name
        return cls(builder, name, LANES[name])

    def widened(self):
        """As many lanes of float64."""
        return _Vector(self.builder, "float64", self.lanes)

    def sum(self, vector):
        """All lanes added up, by halves."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            halves = [range(lanes), range(lanes, 2 * lanes)]
            indices = [
                ir.Constant(ir.VectorType(ir.IntType(32), lanes), list(half)) for half in halves
            ]
            parts = [self.builder.shuffle_vector(vector, vector, i) for i in indices]
            vector = self.builder.fadd(*parts)
        return self.builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))

    def constant(self, value):
        return ir.Constant(self.type, [float(np.dtype(self.name).type(value))] * self.lanes)

    def call(self, name, *args):
        signature = ir.FunctionType(self.type, [self.type] * len(args))
        full = f"llvm.{name}.v{self.lanes}f{self.integers.element.width}"
        function = cgutils.get_or_insert_function(self.builder.module, signature, full)
        return self.builder.call(function, args)

    def broadcast(self, value):
        undefined = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, undefined, lanes)

    def _address(self, pointer, position):
        """Where vector number `position` of an array lies."""
        element = self.builder.gep(pointer, [self.builder.mul(position, _int(self.lanes))])
        return self.builder.bitcast(element, self.type.as_pointer())

    def load(self, pointer, position):
        return self.builder.load(self._address(pointer, position), align=4)

    def store(self, value, pointer, position):
        self.builder.store(value, self._address(pointer, position), align=4)

    def power_of_half(self, t):
        """
        ``2^-t = 2^-n 2^f``, n the integer nearest to t.

        Adding 1.5 * 2^23 to a float32 (2^52: float64) leaves n in its low bits, from where a
        shift moves it to the exponent. t is cut off before the result is denormalised.
        """
        builder, bits = self.builder, np.finfo(self.name).nmant
        largest = self.constant(_LARGEST[self.name])
        t = builder.select(builder.fcmp_ordered("<", t, largest), t, largest)
        magic = self.constant(1.5 * 2.0**bits)
        shifted = builder.fsub(magic, t)
        f = builder.fsub(builder.fsub(magic, shifted), t)
        value = self.constant(_COEFFICIENTS[self.name][-1])
        for coefficient in _COEFFICIENTS[self.name][-2::-1]:
            value = self.call("fmuladd", value, f, self.constant(coefficient))
        shift = ir.Constant(self.integers, [bits] * self.lanes)
        exponent = builder.shl(builder.bitcast(shifted, self.integers), shift)
        total = builder.add(builder.bitcast(value, self.integers), exponent)
        return builder.bitcast(total, self.type)


def _int(value):
    return ir.Constant(ir.IntType(64), value)


def _loop(builder, start, stop):
    return cgutils.for_range_slice(builder, start, stop, _int(1), intp=ir.IntType(64))


def _array(context, builder, array_type, value):
    return context.make_array(array_type)(context, builder, value)


def _alternatives(builder, *flags):
    """Go through all values of some flags, each in a branch of its own."""
    for values in product((False, True), repeat=len(flags)):
        chosen = [
            builder.icmp_unsigned("==", flag, ir.Constant(flag.type, value))
            for flag, value in zip(flags, values, strict=True)
        ]
        with builder.if_then(reduce(builder.and_, chosen)):
            yield values


@intrinsic
def _vector_add_distances(typing, rows, r, columns, place, span, is_absolute, is_first, tile):  # noqa: ARG001
    """Compile `add_distances`: the sums of a group of columns stay in registers."""

    def generate(context, builder, signature, args):
        vector = _Vector.like(builder, signature.args[0])
        arrays = [_array(context, builder, signature.args[i], args[i]) for i in (0, 2, 7)]
        rows, columns, tile = (array.data for array in arrays)
        dimension = builder.extract_value(arrays[0].shape, 1)
        group, n_groups = cgutils.unpack_tuple(builder, args[3])
        start, stop = cgutils.unpack_tuple(builder, args[4])
        row = builder.mul(args[1], dimension)
        totals = [cgutils.alloca_once(builder, vector.type) for _ in range(GROUP)]

        def add_coordinate(k, column, absolute):
            x = vector.load(rows, builder.add(row, k))
            for c, total in enumerate(totals):
                element = builder.gep(columns, [builder.add(column, _int(c))])
                d = builder.fsub(x, vector.broadcast(builder.load(element)))
                old = builder.load(total)
                if absolute:
                    builder.store(builder.fadd(old, vector.call("fabs", d)), total)
                else:
                    builder.store(vector.call("fmuladd", d, d, old), total)

        for absolute, first in _alternatives(builder, *args[5:7]):
            with _loop(builder, _int(0), n_groups) as (g, _):
                positions = [
                    builder.add(builder.mul(g, _int(GROUP)), _int(c)) for c in range(GROUP)
                ]
                for total, position in zip(totals, positions, strict=True):
                    old = vector.constant(0) if first else vector.load(tile, position)
                    builder.store(old, total)
                base = builder.mul(builder.add(group, g), dimension)
                with _loop(builder, start, stop) as (k, _):
                    column = builder.mul(builder.add(base, k), _int(GROUP))
                    add_coordinate(k, column, absolute)
                for total, position in zip(totals, positions, strict=True):
                    vector.store(builder.load(total), tile, position)
        return context.get_dummy_value()

    return types.void(rows, r, columns, place, span, is_absolute, is_first, tile), generate


@intrinsic
def _vector_finish(typing, squares, is_root, is_first, is_last, tile, n_vectors):  # noqa: ARG001
    """Compile `finish`."""

    def generate(context, builder, signature, args):
        vector = _Vector.like(builder, signature.args[0])
        squares, tile = (_array(context, builder, signature.args[i], args[i]).data for i in (0, 4))
        for root, first, last in _alternatives(builder, *args[1:4]):
            with _loop(builder, _int(0), args[5]) as (place, _):
                t = vector.load(squares, place)
                t = vector.call("sqrt", t) if root else t
                t = t if first else builder.fadd(vector.load(tile, place), t)
                vector.store(vector.power_of_half(t) if last else t, tile, place)
        return context.get_dummy_value()

    return types.void(squares, is_root, is_first, is_last, tile, n_vectors), generate


@intrinsic
def _vector_add_run(typing, tile, positions, weights, s, scale, sums, target):  # noqa: ARG001
    """Compile `add_run`."""

    def generate(context, builder, signature, args):
        vector = _Vector.like(builder, signature.args[0])
        tile, positions, weights, sums = (
            _array(context, builder, signature.args[i], args[i]).data for i in (0, 1, 2, 5)
        )
        first = builder.mul(args[3], _int(RUN))
        total = vector.constant(0)
        for entry in (builder.add(first, _int(e)) for e in range(RUN)):
            weight = vector.broadcast(builder.load(builder.gep(weights, [entry])))
            value = vector.load(tile, builder.load(builder.gep(positions, [entry])))
            total = vector.call("fmuladd", weight, value, total)
        total = builder.fmul(total, vector.broadcast(args[4]))
        wide = vector.widened()
        total = total if vector.name == wide.name else builder.fpext(total, wide.type)
        wide.store(builder.fadd(wide.load(sums, args[6]), total), sums, args[6])
        return context.get_dummy_value()

    return types.void(tile, positions, weights, s, scale, sums, target), generate


@intrinsic
def _vector_add_dots(typing, tile, sums, place, weights, s, products, target):  # noqa: ARG001
    """Compile `add_dots`; the tile is there for the number of lanes."""

    def generate(context, builder, signature, args):
        vector = _Vector.like(builder, signature.args[0]).widened()
        arrays = [_array(context, builder, signature.args[i], args[i]) for i in (1, 3, 5)]
        sums, weights, products = (array.data for array in arrays)
        r, lowest = cgutils.unpack_tuple(builder, args[2])
        n_graphs = builder.extract_value(arrays[2].shape, 1)
        weight = vector.load(weights, args[4])
        with _loop(builder, lowest, n_graphs) as (g, _):
            value = vector.load(sums, builder.add(builder.mul(r, n_graphs), g))
            dot = vector.sum(builder.fmul(weight, value))
            place = builder.add(builder.mul(args[6], n_graphs), g)
            target = builder.gep(products, [place])
            builder.store(builder.fadd(builder.load(target), dot), target)
        return context.get_dummy_value()

    return types.void(tile, sums, place, weights, s, products, target), generate


@overload(add_distances, inline="always")
def _compiled_add_distances(where, span, is_absolute, is_first, tile):  # noqa: ARG001
    def implementation(where, span, is_absolute, is_first, tile):
        rows, r, columns, group, n_groups = where
        place = (group, n_groups)
        _vector_add_distances(rows, r, columns, place, span, is_absolute, is_first, tile)

    return implementation


@overload(finish, inline="always")
def _compiled_finish(squares, is_root, is_first, is_last, tile, n_vectors):  # noqa: ARG001
    def implementation(squares, is_root, is_first, is_last, tile, n_vectors):
        _vector_finish(squares, is_root, is_first, is_last, tile, n_vectors)

    return implementation


@overload(add_run, inline="always")
def _compiled_add_run(tile, positions, weights, s, scale, sums, target):  # noqa: ARG001
    def implementation(tile, positions, weights, s, scale, sums, target):
        _vector_add_run(tile, positions, weights, s, scale, sums, target)

    return implementation


@overload(add_dots, inline="always")
def _compiled_add_dots(tile, sums, place, weights, s, products, target):  # noqa: ARG001
    def implementation(tile, sums, place, weights, s, products, target):
        _vector_add_dots(tile, sums, place, weights, s, products, target)

    return implementation
