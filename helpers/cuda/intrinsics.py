"""What the ladder's CUDA kernels call: Numba knows no such instructions, so each is made here of LLVM's or of PTX.

`load4` and `store4`: four float32 with one instruction of 16 bytes. Element (row, col) must lie on a multiple of 16
bytes: col a multiple of 4, and rows as long as a multiple of 4. A shared array must begin there, too:
`cuda.shared.array(shape, float32, alignment=16)`. Without that it begins on a multiple of 4 bytes, and behind an array
of odd size on no multiple of 16.

`word_tf32` and its like make words of 32 bits for a GPU's matrix units; `mma_tf32` and its like multiply fragments of
tiles. A word holds one TF32 number, or two numbers of 16 bits that follow each other along K, the first in the lower
half. Each has been rounded to the nearest. In a product each of a warp's 32 threads, its lanes, brings some words of
two tiles, and gets some sums. Lane n stands in group n // 4, at place n % 4:

    register r of A   row group + 8 * (r % 2), word place + 4 * (r // 2)
    register r of B   column group, word place + 4 * r
    register r of C   row group + 8 * (r // 2), column 2 * place + r % 2

Source: NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k4, m16n8k8, m16n8k16", and `cvt`. GPUs have these from compute
capability 8.0 on.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.cuda.extending import intrinsic

WORD, FLOAT = ir.IntType(32), ir.FloatType()
FOUR, VECTOR = types.UniTuple(types.float32, 4), ir.VectorType(FLOAT, 4)
PLACES = [ir.Constant(WORD, n) for n in range(4)]  # in a vector


def vector_pointer(context, builder, signature, arguments):
    """Where element (row, col) of the array lies, as a pointer to a vector of four."""
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    index = [
        context.cast(builder, value, given, types.intp)
        for value, given in zip(arguments[1:3], signature.args[1:3], strict=True)
    ]
    element = cgutils.get_item_pointer(context, builder, kind, array, index, wraparound=False)
    return builder.bitcast(element, VECTOR.as_pointer())


@intrinsic
def load4(typing_context, array, row, col):
    """array[row, col : col + 4] as a tuple of four float32."""

    def generate(context, builder, signature, arguments):
        vector = builder.load(vector_pointer(context, builder, signature, arguments))
        vector.align = 16
        return context.make_tuple(builder, FOUR, [builder.extract_element(vector, place) for place in PLACES])

    return FOUR(array, row, col), generate


@intrinsic
def store4(typing_context, array, row, col, four):
    """array[row, col : col + 4] = four, a tuple of float32."""

    def generate(context, builder, signature, arguments):
        vector = ir.Constant(VECTOR, ir.Undefined)
        for n, place in enumerate(PLACES):
            vector = builder.insert_element(vector, builder.extract_value(arguments[3], n), place)
        builder.store(vector, vector_pointer(context, builder, signature, arguments)).align = 16
        return context.get_dummy_value()

    return types.void(array, row, col, FOUR), generate


def register(context, builder, signature, arguments, which, n):
    """Where element n of that argument, an array of one dimension, lies: a pointer."""
    kind = signature.args[which]
    array = context.make_array(kind)(context, builder, arguments[which])
    return cgutils.get_item_pointer(context, builder, kind, array, [context.get_constant(types.intp, n)])


def converted(instruction, count):
    """How to make a word of the first `count` numbers of an array of float32: the later ones come first."""

    def generate(context, builder, signature, arguments):
        given = [builder.load(register(context, builder, signature, arguments, 0, n)) for n in range(count)]
        made = ir.FunctionType(WORD, [FLOAT] * count)
        text = f"{instruction} {', '.join(f'${n}' for n in range(count + 1))};"
        return builder.call(ir.InlineAsm(made, text, "=r" + ",f" * count), given[::-1])

    return generate


def multiplied(shape):
    """How to add to a fragment of C, 4 float32, the product of fragments of A, 4 words, and of B, 2 words."""
    text = f"mma.sync.aligned.{shape} {{$0, $1, $2, $3}}, {{$4, $5, $6, $7}}, {{$8, $9}}, {{$10, $11, $12, $13}};"
    made = ir.FunctionType(ir.LiteralStructType([FLOAT] * 4), [WORD] * 6 + [FLOAT] * 4)

    def generate(context, builder, signature, arguments):
        places = [
            register(context, builder, signature, arguments, which, n)
            for which, many in enumerate((4, 2, 4))
            for n in range(many)
        ]
        asm = ir.InlineAsm(made, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", side_effect=True)
        # Convergent: all lanes come to it, so the compiler may not move it into a branch.
        sums = builder.call(asm, [builder.load(place) for place in places], attrs=("convergent",))
        for n, place in enumerate(places[6:]):
            builder.store(builder.extract_value(sums, n), place)
        return context.get_dummy_value()

    return generate


@intrinsic
def word_tf32(typing_context, numbers):
    """A word of numbers[0]; numbers: float32."""
    return types.uint32(numbers), converted("cvt.rna.tf32.f32", 1)


@intrinsic
def word_float16(typing_context, numbers):
    """A word of numbers[0] and numbers[1]; numbers: float32."""
    return types.uint32(numbers), converted("cvt.rn.f16x2.f32", 2)


@intrinsic
def word_bfloat16(typing_context, numbers):
    """A word of numbers[0] and numbers[1]; numbers: float32."""
    return types.uint32(numbers), converted("cvt.rn.bf16x2.f32", 2)


@intrinsic
def mma_tf32(typing_context, a, b, c):
    """c += a @ b by all lanes of a warp: 16 x 8 numbers times 8 x 8; a, b: words, c: float32."""
    return types.void(a, b, c), multiplied("m16n8k8.row.col.f32.tf32.tf32.f32")


@intrinsic
def mma_float16(typing_context, a, b, c):
    """c += a @ b by all lanes of a warp: 16 x 16 numbers times 16 x 8; a, b: words, c: float32."""
    return types.void(a, b, c), multiplied("m16n8k16.row.col.f32.f16.f16.f32")


@intrinsic
def mma_bfloat16(typing_context, a, b, c):
    """c += a @ b by all lanes of a warp: 16 x 16 numbers times 16 x 8; a, b: words, c: float32."""
    return types.void(a, b, c), multiplied("m16n8k16.row.col.f32.bf16.bf16.f32")
