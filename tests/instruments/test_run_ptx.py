"""The PTX machine: the ladder's compiled code is right on it, and code that was broken on purpose is found out."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from few import SMALL, few
from needed import needs_compiler

from helpers import cuda_kernel, devices, ladder
from helpers.child import in_child
from helpers.instruments import CompiledRun, run_ptx
from helpers.instruments.prediction import COMPILES, ptx, run_text
from helpers.launch import KernelError, draw
from helpers.launch.on_cuda import CUDA
from kernel_judge import wrong_elements
from kernel_judge.shapes import watched
from ptx_machine.linking import read_ptx

STEPS = ladder.steps("CUDA")
ODD = {name: SMALL[name] for name in STEPS} | {
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


def compiled(jobs: dict) -> dict:
    """In the child: the PTX of each of the jobs."""
    return {key: ptx(CUDA.source_of(step), p, divmod(arch, 10)) for key, (step, p, arch) in jobs.items()}


JOBS = {}  # {(step, tiles, architecture): what `compiled` takes}
for name in STEPS:
    for arch in ARCHS["tiled" if name == "tiled" else "GPU"]:
        JOBS[name, "GPU", arch] = (name, TILES["GPU"][name], arch)
    for arch in ARCHS["odd"]:
        JOBS[name, "odd", arch] = (name, ODD[name], arch)


class Texts(dict):
    """PTX by the keys of `JOBS`. One that is missing is compiled, with those that go with it, in two processes."""

    def __missing__(self, asked):
        names = [key for key in JOBS if asked_together(key) == asked_together(asked)]
        parts = [{name: JOBS[name] for name in names[start::2]} for start in (0, 1)]

        def outcome(part):
            job = partial(compiled, part)
            return in_child(cuda_kernel("naive"), job, server=COMPILES, **{devices.CUDA_OF_CHILD: "compiler"})

        with ThreadPoolExecutor() as threads:
            outcomes = list(threads.map(outcome, parts))
        assert all(one.value for one in outcomes), outcomes
        self |= outcomes[0].value | outcomes[1].value
        return self[asked]


def asked_together(key):
    """What stands for the tests that want it: those of one step's odd tiles, or all the others."""
    step, tiles, _ = key
    return step if tiles == "odd" and step != "tiled" else None


@pytest.fixture(scope="module")
def texts():
    return Texts()


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
    assert run.global_stores == shape[0] * shape[1], shape
    assert (run.shared_loads, run.shared_stores) == step.shared_accesses(p, *shape), shape


