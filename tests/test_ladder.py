"""The ladder: one table from which launches, counts and limits follow."""

import json
import re
from pathlib import Path

import pytest
from few import SMALL

import helpers
from helpers import ladder
from helpers.devices import KINDS, Device
from helpers.instruments.prediction import kept
from helpers.launch.dialects import dialects

ROOT = Path(__file__).resolve().parent.parent
GPU = Device("CUDA", "a GPU", "GPU", "", 1024, 48 * 1024)
# Threads a block and bytes of shared memory, by kind; 256 and 32 KiB are what the least of today's OpenCL GPUs allow.
LEAST = [(256, 32 << 10), (4096, 256 << 10), (1024, 128 << 10), (1024, 48 << 10)]


def test_the_folder_listing_is_the_ladder():
    for dialect in dialects(None):
        files = (Path(ladder.__file__).parent / dialect.name.lower()).glob(f"*.{dialect.suffix}")
        kernels = {file.stem for file in files} - {"__init__", "intrinsics"}
        assert kernels == {name for name, step in ladder.STEPS.items() if dialect.name in step.dialects}


def test_what_is_less_exact_than_float32_is_no_rung():
    """Its file is there and it can be built, but no chart, contest, record or search takes it without being asked."""
    less = [name for name, step in ladder.STEPS.items() if step.inputs]
    assert less == ["matrix_units"] and ladder.step("matrix_units", "CUDA").inputs == ("tf32", "float16", "bfloat16")
    assert not {*less} & {*ladder.rungs(), *ladder.steps("CUDA")}


def test_page_00_lists_every_rung_in_order():
    page = "notebooks/00_start_here.ipynb"
    cells = json.loads((ROOT / page).read_text(encoding="utf-8"))["cells"]
    [table] = [text for text in ("".join(cell["source"]) for cell in cells) if "| page | rung |" in text]
    listed = re.findall(r"^\| \d\d \| `(\w+)` \|", table, flags=re.MULTILINE)
    assert listed == list(ladder.rungs()), f"the table in {page} needs a row for each rung, in the ladder's order"


@pytest.mark.parametrize("step", [s for s in ladder.STEPS.values() if not s.capability], ids=lambda s: s.name)
def test_every_kind_of_device_has_legal_defaults(step):
    for kind, least in zip(KINDS, LEAST, strict=True):
        device = Device("OpenCL", kind, kind, "", *least, None, 8)
        if step.defaults_for(device):
            assert ladder.parameters(step, device, {}) == step.defaults_for(device)
        else:
            with pytest.raises(ValueError, match=f"{step.name} has no parameters for {re.escape(kind)}"):
                ladder.parameters(step, device, {})


@pytest.mark.parametrize("step", ladder.STEPS.values(), ids=lambda s: s.name)
@pytest.mark.parametrize("M, N", [(1, 1), (7, 9), (9, 7), (8, 16), (33, 2)])
def test_the_grid_covers_c_and_no_more(step, M, N):
    p = SMALL[step.name]
    rows, columns, _ = step.tile(p)
    x, y = step.grid(p, M, N)
    down, across = (x, y) if step.x_along == "rows" else (y, x)
    assert (down - 1) * rows < M <= down * rows and (across - 1) * columns < N <= across * columns


@pytest.mark.parametrize("step", [s for s in ladder.STEPS.values() if not s.by_shape], ids=lambda s: s.name)
def test_counted_loads_are_the_tables_formula(step):
    p = step.defaults.get("GPU", SMALL[step.name])
    rows, columns, _ = step.tile(p)
    M = N = K = 1280  # a multiple of every tile
    per_element = 2 * K if not step.reuse else K / rows + K / columns
    assert step.global_loads(p, M, N, K) == per_element * M * N


@pytest.mark.parametrize(
    "step, given, words",
    [
        ("tiled", dict(TILES=8), "has no parameter 'TILES'; it has: TILE"),
        ("tiled", dict(TILE=0), "TILE=0 does not do; give an integer from 1"),
        ("tiled", dict(TILE=64), "needs 64 x 64 threads and 32768 bytes of shared memory a block; a GPU has 1024"),
        ("tiled", dict(INPUT="tf32"), "has no parameter 'INPUT'"),
        ("matrix_units", dict(INPUT="fp8"), "INPUT='fp8' must be one of these words: tf32, float16, bfloat16"),
        ("register_1d", dict(TM=5), "register_1d needs BM % TM == 0, which BM=64"),
        ("register_2d", dict(BK=49), "50176 bytes of shared memory a block; a GPU has 1024 and 49152"),
    ],
)
def test_bad_parameters_are_named(step, given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        ladder.parameters(ladder.step(step), GPU, given)
    assert ladder.parameters(ladder.step("register_2d"), GPU, dict(BK=48))["BK"] == 48


def test_an_unknown_step_lists_the_steps():
    for build in (helpers.cuda_kernel, helpers.opencl_kernel):
        with pytest.raises(ValueError, match=r"unknown step 'tilde'. Do you mean tiled\? The steps are: naive, "):
            build("tilde")


def test_every_cuda_step_is_counted():
    titles = {title for title, _ in kept()}
    for name in ladder.steps("CUDA"):
        said = f"{name} with {ladder.spell(ladder.STEPS[name].defaults['GPU'])}"
        assert said in titles, f"helpers/instruments/counts.json lacks {said!r}; run python tools/counts.py"
