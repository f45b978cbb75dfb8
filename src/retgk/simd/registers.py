"""Words of LLVM that all vector code is written with."""

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import cgutils

__all__ = ["Vector", "arrays_of", "call_out_of_line", "chosen", "element", "integer", "loop"]

_INT64 = ir.IntType(64)
_INT32 = ir.IntType(32)


def chosen(compiled, plain):
    """Take the intrinsic, or its plain version where nothing is compiled."""
    return plain if config.DISABLE_JIT else compiled


def integer(value):
    """Write a number."""
    return ir.Constant(_INT64, value)


def loop(builder, start, stop):
    """Write a loop over ``start, .., stop - 1``; a context that gives the counter."""
    return cgutils.for_range_slice(builder, start, stop, integer(1), intp=_INT64)


def arrays_of(context, builder, signature, args, places):
    """Arrays among the arguments, with their `data` and `shape`."""
    return [context.make_array(signature.args[i])(context, builder, args[i]) for i in places]


def element(builder, pointer, position):
    """Load one number of an array."""
    return builder.load(builder.gep(pointer, [position]))


def call_out_of_line(builder, name, values, write):
    """
    Write a function of its own and call it with some values.

    LLVM then gives it all registers, whatever stands around the call, and optimises it once.
    """
    signature = ir.FunctionType(ir.VoidType(), [value.type for value in values])
    full = ".".join([name, *dict.fromkeys(str(value.type).strip("*") for value in values)])
    function = cgutils.get_or_insert_function(builder.module, signature, full)
    if function.is_declaration:
        function.linkage = "internal"
        function.attributes.add("noinline")
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        write(inside, *function.args)
        inside.ret_void()
    builder.call(function, values)


class Vector:
    """Operations on vectors of one type, added to the function that is being built."""

    def __init__(self, builder, name, lanes):
        self.builder, self.name, self.lanes = builder, name, lanes
        self.size = np.dtype(name).itemsize
        scalar = ir.FloatType() if name == "float32" else ir.DoubleType()
        self.type = ir.VectorType(scalar, lanes)
        self.integers = ir.VectorType(ir.IntType(8 * self.size), lanes)

    def widen(self):
        """As many lanes of float64."""
        return Vector(self.builder, "float64", self.lanes)

    def constant(self, value):
        """Write a number for all lanes."""
        return ir.Constant(self.type, [float(np.dtype(self.name).type(value))] * self.lanes)

    def variable(self, value=None):
        """Make room for a vector, in a register if LLVM finds one."""
        room = cgutils.alloca_once(self.builder, self.type)
        if value is not None:
            self.builder.store(value, room)
        return room

    def broadcast(self, value):
        """Copy a value to all lanes."""
        undefined = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(undefined, value, ir.Constant(_INT32, 0))
        lanes = ir.Constant(ir.VectorType(_INT32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, undefined, lanes)

    def position(self, number):
        """First element of vector `number` of an array."""
        return self.builder.mul(number, integer(self.lanes))

    def _address(self, pointer, position):
        pointer = self.builder.gep(pointer, [position])
        return self.builder.bitcast(pointer, self.type.as_pointer())

    def load(self, pointer, position):
        """Load the lanes from element `position` on."""
        return self.builder.load(self._address(pointer, position), align=self.size)

    def store(self, value, pointer, position):
        """Store the lanes from element `position` on."""
        self.builder.store(value, self._address(pointer, position), align=self.size)

    def call(self, name, *args):
        """One of LLVM's functions of vectors."""
        signature = ir.FunctionType(self.type, [self.type] * len(args))
        full = f"llvm.{name}.v{self.lanes}f{8 * self.size}"
        function = cgutils.get_or_insert_function(self.builder.module, signature, full)
        return self.builder.call(function, args)

    def add_product(self, a, b, variable):
        """``variable += a b``, rounded once."""
        total = self.call("fmuladd", a, b, self.builder.load(variable))
        self.builder.store(total, variable)

    def sum(self, vector):
        """All lanes added up, by halves."""
        lanes = self.lanes
        while lanes > 1:
            lanes //= 2
            halves = [range(lanes), range(lanes, 2 * lanes)]
            indices = [ir.Constant(ir.VectorType(_INT32, lanes), list(half)) for half in halves]
            parts = [self.builder.shuffle_vector(vector, vector, i) for i in indices]
            vector = self.builder.fadd(*parts)
        return self.builder.extract_element(vector, ir.Constant(_INT32, 0))
