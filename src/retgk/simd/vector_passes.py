"""
What tiles of kernel values are made of.

A tile has 144 columns (points) and as many rows as two AVX2 registers hold, its lanes. It is made
in passes, each bound by another part of the processor: squared distances (the sums of six columns
fill all registers), then roots and powers of two, then sums over graphs.

Squared distances are sums of squared differences, not ``|x|^2 + |y|^2 - 2 <x, y>``, for any
number of coordinates: subtractions go to other units of the processor than multiply-adds, so that
a matrix product gained nothing when tried for 780 coordinates (44 million kernel values a second
either way; sgemm alone makes 58 million inner products), and it would cancel for near points.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from retgk.simd import plain
from retgk.simd.plain import COEFFICIENTS, GROUP, LANES, LARGEST, RUN
from retgk.simd.registers import Vector, arrays_of, call_out_of_line, chosen, element, integer, loop

__all__ = ["GROUP", "LANES", "RUN", "add_distances", "add_dots", "add_run", "finish"]


def _vector(builder, array_type):
    """Vectors as tiles of this type have them."""
    name = array_type.dtype.name
    return Vector(builder, name, LANES[name])


def _two_ways(builder, flag):
    """Write what follows twice, for a flag that is set and for one that is not."""
    for value in (False, True):
        with builder.if_then(flag if value else builder.not_(flag)):
            yield value


@intrinsic
def _add_distances(
    typing,  # noqa: ARG001
    rows,
    r,  # noqa: ARG001
    columns,
    group,  # noqa: ARG001
    n_groups,  # noqa: ARG001
    start,  # noqa: ARG001
    stop,  # noqa: ARG001
    is_absolute,  # noqa: ARG001
    is_first,  # noqa: ARG001
    tile,
):
    """See `plain.add_distances`: the sums of a group of columns stay in registers."""

    def generate(context, builder, signature, args):
        arrays = arrays_of(context, builder, signature, args, (0, 2, 9))
        dimension = builder.extract_value(arrays[0].shape, 1)
        values = [*(array.data for array in arrays), dimension, args[1], *args[3:9]]

        def write(inside, *values):
            _write_distances(_vector(inside, signature.args[0]), *values)

        call_out_of_line(builder, "retgk.add_distances", values, write)
        return context.get_dummy_value()

    whole, flag = types.int64, types.boolean
    numbers = (whole, whole, whole, whole, flag, flag)
    return types.void(rows, whole, columns, *numbers, tile), generate


def _write_distances(
    vector, rows, columns, tile, dimension, r, group, n_groups, start, stop, is_absolute, is_first
):
    """Write the loops over groups and coordinates, for squares and for absolute values."""
    builder = vector.builder
    row = builder.mul(r, dimension)
    totals = [vector.variable() for _ in range(GROUP)]
    for absolute in _two_ways(builder, is_absolute):
        with loop(builder, integer(0), n_groups) as (g, _):
            first = builder.mul(g, integer(GROUP))
            places = [vector.position(builder.add(first, integer(c))) for c in range(GROUP)]
            for total, place in zip(totals, places, strict=True):
                old = vector.load(tile, place)
                builder.store(builder.select(is_first, vector.constant(0), old), total)
            base = builder.mul(builder.add(group, g), dimension)
            with loop(builder, start, stop) as (k, _):
                x = vector.load(rows, vector.position(builder.add(row, k)))
                column = builder.mul(builder.add(base, k), integer(GROUP))
                for c, total in enumerate(totals):
                    y = element(builder, columns, builder.add(column, integer(c)))
                    _add_distance(vector, builder.fsub(x, vector.broadcast(y)), absolute, total)
            for total, place in zip(totals, places, strict=True):
                vector.store(builder.load(total), tile, place)


def _add_distance(vector, difference, absolute, total):
    builder = vector.builder
    if absolute:
        size = vector.call("fabs", difference)
        builder.store(builder.fadd(builder.load(total), size), total)
    else:
        vector.add_product(difference, difference, total)


@intrinsic
def _finish(typing, squares, is_root, is_first, is_last, tile, n_vectors):  # noqa: ARG001
    """See `plain.finisher`."""

    def generate(context, builder, signature, args):
        arrays = arrays_of(context, builder, signature, args, (0, 4))
        values = [*(array.data for array in arrays), *args[1:4], args[5]]

        def write(inside, *values):
            _write_finish(_vector(inside, signature.args[0]), *values)

        call_out_of_line(builder, "retgk.finish", values, write)
        return context.get_dummy_value()

    flag = types.boolean
    return types.void(squares, flag, flag, flag, tile, types.int64), generate


def _write_finish(vector, squares, tile, is_root, is_first, is_last, n_vectors):
    """Write the loop over vectors, with and without roots and powers."""
    builder = vector.builder
    for root in _two_ways(builder, is_root):
        for last in _two_ways(builder, is_last):
            with loop(builder, integer(0), n_vectors) as (number, _):
                place = vector.position(number)
                t = vector.load(squares, place)
                t = vector.call("sqrt", t) if root else t
                total = builder.fadd(vector.load(tile, place), t)
                t = builder.select(is_first, t, total)
                vector.store(_power_of_half(vector, t) if last else t, tile, place)


def _power_of_half(vector, t):
    """
    ``2^-t``, a polynomial in f = n - t times 2^-n.

    Adding 1.5 * 2^23 to a float32 (2^52: float64) leaves n in its low bits, from where a shift
    moves it to the exponent.
    """
    builder, bits = vector.builder, np.finfo(vector.name).nmant
    largest = vector.constant(LARGEST[vector.name])
    t = builder.select(builder.fcmp_ordered("<", t, largest), t, largest)
    magic = vector.constant(1.5 * 2.0**bits)
    shifted = builder.fsub(magic, t)
    f = builder.fsub(builder.fsub(magic, shifted), t)
    value = vector.constant(COEFFICIENTS[vector.name][-1])
    for coefficient in COEFFICIENTS[vector.name][-2::-1]:
        value = vector.call("fmuladd", value, f, vector.constant(coefficient))
    shift = ir.Constant(vector.integers, [bits] * vector.lanes)
    exponent = builder.shl(builder.bitcast(shifted, vector.integers), shift)
    total = builder.add(builder.bitcast(value, vector.integers), exponent)
    return builder.bitcast(total, vector.type)


@intrinsic
def _add_run(typing, tile, positions, weights, s, scale, sums, target):  # noqa: ARG001
    """See `plain.add_run`."""

    def generate(context, builder, signature, args):
        s, scale, target = args[3], args[4], args[6]
        arrays = arrays_of(context, builder, signature, args, (0, 1, 2, 5))
        tile, positions, weights, sums = (array.data for array in arrays)
        vector = _vector(builder, signature.args[0])
        total = vector.constant(0)
        for e in range(RUN):
            entry = builder.add(builder.mul(s, integer(RUN)), integer(e))
            weight = vector.broadcast(element(builder, weights, entry))
            place = vector.position(element(builder, positions, entry))
            total = vector.call("fmuladd", weight, vector.load(tile, place), total)
        total = builder.fmul(total, vector.broadcast(scale))
        wide = vector.widen()
        total = total if vector.name == wide.name else builder.fpext(total, wide.type)
        place = wide.position(target)
        wide.store(builder.fadd(wide.load(sums, place), total), sums, place)
        return context.get_dummy_value()

    return types.void(tile, positions, weights, types.int64, scale, sums, types.int64), generate


@intrinsic
def _add_dots(typing, tile, sums, r, lowest, weights, s, products, target):  # noqa: ARG001
    """See `plain.add_dots`; the tile is there for the number of lanes."""

    def generate(context, builder, signature, args):
        r, lowest, s, target = args[2], args[3], args[5], args[7]
        arrays = arrays_of(context, builder, signature, args, (1, 4, 6))
        sums, weights, products = (array.data for array in arrays)
        vector = _vector(builder, signature.args[0]).widen()
        n_graphs = builder.extract_value(arrays[2].shape, 1)
        weight = vector.load(weights, vector.position(s))
        with loop(builder, lowest, n_graphs) as (g, _):
            place = builder.add(builder.mul(r, n_graphs), g)
            value = vector.load(sums, vector.position(place))
            dot = vector.sum(builder.fmul(weight, value))
            place = builder.gep(products, [builder.add(builder.mul(target, n_graphs), g)])
            builder.store(builder.fadd(builder.load(place), dot), place)
        return context.get_dummy_value()

    whole = types.int64
    return types.void(tile, sums, whole, whole, weights, whole, products, whole), generate


add_distances = chosen(_add_distances, plain.add_distances)
finish = chosen(_finish, plain.finish)
add_run = chosen(_add_run, plain.add_run)
add_dots = chosen(_add_dots, plain.add_dots)
