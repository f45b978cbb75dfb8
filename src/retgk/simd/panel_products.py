"""The one product that all embeddings are made of, for four rows and a panel of columns.

``out_jc = sum_k a_jk b_kc`` for four rows j and as many columns c as fill two AVX2 registers:
eight float64 or sixteen float32. A value is summed over k in order, so it does not depend on
its neighbours in the tile, on blocks, or on threads, as it may in BLAS. numba does not keep the
sums in registers, hence the few lines of LLVM; they run at the speed of a good BLAS.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

__all__ = ["PANEL_BYTES", "ROWS", "panels", "write_product"]

ROWS = 4
PANEL_BYTES = 64

_INT64 = ir.IntType(64)


def panels(matrix: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """
    Cut the columns of a matrix into panels, padded by zeros.

    Parameters
    ----------
    matrix : ndarray, shape (n_rows, n_columns)
        What to cut.
    dtype : dtype
        float64 or float32.

    Returns
    -------
    ndarray, shape (n_panels, n_rows, panel width)
        The panels, each contiguous.
    """
    n_rows, n_columns = matrix.shape
    width = PANEL_BYTES // np.dtype(dtype).itemsize
    padded = np.zeros((n_rows, -(-n_columns // width) * width), dtype)
    padded[:, :n_columns] = matrix
    return np.ascontiguousarray(padded.reshape(n_rows, -1, width).transpose(1, 0, 2))


def write_product(a, row_stride, step, b, n, out, out_stride):
    """``out[j out_stride + c] = sum_k a[j row_stride + k step] b[k width + c]``, k < n."""
    width = PANEL_BYTES // a.itemsize
    for j in range(ROWS):
        total = np.zeros(width, a.dtype)
        for k in range(n):
            total += a[j * row_stride + k * step] * b[k * width : (k + 1) * width]
        out[j * out_stride : j * out_stride + width] = total


@overload(write_product, inline="always")
def _compiled_write_product(a, row_stride, step, b, n, out, out_stride):  # noqa: ARG001
    def implementation(a, row_stride, step, b, n, out, out_stride):
        _vector_write_product(a, row_stride, step, b, n, out, out_stride)

    return implementation


@intrinsic
def _vector_write_product(typing, a, row_stride, step, b, n, out, out_stride):  # noqa: ARG001
    """Compile `write_product` with the sums kept in registers."""

    def generate(context, builder, signature, args):
        a, b, out = (
            context.make_array(signature.args[i])(context, builder, args[i]).data for i in (0, 3, 5)
        )
        size = 8 if isinstance(a.type.pointee, ir.DoubleType) else 4
        vector = ir.VectorType(a.type.pointee, PANEL_BYTES // size)
        sums = _generate_sums(builder, vector, (a, args[1], args[2]), (b, args[4]))
        for j, total in enumerate(sums):
            position = builder.mul(args[6], ir.Constant(_INT64, j))
            builder.store(builder.load(total), _row(builder, vector, out, position), align=size)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(a, integer, integer, b, integer, out, integer), generate


def _generate_sums(builder, vector, left, right):
    """Write the loop over k: one row of the panel is loaded, and multiplied for each row of a."""
    a, row_stride, step = left
    b, n = right
    size = 8 if isinstance(vector.element, ir.DoubleType) else 4
    sums = [cgutils.alloca_once(builder, vector) for _ in range(ROWS)]
    for total in sums:
        builder.store(ir.Constant(vector, None), total)
    zero, one = ir.Constant(_INT64, 0), ir.Constant(_INT64, 1)
    with cgutils.for_range_slice(builder, zero, n, one, intp=_INT64) as (k, _):
        offset = builder.mul(k, ir.Constant(_INT64, vector.count))
        other = builder.load(_row(builder, vector, b, offset), align=size)
        position = builder.mul(k, step)
        for total in sums:
            value = _broadcast(builder, builder.load(builder.gep(a, [position])), vector)
            builder.store(_multiply_add(builder, value, other, builder.load(total)), total)
            position = builder.add(position, row_stride)
    return sums


def _row(builder, vector, pointer, position):
    return builder.bitcast(builder.gep(pointer, [position]), vector.as_pointer())


def _broadcast(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, lanes)


def _multiply_add(builder, a, b, c):
    signature = ir.FunctionType(a.type, [a.type] * 3)
    bits = 64 if isinstance(a.type.element, ir.DoubleType) else 32
    name = f"llvm.fmuladd.v{a.type.count}f{bits}"
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), [a, b, c])
