"""What the ladder's CUDA kernels call: Numba knows no such instructions, so each is made here of LLVM's or of PTX.

`load4` and `store4`: four float32 with one instruction of 16 bytes. Element (row, col) must lie on a multiple of 16
bytes: col a multiple of 4, and rows as long as a multiple of 4. A shared array must begin there, too:
`cuda.shared.array(shape, float32, alignment=16)`.

`copy_async` asks for one float32 of global memory to be stored in shared memory, and goes on: it takes no register.
After `await_copies` what this thread has asked for is there; what others have asked for needs a barrier, too.

`word_tf32` and its like make words of 32 bits for a GPU's matrix units; `mma_tf32` and its like multiply fragments of
tiles. A word holds one TF32 number, or two numbers of 16 bits, the first in the lower half: of any two places along K,
if only A and B have the same there. Each has been rounded to the nearest. In a product each of a warp's 32 threads, its
lanes, brings some words of two tiles, and gets some sums. Lane n stands in group n // 4, at place n % 4:

    register r of A   row group + 8 * (r % 2), word place + 4 * (r // 2)
    register r of B   column group, word place + 4 * r
    register r of C   row group + 8 * (r // 2), column 2 * place + r % 2

Source: NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k4, m16n8k8, m16n8k16", `cvt` and `cp.async`. GPUs have these
from compute capability 8.0 on.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.cuda.extending import intrinsic

WORD, FLOAT = ir.IntType(32), ir.FloatType()
FOUR, VECTOR = types.UniTuple(types.float32, 4), ir.VectorType(FLOAT, 4)
PLACES = [ir.Constant(ir.IntType(64), n) for n in range(4)]  # in a vector, or an array
OPERANDS = [(which, place) for which, many in enumerate((4, 2, 4)) for place in PLACES[:many]]  # of a product


def element(context, builder, signature, arguments, which, *index):
    """Where an element of an argument, an array, lies: at that index, or at the row and column that come after it."""
    kind, after = signature.args[which], (which + 1, which + 2)
    array = context.make_array(kind)(context, builder, arguments[which])
    index = index or [context.cast(builder, arguments[n], signature.args[n], types.intp) for n in after]
    return cgutils.get_item_pointer(context, builder, kind, array, index, wraparound=False)


@intrinsic
def load4(typing_context, array, row, col):
    """array[row, col : col + 4] as a tuple of four float32."""

    def generate(context, builder, signature, arguments):
        vector = builder.load(builder.bitcast(element(context, builder, signature, arguments, 0), VECTOR.as_pointer()))
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
        there = builder.bitcast(element(context, builder, signature, arguments, 0), VECTOR.as_pointer())
        builder.store(vector, there).align = 16
        return context.get_dummy_value()

    return types.void(array, row, col, FOUR), generate


@intrinsic
def copy_async(typing_context, tile, r, c, X, row, col, inside):
    """tile[r, c] = X[row, col] if inside else 0, some time before `await_copies`: of global memory into shared memory."""

    def generate(context, builder, signature, arguments):
        ends = [element(context, builder, signature, arguments, which) for which in (0, 3)]
        ends = [builder.addrspacecast(end, FLOAT.as_pointer(space)) for end, space in zip(ends, (3, 1), strict=True)]
        made = ir.FunctionType(ir.VoidType(), [end.type for end in ends] + [WORD])
        asm = ir.InlineAsm(made, "cp.async.ca.shared.global [$0], [$1], 4, $2;", "r,l,r,~{memory}", side_effect=True)
        size = builder.select(arguments[6], ir.Constant(WORD, 4), ir.Constant(WORD, 0))  # of bytes; the others are zeros
        builder.call(asm, [*ends, size])
        return context.get_dummy_value()

    return types.void(tile, r, c, X, row, col, types.boolean), generate


@intrinsic
def await_copies(typing_context):
    """Wait until all that this thread asked for with `copy_async` stands in shared memory."""

    def generate(context, builder, signature, arguments):
        made = ir.FunctionType(ir.VoidType(), [])
        builder.call(ir.InlineAsm(made, "cp.async.wait_all;", "~{memory}", side_effect=True), [])
        return context.get_dummy_value()

    return types.void(), generate


def named(name, typed):
    """The intrinsic of that name: in a child, a kernel finds it by this."""
    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


def word(name, instruction, count):
    """The intrinsic numbers -> a word of the first `count` numbers of an array of float32: the later ones come first."""
    made, text = ir.FunctionType(WORD, [FLOAT] * count), f"{instruction} {', '.join(f'${n}' for n in range(count + 1))};"

    def generate(context, builder, signature, arguments):
        given = [builder.load(element(context, builder, signature, arguments, 0, n)) for n in PLACES[:count]]
        return builder.call(ir.InlineAsm(made, text, "=r" + ",f" * count), given[::-1])

    return named(name, lambda typing_context, numbers: (types.uint32(numbers), generate))


def mma(name, shape):
    """The intrinsic c += a @ b by all lanes of a warp: a, b: 4 and 2 words of fragments of A and B, c: 4 float32 of C."""
    text = f"mma.sync.aligned.{shape} {{$0, $1, $2, $3}}, {{$4, $5, $6, $7}}, {{$8, $9}}, {{$10, $11, $12, $13}};"
    made = ir.FunctionType(ir.LiteralStructType([FLOAT] * 4), [WORD] * 6 + [FLOAT] * 4)

    def generate(context, builder, signature, arguments):
        places = [element(context, builder, signature, arguments, *one) for one in OPERANDS]
        asm = ir.InlineAsm(made, text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", side_effect=True)
        # Convergent: all lanes come to it, so the compiler may not move it into a branch.
        sums = builder.call(asm, [builder.load(place) for place in places], attrs=("convergent",))
        for n, place in enumerate(places[6:]):
            builder.store(builder.extract_value(sums, n), place)
        return context.get_dummy_value()

    return named(name, lambda typing_context, a, b, c: (types.void(a, b, c), generate))


word_tf32 = word("word_tf32", "cvt.rna.tf32.f32", 1)
word_float16 = word("word_float16", "cvt.rn.f16x2.f32", 2)
word_bfloat16 = word("word_bfloat16", "cvt.rn.bf16x2.f32", 2)
mma_tf32 = mma("mma_tf32", "m16n8k8.row.col.f32.tf32.tf32.f32")
mma_float16 = mma("mma_float16", "m16n8k16.row.col.f32.f16.f16.f32")
mma_bfloat16 = mma("mma_bfloat16", "m16n8k16.row.col.f32.bf16.bf16.f32")
