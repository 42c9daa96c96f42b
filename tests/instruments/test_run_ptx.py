"""The PTX machine: the ladder's compiled code is right on it, and code that was broken on purpose is found out."""

import importlib.util
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda

from helpers import cuda_kernel, devices, ladder
from helpers.instruments import compiler, ptx_arithmetic, ptx_memory, run_ptx
from helpers.instruments.ptx_machine import CompiledRun, Requests, run_text
from helpers.instruments.ptx_program import decoded
from helpers.instruments.ptx_reader import Instruction, read_ptx
from helpers.judge import wrong_elements
from helpers.judge.shapes import shapes_for
from helpers.launch import KernelError, draw
from helpers.launch.cuda import CUDA
from helpers.sandbox import SECONDS, Job, in_child

needs_compiler = pytest.mark.skipif(
    not devices.nvidia_tool("ptxas"), reason="NVIDIA's compiler is not installed: pip install -e '.[cuda13]'"
)
LINKER = bool(importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.core"))
needs_linker = pytest.mark.skipif(not LINKER, reason="nvJitLink is not installed: pip install -e '.[cuda13]'")
STEPS = ladder.steps("CUDA")
ODD = {name: ladder.STEPS[name].defaults["simulator"] for name in STEPS} | {
    "naive": dict(BM=3, BN=5),
    "coalesced": dict(BM=5, BN=3),
    "tiled": dict(TILE=5),
    "register_1d": dict(BM=6, BN=5, BK=3, TM=2),
    "register_2d": dict(BM=6, BN=10, BK=3, TM=2, TN=5),
    "vectorized": dict(BM=12, BN=8, BK=24, TM=4, TN=4),
    "prefetched": dict(BM=24, BN=8, BK=24, TM=4, TN=4, WM=8, WN=8),
}
TILES = {"GPU": {name: ladder.STEPS[name].defaults["GPU"] for name in STEPS}, "odd": ODD}
ARCHS = {"GPU": (80,), "odd": (80, 100, 120), "tiled": (75, 80, 90, 100)}  # that each is compiled for
IN_RANGE = (
    ("        k = 0\n        while k < A.shape[1]:", "        for k in range(A.shape[1]):"),
    ("            k += 1\n", ""),
)


def compiled(job: Job, jobs: dict) -> dict:
    """In the child: the PTX of each of the jobs."""
    return {name: compiled_one(job, *one) for name, one in jobs.items()}


def compiled_one(job, step, p, arch, how, edits):
    source = CUDA.source_of(step)
    for old, new in edits:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    with unoptimised() if how == "unoptimised" else nullcontext():
        return compiler.ptx(replace(job, kernel=source, parameters=p), divmod(arch, 10), lto=how == "linked")


@contextmanager
def unoptimised():
    """Within it, Numba's compiler leaves the code as it is."""
    optimising = cuda.compile_ptx
    cuda.compile_ptx = lambda *a, **b: optimising(*a, **b, opt=False)
    try:
        yield
    finally:
        cuda.compile_ptx = optimising


@pytest.fixture(scope="module")
def texts():
    """PTX of everything that is run here: {(step, tiles, architecture, how): text}. Compiled in two processes."""
    jobs = {}
    for name in STEPS:
        for arch in ARCHS["tiled" if name == "tiled" else "GPU"]:
            jobs[name, "GPU", arch, "direct"] = (name, TILES["GPU"][name], arch, "direct", ())
        for arch in ARCHS["odd"]:
            jobs[name, "odd", arch, "direct"] = (name, ODD[name], arch, "direct", ())
        if LINKER and name in ("naive", "tiled", "prefetched"):
            jobs[name, "GPU", 90, "linked"] = (name, TILES["GPU"][name], 90, "linked", ())
    jobs |= {
        (name, "odd", arch, "unoptimised"): (name, ODD[name], arch, "unoptimised", ())
        for name in ("naive", "tiled", "vectorized")
        for arch in (80, 100)[name == "vectorized" :]
    }
    jobs["naive", "GPU", 80, "in range"] = ("naive", TILES["GPU"]["naive"], 80, "direct", IN_RANGE)
    names = list(jobs)
    parts = [{name: jobs[name] for name in names[start::2]} for start in (0, 1)]  # the machine has two cores or more

    def outcome(part):
        return in_child(cuda_kernel("naive"), compiled, SECONDS, None, simulated=False, jobs=part)

    with ThreadPoolExecutor() as threads:
        outcomes = list(threads.map(outcome, parts))
    assert not any(one.findings for one in outcomes), outcomes
    return outcomes[0].value | outcomes[1].value


def renamed(text):
    """PTX without its head, and with names that do not depend on what was compiled before."""
    names = {}
    return re.sub(
        r"_ZN\w+|_cudapy_smem_\d+",
        lambda name: names.setdefault(name[0], f"name{len(names)}"),
        text.partition(".address_size")[2],
    )


def launched(text, name, p, shape, **more):
    """The run of that text, launched as the step is, and its operands."""
    step, (M, N, K) = ladder.STEPS[name], shape
    A, B = draw(M, N, K)
    return run_text(text, step.block(p), step.grid(p, M, N), A, B, name, **more), A, B


def assert_right(text, name, p, shape):
    """Every element within the bound, no finding, and as much traffic as the ladder's formula says."""
    run, A, B = launched(text, name, p, shape)
    step = ladder.STEPS[name]
    assert not run.findings, (shape, run)
    assert not wrong_elements(run.C, A, B).any(), (shape, run)
    assert run.global_loads == step.global_loads(p, *shape), shape
    assert run.global_stores == step.global_stores(p, *shape), shape
    assert (run.shared_loads, run.shared_stores) == step.shared_accesses(p, *shape), shape


def shapes(name, p):
    """`check`'s ragged shapes for these tiles, and one whose rows all begin on 16 bytes."""
    rows, columns, depth = ladder.STEPS[name].tile(p)
    return [*shapes_for(cuda_kernel_of(name, p)), (rows + 3, -(-columns // 4) * 4 + 4, -(-depth // 4) * 4 + 4)]


def cuda_kernel_of(name, p):
    class Geometry:
        step, parameters = name, p

    return Geometry


# ------------------------------------------------------------------------------- the ladder, compiled


@needs_compiler
@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("name", STEPS)
def test_compiled_steps_are_right_and_move_what_the_formula_says(texts, name, tiles):
    p = TILES[tiles][name]
    for arch in ARCHS[tiles]:
        for shape in shapes(name, p):
            assert_right(texts[name, tiles, arch, "direct"], name, p, shape)


@needs_compiler
def test_sm_75_80_and_90_get_the_same_code(texts):
    codes = {arch: renamed(texts["tiled", "GPU", arch, "direct"]) for arch in (75, 80, 90, 100)}
    assert codes[75] == codes[80] == codes[90] != codes[100]  # sm_100 goes through another compiler


@needs_compiler
@needs_linker
@pytest.mark.parametrize("name", ["naive", "tiled", "prefetched"])
def test_linked_code_is_right(texts, name):
    p = TILES["GPU"][name]
    for shape in shapes(name, p)[-3:]:
        assert_right(texts[name, "GPU", 90, "linked"], name, p, shape)


@needs_compiler
@pytest.mark.parametrize("name", ["naive", "tiled", "vectorized"])
def test_unoptimised_code_is_right(texts, name):  # calls, local memory, single bytes, addresses of any memory
    for arch in (80, 100) if name != "vectorized" else (100,):
        text = texts[name, "odd", arch, "unoptimised"]
        assert ".local" in text and ("call" in text) == (name == "vectorized")
        assert_right(text, name, ODD[name], (7, 12, 8))


EXECUTED = {
    "naive": 5.77,
    "coalesced": 5.77,
    "tiled": 5.05,
    "register_1d": 3.92,
    "register_2d": 1.61,
    "vectorized": 1.26,
    "prefetched": 1.30,
}


@needs_compiler
def test_executed_instructions_a_multiply_add(texts):
    for name, expected in EXECUTED.items():
        run, _, _ = launched(texts[name, "GPU", 80, "direct"], name, TILES["GPU"][name], (128, 128, 128))
        assert run.instructions_per_multiply_add == pytest.approx(expected, rel=0.01), name
        assert run.executed["FMA"] == 128**3 and run.instructions == sum(run.executed.values())
    run, _, _ = launched(texts["naive", "GPU", 80, "in range"], "naive", TILES["GPU"]["naive"], (128, 128, 128))
    assert run.instructions_per_multiply_add == pytest.approx(22.3, rel=0.01)


@needs_compiler
def test_sectors_and_bank_rounds_of_compiled_addresses(texts):
    naive, coalesced, tiled, vectorized = (
        launched(texts[name, "GPU", 80, "direct"], name, TILES["GPU"][name], (128, 128, 32))[0]
        for name in ("naive", "coalesced", "tiled", "vectorized")
    )
    warps = 128 * 128 // 32
    # A warp of naive reads 32 rows of A, and one element of B; of coalesced one element of A, and 4 sectors of B.
    assert naive.sectors == warps * (32 * (32 + 1) + 32) and coalesced.sectors == warps * (32 * (1 + 4) + 4)
    assert tiled.bank_conflicts == vectorized.bank_conflicts == 0
    odd, _, _ = launched(texts["naive", "odd", 80, "direct"], "naive", ODD["naive"], (6, 10, 4))
    assert odd.accesses[-1].instructions == 4  # a block of 15 threads is a warp of its own
    by_text = {access.text.split()[0]: access for access in vectorized.accesses}
    wide = by_text["ld.shared.v4.f32"]
    assert wide.pieces == 4 * wide.instructions  # a quarter of a warp at a time


@needs_compiler
@pytest.mark.parametrize("name", ["vectorized", "prefetched"])
def test_arrays_for_wide_accesses_begin_on_16_bytes(texts, name):
    aligned = {array.align for array in read_ptx(texts[name, "GPU", 80, "direct"]).shared}
    assert aligned == {16}


@needs_compiler
def test_run_ptx_compiles_and_runs_a_kernel_a_step_and_operands():
    A, B = draw(20, 24, 9)
    run = run_ptx(cuda_kernel("tiled", TILE=4), 20, 24, 9, "sm_90", A, B)
    assert run and not wrong_elements(run.C, A, B).any() and "no finding" in repr(run) and "sm_90" in repr(run)
    assert ".target sm_90" in run.ptx
    with pytest.raises(ValueError, match="no product"):
        run_ptx(cuda_kernel("tiled", TILE=4), 20, 24, 8, "sm_90", A, B)
    with pytest.raises(ValueError, match="no architecture"):
        run_ptx("tiled", 4, 4, 4, "A100")


@needs_compiler
@needs_linker
def test_run_ptx_takes_the_code_that_jit_takes():
    run = run_ptx("coalesced", 9, 40, 7, "sm_90", lto=True)
    assert run and ".target sm_90a" in run.ptx and "linked" in repr(run)


def test_run_ptx_refuses_opencl():
    k = cuda_kernel("naive")
    k.dialect = "OpenCL"  # as one would be; building one takes a while
    with pytest.raises(ValueError, match="OpenCL driver"):
        run_ptx(k, 4, 4, 4)


# ------------------------------------------------------------------------------- broken on purpose

TO_MULTIPLY, TO_STAGE = r"\tbar\.sync \t0;\n(?=\tld\.shared)", r"\tbar\.sync \t0;\n(?!\tld\.shared)"
STORED = r"\tst\.global\.f32 \t\[(%rd\d+)\], (%f\d+);"
SHARED_A = r"(st\.shared\.f32 \t\[%rd\d+)\](?=, %f\d+;\n(?:.*\n){1,12}\tst\.shared)"
BROKEN = {
    # what was done: (step, shape, [(pattern, what stands in its place)], kinds that must be found)
    "no barrier before multiplying": ("tiled", (20, 20, 40), [(TO_MULTIPLY, "")], {"race"}),
    "no barrier before staging again": ("tiled", (20, 20, 40), [(TO_STAGE, "")], {"race"}),
    "a barrier for some threads": (
        "tiled",
        (20, 20, 40),
        [
            (r"\.reg \.pred \t%p<", ".reg .b32 %mine;\n\t.reg .pred %odd;\n\t.reg .pred \t%p<"),
            (TO_STAGE, "\tmov.u32 %mine, %tid.x;\n\tsetp.ne.u32 %odd, %mine, 3;\n\t@%odd bar.sync 0;\n"),
        ],
        {"divergent barrier"},
    ),
    "a barrier at the end for one thread": (
        "tiled",
        (20, 20, 40),
        [
            (
                r"\.reg \.pred \t%p<",
                ".reg .b32 %mine;\n\t.reg .b32 %other;\n\t.reg .pred %odd;\n\t.reg .pred \t%p<",
            ),
            (
                r"\tret;\n",
                "\tmov.u32 %mine, %tid.x;\n\tmov.u32 %other, %tid.y;\n\tadd.u32 %mine, %mine, %other;\n"
                "\tsetp.eq.u32 %odd, %mine, 0;\n\t@%odd bar.sync 0;\n\tret;\n",
            ),
        ],
        {"divergent barrier"},
    ),
    "threads leave before a barrier": (
        "tiled",
        (20, 20, 40),
        [
            (r"\.reg \.pred \t%p<", ".reg .b32 %mine;\n\t.reg .pred %odd;\n\t.reg .pred \t%p<"),
            (TO_STAGE, "\tmov.u32 %mine, %tid.x;\n\tsetp.eq.u32 %odd, %mine, 3;\n\t@%odd ret;\n\tbar.sync 0;\n"),
        ],
        {"divergent barrier", "unwritten"},
    ),
    "the guard of the store: or becomes and": (
        "tiled",
        (20, 20, 40),
        [(r"or\.pred(  \t%p\d+, %p\d+, %p\d+;\n\t@%p\d+ bra \t\$L__BB0_\d+;\n\n\tshr\.s64)", r"and.pred\1")],
        {"out of bounds", "race"},
    ),
    "the guard of the store: one row too many": (
        "coalesced",
        (20, 33, 7),
        [(r"setp\.ge\.s64( \t%p\d+, %rd\d+, %rd\d+;\n\tsetp\.ge\.s64)", r"setp.gt.s64\1")],
        {"out of bounds"},
    ),
    "the guard of a load: one k too many": (
        "tiled",
        (20, 20, 40),
        [(r"setp\.ge\.u64( \t%p\d+, %rd\d+, %rd\d+;\n\tmov\.f32)", r"setp.gt.u64\1")],
        {"out of bounds"},
    ),
    "every store one element further": (
        "tiled",
        (20, 20, 40),
        [(STORED, r"\tst.global.f32 [\1+4], \2;")],
        {"out of bounds", "unwritten"},
    ),
    "every store twice": ("tiled", (20, 20, 40), [(STORED, r"\g<0>\n\g<0>")], {"stored twice"}),
    "the store left out": ("tiled", (20, 20, 40), [(STORED, "")], {"unwritten"}),
    "a store two bytes further": ("tiled", (20, 20, 40), [(STORED, r"\tst.global.f32 [\1+2], \2;")], {"misaligned"}),
    "the result goes to A": (
        "tiled",
        (20, 20, 40),
        [(r"(ld\.param\.u64 \t%rd\d+, \[\w+_param_)22\]", r"\g<1>4]")],
        {"writes to an input", "unwritten"},
    ),
    "staged one element further": ("tiled", (20, 20, 40), [(SHARED_A, r"\1+4]")], {"uninitialised", "out of bounds"}),
    "read behind the end of a tile": ("tiled", (20, 20, 40), [(r"\+960\]", "+1024]")], {"out of bounds"}),
    "a loop that never ends": ("tiled", (20, 20, 40), [(r"(add\.s64 \t(%rd\d+), \2, )16;", r"\g<1>0;")], {"hang"}),
    "wide loads of rows that do not begin on 16 bytes": (
        "vectorized",
        (20, 20, 41),
        [(r"(and\.b64  \t%rd\d+, %rd\d+, )3;(?=\n\tand)", r"\g<1>0;")],
        {"misaligned"},
    ),
    "an array before the others that is no multiple of 16 bytes": (
        "vectorized",
        (20, 20, 40),
        [
            (r"\.align 16( \.b8 _cudapy_smem_\d+\[)8448\]", r".align 4\g<1>8452]"),
            (r"\.align 16( \.b8 _cudapy_smem_\d+\[8192\])", r".align 4\1"),
        ],
        {"misaligned"},
    ),
}


@needs_compiler
@pytest.mark.parametrize("what", BROKEN)
def test_broken_code_is_found(texts, what):
    name, shape, edits, kinds = BROKEN[what]
    text, p = texts[name, "GPU", 80, "direct"], TILES["GPU"][name]
    assert not launched(text, name, p, shape)[0].findings
    for pattern, instead in edits:
        text, times = re.subn(pattern, instead, text)
        assert times == 1, (pattern, times)
    run, _, _ = launched(text, name, p, shape, budget=20_000 if "hang" in kinds else None)
    found = {finding.kind for finding in run.findings}
    assert kinds <= found, (found, run)
    for finding in run.findings:  # each names its line
        assert finding.kind in ("unwritten", "hang") or text.splitlines()[finding.lines[0] - 1].strip() != ""
    assert not run and all(kind in repr(run) for kind in kinds)


@needs_compiler
def test_atomics_do_not_race(texts):
    text, times = re.subn(STORED, r"\tred.global.add.f32 [\1], \2;", texts["tiled", "GPU", 80, "direct"])
    run, _, _ = launched(text, "tiled", TILES["GPU"]["tiled"], (20, 20, 40))
    assert times == 1 and run and run.executed["atomic"] == 400 and np.isnan(run.C).all()  # C was never set to zero


@needs_compiler
def test_an_instruction_that_is_not_known_is_refused_by_name_and_line(texts):
    text = texts["tiled", "GPU", 80, "direct"].replace("fma.rn.f32", "fma.rz.f32")
    line = next(number for number, code in enumerate(text.splitlines(), 1) if "fma.rz" in code)
    with pytest.raises(KernelError, match=rf"line {line} .*fma\.rz\.f32"):
        decoded(text)
    with pytest.raises(KernelError, match="0 kernels"):
        read_ptx(".version 8.0\n.target sm_80\n")


# ------------------------------------------------------------------------------- written by hand

BY_HAND = """.version 8.0
.target sm_80
.address_size 64
.visible .entry by_hand({parameters})
{{
	.reg .pred %p<9>;
	.reg .f32 %f<9>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [p4];
	ld.param.u64 %rd2, [p22];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd1, %rd1, %rd3;
	add.s64 %rd2, %rd2, %rd3;
{body}
	st.global.f32 [%rd2], %f1;
	ret;
}}
"""


def by_hand(body, threads=32):
    """(run, A's row): a block whose thread x has A[0, x] at %rd1 and does what the body says; %f1 goes to C[0, x]."""
    text = BY_HAND.format(parameters=", ".join(f".param .u64 p{n}" for n in range(27)), body=body)
    A, B = draw(1, threads, threads)
    return run_text(text, (threads, 1), (1, 1), A, B), A[0]


def test_threads_that_part_meet_again_and_guards_hold():
    run, A = by_hand("""
        and.b32 %r2, %r1, 1;
        setp.eq.u32 %p1, %r2, 0;
        mov.f32 %f2, 0f3F800000;
        @!%p1 bra odd;
        mov.f32 %f2, 0f40000000;
        bra.uni both;
    odd:
        mov.f32 %f2, 0f40400000;
    both:
        ld.global.f32 %f1, [%rd1];
        mul.f32 %f1, %f1, %f2;
        @%p1 add.f32 %f1, %f1, 0f3F800000;
        @!%p1 neg.f32 %f1, %f1;""")
    odd = np.arange(32) % 2 == 1
    assert run and np.array_equal(run.C[0], np.where(odd, -3 * A, 2 * A + np.float32(1)))
    assert [access.instructions for access in run.accesses] == [1, 1]  # the warp's threads load and store together
    assert run.executed["other float"] == 32 + 16 + 16 and run.executed["branch"] == 32 + 16 + 32


def test_each_thread_leaves_a_loop_when_it_is_done():
    run, A = by_hand(
        """
        mov.u32 %r2, 0;
        mov.f32 %f1, 0f00000000;
    again:
        ld.global.f32 %f2, [%rd1];
        fma.rn.f32 %f1, %f2, 0f40000000, %f1;
        add.s32 %r2, %r2, 1;
        setp.le.u32 %p1, %r2, %r1;
        @%p1 bra again;""",
        threads=40,
    )
    times = np.arange(1, 41)
    assert run and run.executed["FMA"] == times.sum() and np.allclose(run.C[0], 2 * A * times)
    load, store = run.accesses
    assert (load.instructions, store.instructions) == (32 + 40, 2)  # two warps


def test_what_numba_passes_for_an_array():
    for place, value in ((2, 32), (3, 4), (5, 1), (6, 32), (7, 128), (8, 4), (14, 32), (16, 128)):
        run, _ = by_hand(f"ld.param.u64 %rd4, [p{place}];\ncvt.rn.f32.u64 %f1, %rd4;")
        assert run and (value == run.C).all(), place


def test_a_shared_array_is_checked_and_what_memory_an_address_means():
    run, A = by_hand("""
        .shared .align 8 .b8 here[128];
        .local .align 4 .b8 mine[8];
        ld.global.f32 %f1, [%rd1];
        mov.u64 %rd4, here;
        add.s64 %rd4, %rd4, %rd3;
        st.f32 [%rd4], %f1;
        bar.sync 0;
        mov.u64 %rd5, mine;
        ld.shared.v2.f32 {%f1, %f2}, [here+8];
        st.v2.f32 [%rd5], {%f1, %f2};
        ld.local.f32 %f1, [%rd5+4];""")
    assert run and (run.C[0] == A[3]).all() and (run.shared_loads, run.shared_stores) == (64, 32)
    for wrong, kind in (("here+4", "misaligned"), ("here+128", "out of bounds"), ("here+-8", "out of bounds")):
        run, _ = by_hand(f"""
        .shared .align 8 .b8 here[128];
        ld.shared.v2.f32 {{%f1, %f2}}, [{wrong}];""")
        assert {kind} <= {finding.kind for finding in run.findings} and np.isnan(run.C).all()


# ------------------------------------------------------------------------------- its parts


def nearest_float32(exact):
    """The float32 nearest to a Fraction, ties to even: tried among neighbours."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda value: (abs(Fraction(float(value)) - exact), value.view(np.uint32) & 1))


def test_fma_is_rounded_once():
    rng = np.random.default_rng(1)
    tie = np.float32(1 + 2.0**-12)  # its square lies in the middle between two float32
    cases = [(tie, tie, sign * np.float32(2.0) ** -power) for power in (26, 50, 60, 90, 140) for sign in (1, -1)]
    cases += [(-a, b, -c) for a, b, c in cases]
    cases += [tuple(np.float32(2.0**-power) for power in (75, 74, 149))]  # below the smallest normal number
    a, b = rng.integers(1, 1 << 24, (2, 3000)).astype(np.float32)
    c = (-(a.astype(np.float64) * b) * (1 + rng.integers(-2, 3, 3000) * 2.0**-24)).astype(np.float32)  # much cancels
    cases += list(zip(a, b, c, strict=True))
    cases += list(zip(a, b, rng.standard_normal(3000).astype(np.float32), strict=True))
    got = ptx_arithmetic.fused32(*(np.array(column, np.float32) for column in zip(*cases, strict=True)))
    twice = 0
    for (x, y, z), value in zip(cases, got, strict=True):
        right = nearest_float32(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))
        assert value == right, (x, y, z)
        twice += np.float32(np.float64(x) * np.float64(y) + np.float64(z)) != right
    assert twice >= 5  # so the cases are hard: rounding to float64 first is wrong for these
    special = np.array([np.inf, np.nan, 0, -0.0, 3e38], np.float32)
    with np.errstate(all="ignore"):
        got = ptx_arithmetic.fused32(special, np.float32(2), np.float32(1))
    assert got[0] == np.inf and np.isnan(got[1]) and got[2] == got[3] == 1 and got[4] == np.inf


def test_fma_of_doubles_is_rounded_once():
    rng = np.random.default_rng(2)
    a, b = 1 + rng.random((2, 3000))
    c = np.where(rng.random(3000) < 0.5, -(a * b), rng.standard_normal(3000) * 2.0 ** rng.integers(-70, 5, 3000))
    got = ptx_arithmetic.fused64(a, b, c)
    assert all(
        value == float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z, value in zip(a, b, c, got, strict=True)
    )


def signed(value, bits):
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


EXACT = {  # on Python's whole numbers, for values of `bits` bits
    "add": lambda a, b, bits: a + b,
    "sub": lambda a, b, bits: a - b,
    "mul.lo": lambda a, b, bits: a * b,
    "mul.hi": lambda a, b, bits: a * b >> bits,
    "mul.wide": lambda a, b, bits: a * b,
    "min": lambda a, b, bits: min(a, b),
    "max": lambda a, b, bits: max(a, b),
    "div": lambda a, b, bits: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
    "rem": lambda a, b, bits: abs(a) % abs(b) * (-1 if a < 0 else 1),
    "shl": lambda a, b, bits: a << b if b < bits else 0,
    "shr": lambda a, b, bits: a >> b,
}


@pytest.mark.parametrize("short", EXACT)
def test_whole_number_instructions_against_python(short):
    rng = np.random.default_rng(3)
    for kind in ("s32", "u32", "s64", "u64") if short != "mul.wide" else ("s32", "u32"):
        bits = int(kind[1:])
        words = [*map(int, rng.integers(0, 1 << 63, 60, np.uint64)), 0, 1, 2, 3]
        words += [(1 << 64) - 1, 1 << 63, 1 << 31, (1 << 31) - 1]
        values = [signed(word, bits) if kind[0] == "s" else word % (1 << bits) for word in words]
        a, b = values, values[::-1]
        if short in ("shl", "shr"):
            b = [value % 70 for value in b]
        if short in ("div", "rem"):
            a, b = zip(*[(x, y) for x, y in zip(a, b, strict=True) if y and y != -1], strict=True)
        function, of, to = ptx_arithmetic.operation(Instruction(1, short, (*short.split("."), kind), ("%r",) * 3))
        with np.errstate(all="ignore"):
            got = function(*(np.array(column, ptx_arithmetic.TYPES[t]) for column, t in zip((a, b), of, strict=True)))
        assert got.dtype == ptx_arithmetic.TYPES[to]
        out = int(to[1:])
        for x, y, value in zip(a, b, got, strict=True):
            assert int(value) % (1 << out) == EXACT[short](x, y, bits) % (1 << out), (kind, x, y)


def one(name, *values):
    """The result of one instruction for one thread, from values of the types that it takes."""
    instruction = Instruction(1, name, tuple(name.split(".")), ("%r",) * (len(values) + 1))
    function, of, _ = ptx_arithmetic.operation(instruction)
    with np.errstate(all="ignore"):
        return function(
            *(np.array([value]).astype(ptx_arithmetic.TYPES[kind]) for value, kind in zip(values, of, strict=True))
        )[0]


def test_conversions_and_comparisons():
    assert one("cvt.s64.s32", -5) == -5 and one("cvt.u64.u32", 2**32 - 5) == 2**32 - 5
    assert one("cvt.u32.u64", 2**40 + 7) == 7 and one("cvt.rn.f32.s64", 2**24 + 1) == 2**24
    assert one("cvt.rzi.s32.f32", -2.7) == -2 and one("cvt.rzi.s32.f32", 1e20) == 2**31 - 1
    assert one("cvt.rzi.u32.f32", -3.0) == 0 == one("cvt.rzi.s32.f32", np.nan) and one("cvt.rni.s32.f32", 2.5) == 2
    assert one("setp.lt.s64", -1, 1) and not one("setp.lt.u64", 2**63, 1) and one("setp.ge.and.s32", 3, 3, True)
    assert not one("setp.ne.f32", np.nan, 1) and one("setp.neu.f32", np.nan, 1)
    assert not one("setp.lt.f32", np.nan, 1) and one("setp.ltu.f32", np.nan, 1)
    assert one("selp.b64", 4, 5, False) == 5 and one("mad.lo.s32", -3, 4, 5) == -7 and one("neg.s64", 3) == -3
    assert one("bfi.b64", 0xABC, 0xFFFF, 4, 8) == 0xFBCF and one("bfi.b32", 5, 7, 2, 62) == 23
    assert one("bfi.b64", 5, 2**63 + 7, 2, 62) == 23 and one("bfi.b32", 5, 7, 40, 4) == 7 == one("bfi.b32", 5, 7, 0, 0)
    assert one("popc.b32", 0xF0F) == 8 and one("clz.b32", 1) == 31 and one("shr.s32", -8, 40) == -1
    for unknown in ("cvt.rz.f32.f64", "add.ftz.f32", "add.sat.s32", "setp.lt.f16", "mul.f16x2"):
        operands = ("%r",) * (2 if "cvt" in unknown else 3)
        with pytest.raises(KernelError, match=f"line 1 .*{re.escape(unknown)}"):
            ptx_arithmetic.operation(Instruction(1, unknown, tuple(unknown.split(".")), operands))


def test_banks_serve_a_warp_a_half_or_a_quarter_at_a_time():
    lanes = np.arange(32)

    def rounds(words, width):
        return ptx_memory.rounds(4 * np.asarray(words), width, lanes, 1)

    assert rounds(lanes, 4) == (1, 1, 1) == rounds(lanes * 0 + 7, 4)  # one word for all is served at once
    assert rounds(2 * lanes, 4) == (1, 2, 1) and rounds(32 * lanes, 4) == (1, 32, 1)
    assert rounds(2 * lanes, 8) == (1, 2, 2) and rounds(4 * lanes, 16) == (1, 4, 4)
    # Threads 0 and 8 ask for the same banks, but not in the same quarter; 0 and 1 do.
    assert rounds(4 * (lanes % 8) + 128 * (lanes // 8), 16) == (1, 4, 4)
    assert rounds(128 * (lanes % 8), 16) == (1, 32, 4)
    assert ptx_memory.rounds(np.array([0, 128]), 4, np.array([0, 40]), 2) == (2, 2, 2)  # two warps


def test_a_run_adds_up_what_its_lines_asked_for():
    rows = [("global", 8, 32, 8), ("shared", 10, 25, 10), ("shared", 4, 9, 4), ("shared", 2, 2, 2)]
    accesses = tuple(Requests(number, "", *row) for number, row in enumerate(rows))
    run = CompiledRun("a kernel", 2, 4, 8, None, (), {"FMA": 64, "branch": 32}, 0, 0, 1, 0, accesses, "", {})
    assert (run.sectors, run.bank_rounds, run.bank_conflicts) == (32, 36, 20)
    assert (run.instructions, run.instructions_per_multiply_add) == (96, 1.5)


def test_sectors_of_32_bytes():
    lanes = np.arange(32)

    def sectors(address, width):
        return ptx_memory.sectors(np.asarray(address), width, lanes, 1)

    assert sectors(4 * lanes, 4) == (1, 4, 4) and sectors(4 * lanes + 16, 4) == (1, 5, 4)
    assert sectors(0 * lanes, 4) == (1, 1, 1)
    assert sectors(1024 * lanes, 4) == (1, 32, 4) and sectors(16 * lanes, 16) == (1, 16, 16)


def test_races_are_seen_between_the_same_barriers_only():
    def stamps(*threads, barriers=0):
        return np.array(threads) + (barriers << 32)

    word = np.array([5])
    seen = ptx_memory.Seen(8)
    assert seen.read(word, stamps(1))[1].all()  # nobody wrote it
    assert seen.write(word, stamps(2)).all()  # thread 1 has just read it
    assert not seen.write(word, stamps(2, barriers=1)).any() and not seen.read(word, stamps(2, barriers=1))[0].any()
    assert not seen.write(word, stamps(2, barriers=1)).any()  # one's own
    seen.write(word, stamps(2))
    assert seen.read(word, stamps(3))[0].all() and not seen.read(word, stamps(3, barriers=1))[0].any()
    seen = ptx_memory.Seen(8)
    assert seen.write(np.array([1, 1]), stamps(0, 1)).any()  # in one instruction
    seen.read(np.array([2, 2]), stamps(0, 1))
    assert seen.write(np.array([2]), stamps(1)).all()  # the other reader is not forgotten
    seen.read(np.array([3]), stamps(0))
    seen.read(np.array([3]), stamps(1))
    assert seen.write(np.array([3]), stamps(1)).all()  # nor one that read before
    across = ptx_memory.Seen(8, threads=4)
    across.write(word, stamps(1))
    assert across.write(word, stamps(6, barriers=3)).all() and not ptx_memory.Seen(8).write(word, stamps(6)).any()


def test_an_access_must_lie_in_one_array():
    memory = ptx_memory.Memory([("first", 1 << 20, 64), ("second", 1 << 21, 20)])
    one, two = 1 << 20, 1 << 21
    address = np.array([one, one + 60, one + 64, one - 4, two + 16, two + 20, 0], np.uint64)
    word, inside = memory.find(address, 4)
    assert inside.tolist() == [True, True, False, False, True, False, False]
    assert word[[0, 1, 4]].tolist() == [0, 15, 20]
    assert memory.find(address[4:5], 8)[1].tolist() == [False]
    assert memory.find(address[:2], 4)[1] is None and memory.element(20) == ("second", 4)
