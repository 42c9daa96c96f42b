"""`load4` and `store4`, for Numba's CUDA kernels: four float32 with one instruction of 16 bytes.

Element (row, col) must lie on a multiple of 16 bytes: col a multiple of 4, and rows as long as a multiple of 4. A
shared array must begin there, too: `cuda.shared.array(shape, float32, alignment=16)`. Without that it begins on a
multiple of 4 bytes, and behind an array of odd size on no multiple of 16.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.cuda.extending import intrinsic

FOUR = types.UniTuple(types.float32, 4)
LANES = [ir.Constant(ir.IntType(32), lane) for lane in range(4)]


def vector_pointer(context, builder, signature, arguments):
    """Where element (row, col) of the array lies, as a pointer to a vector of four."""
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    index = [
        context.cast(builder, value, given, types.intp)
        for value, given in zip(arguments[1:3], signature.args[1:3], strict=True)
    ]
    element = cgutils.get_item_pointer(context, builder, kind, array, index, wraparound=False)
    return builder.bitcast(element, ir.VectorType(ir.FloatType(), 4).as_pointer())


@intrinsic
def load4(typing_context, array, row, col):
    """array[row, col : col + 4] as a tuple of four float32."""

    def generate(context, builder, signature, arguments):
        vector = builder.load(vector_pointer(context, builder, signature, arguments))
        vector.align = 16
        return context.make_tuple(builder, FOUR, [builder.extract_element(vector, lane) for lane in LANES])

    return FOUR(array, row, col), generate


@intrinsic
def store4(typing_context, array, row, col, four):
    """array[row, col : col + 4] = four, a tuple of float32."""

    def generate(context, builder, signature, arguments):
        vector = ir.Constant(ir.VectorType(ir.FloatType(), 4), ir.Undefined)
        for n, lane in enumerate(LANES):
            vector = builder.insert_element(vector, builder.extract_value(arguments[3], n), lane)
        builder.store(vector, vector_pointer(context, builder, signature, arguments)).align = 16
        return context.get_dummy_value()

    return types.void(array, row, col, FOUR), generate
