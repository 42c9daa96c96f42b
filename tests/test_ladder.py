"""The ladder: one table from which launches, counts and limits follow."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

import helpers
from helpers import ladder
from helpers.classroom.contest import SHAPE
from helpers.devices import KINDS, Device
from helpers.instruments import counts
from helpers.launch import DIALECTS

ROOT = Path(__file__).resolve().parent.parent
GPU = Device("CUDA", "a GPU", "GPU", "", 1024, 48 * 1024, None)
# Threads a block and bytes of shared memory, by kind; 256 and 32 KiB are what the least of today's OpenCL GPUs allow.
LEAST = [(256, 32 << 10), (4096, 256 << 10), (1024, 128 << 10), (256, 16 << 10), (1024, 48 << 10)]


def test_the_folder_listing_is_the_ladder():
    folder = Path(ladder.__file__).parent
    for dialect in DIALECTS.values():
        files = {p.stem for p in (folder / dialect.folder).glob(f"*.{dialect.suffix}")} - {"__init__"}
        assert files == {name for name, step in ladder.STEPS.items() if dialect.name in step.dialects}


def test_what_is_less_exact_than_float32_is_no_rung():
    """Its file is there and it can be built, but no chart, contest, record or search takes it without being asked."""
    less = [name for name, step in ladder.STEPS.items() if step.inputs]
    assert less == ["matrix_units"] and ladder.step("matrix_units", "CUDA").inputs == ("tf32", "float16", "bfloat16")
    assert not {*less} & {*ladder.rungs(), *ladder.steps("CUDA")}


def test_every_step_has_wrong_kernels_to_catch():
    file, of_webgpu = "tests/judge/test_planted.py", "tests/judge/test_wgsl.py"
    caught = {(dialect, step) for dialect, step, *_ in loaded(file).CASES}
    caught |= {("WebGPU", step) for _, step, *_ in loaded(of_webgpu).WRONG}
    written = {(dialect, step) for dialect in DIALECTS for step in ladder.steps(dialect)}
    assert caught == written, f"{file} and {of_webgpu} need a wrong kernel for each step in each dialect, and no others"


def loaded(file):
    """The module that this file of tests is."""
    spec = importlib.util.spec_from_file_location(Path(file).stem, ROOT / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_00_lists_every_rung_in_order():
    page = "notebooks/00_start_here.ipynb"
    cells = json.loads((ROOT / page).read_text(encoding="utf-8"))["cells"]
    [table] = [text for text in ("".join(cell["source"]) for cell in cells) if "| page | rung |" in text]
    listed = re.findall(r"^\| \d\d \| `(\w+)` \|", table, flags=re.MULTILINE)
    assert listed == list(ladder.rungs()), f"the table in {page} needs a row for each rung, in the ladder's order"


def test_names_fit_into_the_charts():
    long = [name for name in ladder.STEPS if len(name) > 20]
    assert long == [], "charts cut off a name of more than 20 characters: choose a shorter one in helpers/ladder.py"


# What these mean follows from the step's own launch, or from what its B looks like.
OF_THE_STEP = {"THREADS", "load_some"}


def test_what_two_opencl_files_call_by_one_name_is_the_same():
    """A file is read whole, so some macros and functions stand in two of them; a mend of one must reach the other."""
    folder, found = Path(ladder.__file__).parent / "opencl", {}
    for file in sorted(folder.glob("*.cl")):
        text = file.read_text(encoding="utf-8")
        macros = re.findall(r"^#define (\w+)(.*)$", text, re.MULTILINE)
        functions = re.findall(r"^[a-z]\w* (\w+)(\([^{;]*\)\n\{\n.*?^\}$)", text, re.MULTILINE | re.DOTALL)
        for name, body in macros + functions:
            found.setdefault(name, {})[file.stem] = body.split("//")[0].strip()
    shared = {name: bodies for name, bodies in found.items() if len(bodies) > 1 and name not in OF_THE_STEP}
    assert {"EACH", "JOIN", "floatv", "four"} <= set(shared)
    assert [(name, *bodies) for name, bodies in shared.items() if len(set(bodies.values())) > 1] == []


@pytest.mark.parametrize("width", [1, 8, 16])
@pytest.mark.parametrize("step", [s for s in ladder.STEPS.values() if not s.capability], ids=lambda s: s.name)
def test_every_kind_of_device_has_legal_defaults(step, width):
    for kind, least in zip(KINDS, LEAST, strict=True):
        device = Device("OpenCL", kind, kind, "", *least, None, None, width)
        if step.suits(device):
            assert ladder.parameters(step, device, {}) == step.defaults_for(device)
        else:
            with pytest.raises(
                ValueError, match=f"{step.name} has no parameters for {kind}, a device of kind {kind}; it is for: "
            ):
                ladder.parameters(step, device, {})


@pytest.mark.parametrize("step", ladder.STEPS.values(), ids=lambda s: s.name)
def test_a_space_has_a_choice_for_every_parameter_and_no_value_in_vain(step):
    cpus = [Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, width) for width in (16, 8, 4)]
    devices = [device for device in (GPU, *cpus) if device.kind in step.defaults]
    legal = [p for device in devices for p in ladder.points(step, device)]
    for name, values in step.space.items():
        assert 1 < len(values) == len(set(values)) and set(values) == {p[name] for p in legal}
    searched = set(step.space) | {"INPUT"} if step.inputs else set(step.space)  # a type is chosen, not searched for
    assert all(searched == set(step.defaults_for(device)) for device in devices)


@pytest.mark.parametrize("width", [16, 8, 4, 1])
@pytest.mark.parametrize("shared_bytes", [32 << 10, 48 << 10, 256 << 10, 1 << 20])
def test_packed_fits_any_cpu(width, shared_bytes):
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, shared_bytes, None, None, width)
    p = ladder.parameters(ladder.step("packed"), cpu, {})
    registers = {16: 32, 8: 16, 4: 32}[p["VW"]]
    assert p["VW"] == max(width, 4) and p["TM"] * p["TN"] + p["TN"] + 1 <= registers
    assert p["TM"] < 8  # rows of A, read where they lie: a cache with eight places for them has one left for B
    # Local memory is filled, unless a piece is as deep as a first cache lets it be.
    assert 4 * ladder.STEPS["packed"].staged(p) > min(shared_bytes, 192 << 10) / 2 or p["BK"] == 1024


@pytest.mark.parametrize(
    "units, shared_bytes", [(1, 256 << 10), (1, 16 << 10), (2, 256 << 10), (8, 32 << 10), (64, 1 << 20)]
)
@pytest.mark.parametrize("width", [16, 8, 4])
@pytest.mark.parametrize(
    "M, N, K",
    [(n, n, n) for n in (1, 64, 256, 1000, 4096)]
    + [(1, 5000, 9), (2048, 2, 9), (16, 2048, 4), (2, 2048, 99), (4, 97, 500), (5000, 5000, 9), (477, 15, 76434)],
)
def test_packed_follows_the_shape(units, shared_bytes, width, M, N, K):
    """A tile reaches no further than its last patch must; every core gets enough, as long as they are worth it."""
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, shared_bytes, None, None, width, units)
    step = ladder.STEPS["packed"]
    default = ladder.parameters(step, cpu, {})
    p = step.fitted(default, cpu, M, N, K)
    assert ladder.parameters(step, cpu, p) == p  # legal
    assert p["BM"] < M + p["TM"] and p["BN"] < max(2 * N, p["TN"] * p["VW"] + 1)
    columns = p["STRIPS"] * p["BN"]
    tiles, work = ladder.ceil_div(M, p["BM"]) * ladder.ceil_div(N, columns), (p["BM"] - p["TM"]) * min(N, columns) * K
    # One tile more in each column of tiles would be enough for the cores, or would not be worth it.
    enough = tiles >= 0.7 * ladder.TILES_A_CORE * units  # a tile's rows are rounded up to patches
    assert M == 1 or enough or work < 2 * ladder.SMALLEST_PACKED
    assert p["STRIPS"] == 1 or tiles >= 2 * ladder.TILES_A_CORE * units
    assert columns <= 512 or M == 1
    assert p["STRIPS"] == 1 or p["BK"] < K  # a single piece of A is not read again
    # The last tile is as high as the others, but for a patch, and as wide, but for a strip, and the last piece of K as
    # deep, but for a row.
    sides = (M, p["BM"], p["TM"]), (N, columns, p["BN"] if p["STRIPS"] > 1 else columns)
    for length, piece, unit in [*sides, *[(K, p["BK"], 1)] * (M > 1)]:
        pieces = ladder.ceil_div(length, piece)
        assert pieces == 1 or pieces * piece - length < pieces * unit


def test_packed_takes_the_tallest_tiles_that_leave_four_for_every_core():
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, 8, 2)
    step = ladder.STEPS["packed"]
    default = step.defaults_for(cpu)
    sizes = {n: step.fitted(default, cpu, n, n, n) for n in (64, 128, 256, 512, 1024, 2048, 4096)}
    assert {n: (p["BM"], p["BN"], p["BK"], p["STRIPS"]) for n, p in sizes.items()} == {
        64: (66, 32, 1024, 1),
        128: (132, 32, 1024, 1),
        256: (258, 32, 1024, 1),
        512: (516, 64, 768, 1),
        1024: (1026, 32, 1024, 1),
        2048: (1026, 64, 683, 4),
        4096: (1026, 64, 683, 8),
    }
    thin = [
        step.tile(step.fitted(default, cpu, *shape)) for shape in [(2048, 16, 2048), (2048, 8, 64), (8, 2048, 2048)]
    ]
    assert thin == [(258, 16, 1024), (1026, 8, 1024), (8, 96, 512)]


@pytest.mark.parametrize(
    "M, N, K, sizes",
    [
        (16, 4096, 4096, dict(BN=96, BK=512)),  # wide strips of B, which a few rows use: it comes in by longer rows
        (4096, 2170, 4096, dict(BN=64, STRIPS=7)),  # 34 strips: five tiles of 7 at most, not four of 8 and one of 2
        (6549, 16, 10851, dict(BN=16, STRIPS=1)),  # no wider than B, however many tiles lie below each other
        (2048, 2, 256, dict(BM=1026, BN=4)),  # few columns are little work, whatever a vector holds
        (1000, 480, 2000, dict(BN=64)),  # eight tiles of 64, the last one narrower, are enough for two cores
    ],
)
def test_a_thin_or_ragged_c_has_strips_and_tiles_of_its_own(M, N, K, sizes):
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, 8, 2)
    step = ladder.STEPS["packed"]
    p = step.fitted(step.defaults_for(cpu), cpu, M, N, K)
    assert {name: p[name] for name in sizes} == sizes


@pytest.mark.parametrize("shared_bytes, sizes", [(128 << 10, dict(BN=64, BK=512)), (120 << 10, dict(BN=32, BK=820))])
def test_strips_are_wider_only_where_the_pieces_stay_deep(shared_bytes, sizes):
    """Local memory holds 512 rows, 64 wide, or 480."""
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, shared_bytes, None, None, 8, 2)
    step = ladder.STEPS["packed"]
    p = step.fitted(step.defaults_for(cpu), cpu, 4096, 4096, 4096)
    assert {name: p[name] for name in sizes} == sizes and p["STRIPS"] * p["BN"] == 512


@pytest.mark.parametrize("width, registers", [(16, 32), (8, 16), (4, 32)])
@pytest.mark.parametrize("kib", [32, 64, 256])
def test_the_patch_of_register_2d_fits_a_cpus_registers_and_its_tiles_local_memory(width, registers, kib):
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, kib << 10, None, None, width, 2)
    step = ladder.STEPS["register_2d"]
    p = ladder.parameters(step, cpu, {})  # it refuses what the device cannot hold
    assert (p["BM"], p["TM"], p["TN"]) == {32: (128, 8, 2), 16: (96, 6, 2)}[registers]
    assert p["TM"] * p["TN"] + p["TN"] + 1 <= registers < 2 * p["TM"] * p["TN"] + p["TN"] + 1
    assert 4 * step.staged(p | dict(BK=p["BK"] + 8)) > kib << 10 or p["BK"] == 128  # and no shallower than it must be


def test_packed_takes_a_wider_tile_where_k_is_short():
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, 8, 2)
    step = ladder.STEPS["packed"]
    wide = [step.fitted(step.defaults_for(cpu), cpu, 2048, 2048, K) for K in (769, 768, 384, 193, 96, 1)]
    assert [(p["BN"], p["BK"]) for p in wide] == [(32, 1024), (64, 768), (128, 384), (128, 384), (512, 96), (512, 96)]


@pytest.mark.parametrize(
    "M, patch",
    [(2, (2, 5)), (3, (3, 3)), (5, (5, 2)), (6, (6, 2)), (7, (4, 3)), (15, (5, 2)), (16, (4, 3)), (64, (6, 2))],
)
def test_a_patch_leaves_few_rows_to_spare_and_fills_the_registers(M, patch):
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, 8, 2)
    step = ladder.STEPS["packed"]
    p = step.fitted(step.defaults_for(cpu), cpu, M, 2048, 2048)
    assert (p["TM"], p["TN"]) == patch and p["TM"] * p["TN"] + p["TN"] + 1 <= 16


def test_packed_keeps_its_sums_where_c_is_thin():
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, 16, 2)
    step = ladder.STEPS["packed"]
    default = step.defaults_for(cpu)

    def patch(M, N):
        p = step.fitted(default, cpu, M, N, 2048)
        return p["TM"], p["TN"], p["VW"]

    assert patch(2048, 16) == (6, 1, 16)  # no higher: more rows of A compete for the places of the cache
    assert patch(4, 2048) == (4, 6, 16)  # wider
    assert patch(2048, 7) == patch(2048, 8) == (6, 1, 8)  # no lane without a column that a narrower vector spares
    assert patch(1, 16) == (1, 1, 16) and patch(1, 40) == (1, 3, 16)  # no vector without a column
    row = step.fitted(default, cpu, 1, 2048, 2048)
    assert (row["BN"], row["BK"]) == (1024, 16)  # half of the row for each core, and long pieces of B


@pytest.mark.parametrize("width", [16, 8, 4])
@pytest.mark.parametrize("units", [1, 2, 3, 16, 64, 128, 500])
def test_patches_in_a_column_of_a_tile_at_the_shapes_of_page_16(units, width):
    """Two at its low product, on any number of cores; at the contest's shape more, on up to 128."""
    cpu = Device("OpenCL", "a CPU", "CPU", "", 4096, 256 << 10, None, None, width, units)
    step = ladder.STEPS["packed"]

    def high(*shape):
        p = step.fitted(step.defaults_for(cpu), cpu, *shape)
        return p["BM"] // p["TM"]

    assert high(12, 8192, 256) == 2
    assert units > 128 or high(*SHAPE) > 2


