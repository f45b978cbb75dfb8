"""The one product that all embeddings are made of, for four rows and a panel of columns.

A panel has as many columns as fill two AVX2 registers: eight float64 or sixteen float32. A value
is summed over k in order, so it does not depend on its neighbours in the tile, on blocks, or on
threads, as it may in BLAS. It runs at the speed of a good BLAS.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from retgk.simd import plain
from retgk.simd.registers import Vector, arrays_of, chosen, element, integer, loop

__all__ = ["PANEL_BYTES", "ROWS", "panels", "write_product"]

ROWS = plain.ROWS
PANEL_BYTES = plain.PANEL_BYTES


def panels(matrix: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Cut the columns of a matrix into panels, padded by zeros: (n_panels, n_rows, width)."""
    n_rows, n_columns = matrix.shape
    width = PANEL_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((n_rows, -(-n_columns // width) * width), dtype)
    padded[:, :n_columns] = matrix
    return np.ascontiguousarray(padded.reshape(n_rows, -1, width).transpose(1, 0, 2))


@intrinsic
def _write_product(typing, a, row_stride, step, b, n, out, out_stride):  # noqa: ARG001
    """See `plain.write_product`: one row of the panel is loaded, and used for each row of a."""

    def generate(context, builder, signature, args):
        a, b, out = (
            array.data for array in arrays_of(context, builder, signature, args, (0, 3, 5))
        )
        row_stride, step, n, out_stride = args[1], args[2], args[4], args[6]
        name = signature.args[0].dtype.name
        vector = Vector(builder, name, PANEL_BYTES // np.dtype(name).itemsize)
        sums = [vector.variable(vector.constant(0)) for _ in range(ROWS)]
        with loop(builder, integer(0), n) as (k, _):
            row = vector.load(b, vector.position(k))
            position = builder.mul(k, step)
            for total in sums:
                value = vector.broadcast(element(builder, a, position))
                vector.add_product(value, row, total)
                position = builder.add(position, row_stride)
        for j, total in enumerate(sums):
            vector.store(builder.load(total), out, builder.mul(out_stride, integer(j)))
        return context.get_dummy_value()

    whole = types.int64
    return types.void(a, whole, whole, b, whole, out, whole), generate


write_product = chosen(_write_product, plain.write_product)