def shapes(name, p):
    """`check`'s ragged shapes for these tiles, and one whose rows all begin on 16 bytes."""
    rows, columns, depth = ladder.STEPS[name].tile(p)
    return [*watched((rows, columns, depth)), (rows + 3, -(-columns // 4) * 4 + 4, -(-depth // 4) * 4 + 4)]


# ------------------------------------------------------------------------------- the ladder, compiled


@needs_compiler
@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("name", few(STEPS, "tiled"))
def test_compiled_steps_are_right_and_move_what_the_formula_says(texts, name, tiles):
    p = TILES[tiles][name]
    for arch in ARCHS[tiles]:
        for shape in shapes(name, p):
            assert_right(texts[name, tiles, arch], name, p, shape)


@needs_compiler
def test_sm_75_80_and_90_get_the_same_code(texts):
    codes = {arch: renamed(texts["tiled", "GPU", arch]) for arch in (75, 80, 90, 100)}
    assert codes[75] == codes[80] == codes[90] != codes[100]  # sm_100 goes through another compiler


@needs_compiler
def test_sectors_and_bank_rounds_of_compiled_addresses(texts):
    naive, coalesced, tiled, vectorized = (
        launched(texts[name, "GPU", 80], name, TILES["GPU"][name], (128, 128, 32))[0]
        for name in ("naive", "coalesced", "tiled", "vectorized")
    )
    warps = 128 * 128 // 32
    # A warp of naive reads 32 rows of A, and one element of B; of coalesced one element of A, and 4 sectors of B.
    assert naive.sectors == warps * (32 * (32 + 1) + 32) and coalesced.sectors == warps * (32 * (1 + 4) + 4)
    assert tiled.bank_conflicts == vectorized.bank_conflicts == 0
    odd, _, _ = launched(texts["naive", "odd", 80], "naive", ODD["naive"], (6, 10, 4))
    assert odd.requests[-1].instructions == 4  # a block of 15 threads is a warp of its own
    by_text = {request.text.split()[0]: request for request in vectorized.requests}
    wide = by_text["ld.shared.v4.f32"]
    assert wide.pieces == 4 * wide.instructions  # a quarter of a warp at a time


@needs_compiler
@pytest.mark.parametrize("name", ["vectorized", "prefetched"])
def test_arrays_for_wide_accesses_begin_on_16_bytes(texts, name):
    aligned = {array.align for array in read_ptx(texts[name, "GPU", 80]).shared}
    assert aligned == {16}


@needs_compiler
def test_run_ptx_compiles_and_runs_a_kernel():
    run = run_ptx(cuda_kernel("tiled", TILE=4), 20, 24, 9, "sm_90")
    assert run and not wrong_elements(run.C, *run.arrays[:2]).any() and run.C.shape == (20, 24)
    assert "no finding" in repr(run) and "sm_90" in repr(run) and ".target sm_90" in run.ptx
    with pytest.raises(ValueError, match="no architecture"):
        run_ptx("tiled", 4, 4, 4, "A100")


def test_run_ptx_refuses_opencl():
    k = cuda_kernel("naive")
    k.dialect = "OpenCL"  # as one would be; building one takes a while
    with pytest.raises(ValueError, match="OpenCL driver"):
        run_ptx(k, 4, 4, 4)


# ------------------------------------------------------------------------------- broken on purpose

TO_MULTIPLY = r"\tbar\.sync \t0;\n(?=\tld\.shared)"
STORED = r"\tst\.global\.f32 \t\[(%rd\d+)\], (%f\d+);"
BROKEN = {  # what else is found: the tests of the PTX machine
    # what was done: ([(pattern, what stands in its place)], kinds that must be found)
    "no barrier before multiplying": ([(TO_MULTIPLY, "")], {"race"}),
    "every store one element further": ([(STORED, r"\tst.global.f32 [\1+4], \2;")], {"out of bounds", "unwritten"}),
    "every store twice": ([(STORED, r"\g<0>\n\g<0>")], {"stored twice"}),
    "the store left out": ([(STORED, "")], {"unwritten"}),
    "the result goes to A": (
        [(r"(ld\.param\.u64 \t%rd\d+, \[\w+_param_)22\]", r"\g<1>4]")],
        {"writes to an input", "unwritten"},
    ),
    "a loop that never ends": ([(r"(add\.s64 \t(%rd\d+), \2, )16;", r"\g<1>0;")], {"hang"}),
}


@needs_compiler
@pytest.mark.parametrize("what", BROKEN)
def test_broken_code_is_found(texts, what):
    edits, kinds = BROKEN[what]
    text, p = texts["tiled", "GPU", 80], TILES["GPU"]["tiled"]
    for pattern, instead in edits:
        text, times = re.subn(pattern, instead, text)
        assert times == 1, (pattern, times)
    run, _, _ = launched(text, "tiled", p, (20, 20, 40), limit=20_000 if "hang" in kinds else None)
    found = {finding.kind for finding in run.findings}
    assert kinds <= found, (found, run)
    for finding in run.findings:  # each names its line
        at = " ".join(text.splitlines()[finding.line - 1].split()).removesuffix(";") if finding.line else ""
        assert finding.text == at and (at or finding.kind in ("unwritten", "stored twice"))
    assert not run and all(kind in repr(run) for kind in kinds)


@needs_compiler
def test_an_instruction_that_is_not_known_is_refused_by_name_and_line(texts):
    text = texts["tiled", "GPU", 80].replace("fma.rn.f32", "fma.rna.f32")
    line = next(number for number, code in enumerate(text.splitlines(), 1) if "fma.rna" in code)
    with pytest.raises(KernelError, match=rf"line {line} .*fma\.rna\.f32"):
        launched(text, "tiled", TILES["GPU"]["tiled"], (4, 4, 4))


@needs_compiler
def test_what_numba_passes_for_an_array(texts):
    """Elements, bytes of one, the two sizes and the two strides of A, B and C: 27 numbers and pointers."""
    head, _, _ = texts["tiled", "GPU", 80].partition("mov.u32")
    for place, value in {2: 35, 3: 4, 5: 5, 6: 7, 7: 28, 8: 4, 11: 21, 14: 7, 15: 3, 20: 15, 25: 12, 26: 4}.items():
        asked, C = (re.search(rf"\w+_param_{number}\b", head)[0] for number in (place, 22))
        body = f"ld.param.u64 %rd1, [{asked}]; cvt.rn.f32.u64 %f1, %rd1; ld.param.u64 %rd2, [{C}];"
        run = run_text(head + body + "st.global.f32 [%rd2], %f1; ret; }", (1, 1), (1, 1), *draw(5, 3, 7))
        assert run.C[0, 0] == value and {finding.kind for finding in run.findings} == {"unwritten"}, place


def test_a_run_divides_its_instructions_by_the_multiply_adds():
    run = CompiledRun((), (), {"FMA": 64, "branch": 32}, {}, (), (), "a kernel", 2, 4, 8, "")
    assert run.instructions_per_multiply_add == 1.5 and "1.50 a multiply-add" in repr(run)