def test_what_takes_over_for_one_column_is_no_rung():
    assert ladder.STEPS["packed"].column in ladder.steps("OpenCL")
    assert [name for name in ladder.steps("OpenCL") if name not in ladder.rungs()] == ["column"]


@pytest.mark.parametrize("step", ladder.STEPS.values(), ids=lambda s: s.name)
@pytest.mark.parametrize("M, N", [(1, 1), (7, 9), (9, 7), (8, 16), (33, 2)])
def test_the_grid_covers_c_and_no_more(step, M, N):
    p = step.small
    rows, columns, _ = step.tile(p)
    x, y = step.grid(p, M, N)
    down, across = (x, y) if step.x_along == "rows" else (y, x)
    assert (down - 1) * rows < M <= down * rows and (across - 1) * columns < N <= across * columns


@pytest.mark.parametrize("step", ladder.STEPS.values(), ids=lambda s: s.name)
def test_counted_loads_are_the_tables_formula(step):
    p = step.defaults.get("GPU", step.small)
    rows, columns, depth = step.tile(p)
    M = N = K = 1280  # a multiple of every tile
    if step.name == "packed":  # A once for every panel
        columns = p["TN"] * p["VW"]
    elif step.loads:
        pytest.fail(f"tests/test_ladder.py needs the formula of {step.name}'s loads, here.")
    per_element = 2 * K if not step.reuse else K / rows + K / columns + (K / depth - 1) * step.adds
    assert step.global_loads(p, M, N, K) == per_element * M * N


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(TILES=8), "has no parameter 'TILES'; it has: TILE"),
        (dict(TILE=0), "TILE=0 must be a whole number, 1 or more"),
        (dict(TILE=2.5), "TILE=2.5 must be a whole number"),
        (dict(TILE=True), "TILE=True must be a whole number"),
        (dict(TILE=64), "64 x 64 = 4096 threads; a GPU allows 1024"),
        (dict(INPUT="tf32"), "has no parameter 'INPUT'"),
    ],
)
def test_bad_parameters_are_named(given, words):
    with pytest.raises(ValueError, match="tiled") as error:
        ladder.parameters(ladder.step("tiled"), GPU, given)
    assert words in str(error.value)


