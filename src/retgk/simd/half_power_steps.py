"""Products of a sparse matrix with four to sixteen vectors that lie interleaved.

An entry of the matrix is loaded once and multiplies all lanes. All steps are done in one go: numba
counts references to arrays at every call, which takes longer than a product with the matrix of a
molecule.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from retgk.simd import plain
from retgk.simd.registers import Vector, arrays_of, call_out_of_line, chosen, element, integer, loop

__all__ = ["multiply_4", "multiply_8", "multiply_12", "multiply_16"]


_REGISTER = 4  # float64 in an AVX2 register; wider vectors were slower, on AVX-512 too


def _multiplier(lanes):
    """Make `plain.multiply` for vectors of so many lanes."""

    @intrinsic
    def multiply(typing, x, y, found, own, rows, diagonal, begin, end, columns, values, numbers):  # noqa: ARG001
        def generate(context, builder, signature, args):
            arrays = arrays_of(context, builder, signature, args, range(10))
            values = [array.data for array in arrays] + cgutils.unpack_tuple(builder, args[10])

            def write(inside, *values):
                _Steps(inside, lanes).write(values[:5], values[5:10], values[10:])

            call_out_of_line(builder, f"retgk.multiply_{lanes}", values, write)
            return context.get_dummy_value()

        arrays = (x, y, found, own, rows, diagonal, begin, end, columns, values)
        return types.void(*arrays, numbers), generate

    return chosen(multiply, plain.multiplier(lanes))


class _Steps:
    """The instructions of `multiply`; the lanes of a row are several registers."""

    def __init__(self, builder, lanes):
        self.builder, self.lanes = builder, lanes
        self.vector = Vector(builder, "float64", _REGISTER)

    def places(self, row):
        """Where the registers of a row begin."""
        first = self.builder.mul(row, integer(self.lanes))
        offsets = range(0, self.lanes, _REGISTER)
        return [self.builder.add(first, integer(offset)) for offset in offsets]

    def write(self, vectors, matrix, numbers):
        """Write the loop over steps, which exchanges x and y."""
        builder = self.builder
        x, y, found, own, rows = vectors
        n_own, n_rows, first, begin, end, n_products = numbers
        pointers = [cgutils.alloca_once_value(builder, pointer) for pointer in (x, y)]
        matrix = [builder.gep(part, [first]) for part in matrix[:3]] + list(matrix[3:])
        with loop(builder, begin, end) as (step, _):
            before, after = (builder.load(pointer) for pointer in pointers)
            doubled = builder.shl(step, integer(1))
            wanted = builder.icmp_signed(">", builder.add(doubled, integer(2)), n_products)
            moments = self.write_product((before, after, rows, n_rows), matrix, wanted)
            with builder.if_then(wanted):
                for m in range(2):
                    places = self.places(builder.add(doubled, integer(m)))
                    for place, total in zip(places, moments[m], strict=True):
                        self.vector.store(builder.load(total), found, place)
            target = self.places(step)[0]
            with loop(builder, integer(0), n_own) as (lane, _):
                value = element(builder, after, element(builder, own, lane))
                builder.store(value, builder.gep(found, [builder.add(target, lane)]))
            builder.store(after, pointers[0])
            builder.store(before, pointers[1])

    def write_product(self, vectors, matrix, wanted):
        """Write ``y = B x`` over some rows, and the sums of ``x y`` and ``y y`` where wanted."""
        builder, vector = self.builder, self.vector
        x, y, rows, n_rows = vectors
        n_registers = self.lanes // _REGISTER
        totals = [vector.variable() for _ in range(n_registers)]
        moments = [[vector.variable(vector.constant(0)) for _ in totals] for _ in range(2)]
        with loop(builder, integer(0), n_rows) as (number, _):
            i = element(builder, rows, number)
            self.write_row(x, i, matrix, totals)
            places = self.places(i)
            for place, total in zip(places, totals, strict=True):
                vector.store(builder.load(total), y, place)
            with builder.if_then(wanted):
                for place, total, odd, even in zip(places, totals, *moments, strict=True):
                    value = builder.load(total)
                    vector.add_product(vector.load(x, place), value, odd)
                    vector.add_product(value, value, even)
        return moments

    def write_row(self, x, i, matrix, totals):
        """Write ``diagonal_i x_i + sum_e values_e x_columns_e``."""
        builder, vector = self.builder, self.vector
        diagonal, row_begin, row_end, columns, values = matrix
        factor = vector.broadcast(element(builder, diagonal, i))
        for place, total in zip(self.places(i), totals, strict=True):
            builder.store(builder.fmul(factor, vector.load(x, place)), total)
        span = (element(builder, row_begin, i), element(builder, row_end, i))
        with loop(builder, *span) as (entry, _):
            column = builder.sext(element(builder, columns, entry), ir.IntType(64))
            factor = vector.broadcast(element(builder, values, entry))
            for place, total in zip(self.places(column), totals, strict=True):
                vector.add_product(factor, vector.load(x, place), total)


multiply_4, multiply_8, multiply_12, multiply_16 = map(_multiplier, (4, 8, 12, 16))