@pytest.mark.parametrize("given", ["fp8", 32, None, np.float32([1, 2])])
def test_a_type_that_is_none_of_the_inputs_is_named(given):
    with pytest.raises(ValueError, match=r"matrix_units: INPUT=.* must be one of these words: tf32, float16, bfloat16"):
        ladder.parameters(ladder.step("matrix_units"), GPU, dict(INPUT=given))


def test_a_share_must_divide_its_block():
    with pytest.raises(ValueError, match="TM=5 must divide BM=64"):
        ladder.parameters(ladder.step("register_1d"), GPU, dict(TM=5))


def test_too_much_shared_memory_is_named():
    with pytest.raises(ValueError, match="stages 135168 bytes a block; a GPU has 49152"):
        ladder.parameters(ladder.step("register_2d"), GPU, dict(BK=132))


def test_an_unknown_step_lists_the_steps():
    for build in (helpers.cuda_kernel, helpers.opencl_kernel):
        with pytest.raises(
            ValueError, match=r"unknown step 'tilde'. Do you mean tiled\? The steps are: naive, .*tiled, "
        ):
            build("tilde")


def test_every_cuda_step_is_counted():
    titles = {title for title, _ in counts.kept()}
    for name in ladder.steps("CUDA"):
        said = f"{name} with {ladder.spell(ladder.STEPS[name].defaults['GPU'])}"
        assert said in titles, f"helpers/instruments/counts.json lacks {said!r}; run python tools/counts.py"
