"""Sizes for a CPU: patches that fill registers, pieces that fill caches, tiles that fill cores."""

from pathlib import Path

import nbformat
import pytest

from helpers import cpu_sizes, ladder
from helpers.devices import Device
from helpers.launch import dialect

PACKED = ladder.STEPS["packed"]


def cpu(width=16, units=2, kib=2048):
    """A CPU with vectors of so many floats, so many cores, and so much local memory."""
    return Device("OpenCL", "a CPU", "CPU", "", 4096, kib << 10, None, width, units)


def fitted(device, *shape):
    return PACKED.by_shape(PACKED.defaults_for(device), device, *shape)


@pytest.mark.parametrize("width", [16, 8, 4, 1])
@pytest.mark.parametrize("kib", [32, 48, 256, 1024, 2048])
def test_packed_fits_any_cpu(width, kib):
    """Patches fit registers. A piece of B and a copy of some rows of A fit local memory, and most of it is used."""
    p = ladder.parameters(PACKED, cpu(width, kib=kib), {})  # it refuses what the device cannot hold
    registers = {16: 32, 8: 16, 4: 32}[p["VW"]]
    assert p["VW"] == max(width, 4) and p["TM"] * p["TN"] + p["TN"] + 1 <= registers
    piece = min(1 << 20, kib * 768)
    assert piece / 2 < 4 * p["BN"] * p["BK"] <= piece
    assert p["BN"] >= cpu_sizes.COPIED * p["TN"] * p["VW"] or kib < 1024


@pytest.mark.parametrize("width", [16, 8, 4])
@pytest.mark.parametrize("kib", [256, 1024, 2048])
def test_page_12_has_room_for_its_deep_pieces(width, kib):
    """Intel's runtime has 256 KiB of local memory on Windows. There, too, they are 512 rows deep, and A is copied."""
    page = nbformat.read(Path(__file__).parents[1] / "notebooks" / "12_cpu_blocking.ipynb", as_version=4)
    source = next(cell.source for cell in page.cells if "BK=512" in cell.source)

    def opencl_kernel(source, like, **sizes):
        return ladder.parameters(PACKED, cpu(width, kib=kib), sizes)  # it refuses what the device cannot hold

    names = dict(opencl_kernel=opencl_kernel, sources=["packed's"])
    exec(source[: source.index("plain, half, both")], names)
    assert names["sizes"].pop("like") == "packed"
    p = ladder.parameters(PACKED, cpu(width, kib=kib), names["sizes"])
    assert p["BK"] == 512 and p["BN"] >= cpu_sizes.COPIED * p["TN"] * p["VW"]


@pytest.mark.parametrize("units, kib", [(1, 256), (1, 16), (2, 2048), (8, 32), (64, 1024)])
@pytest.mark.parametrize("width", [16, 8, 4])
@pytest.mark.parametrize(
    "M, N, K",
    [(n, n, n) for n in (1, 64, 256, 1000, 4096)]
    + [(1, 5000, 9), (2048, 2, 9), (16, 2048, 4), (2, 2048, 99), (4, 97, 500), (5000, 5000, 9), (477, 15, 76434)],
)
def test_packed_follows_the_shape(units, kib, width, M, N, K):
    """A tile reaches no further than its last patch must; every core gets one, as long as it is worth it."""
    device = cpu(width, units, kib)
    p = fitted(device, M, N, K)
    assert ladder.parameters(PACKED, device, p) == p  # legal
    panel, columns = p["TN"] * p["VW"], p["STRIPS"] * p["BN"]
    assert p["BM"] < M + p["TM"] and p["BN"] < max(2 * N, panel + 1)
    tiles = ladder.ceil_div(M, p["BM"]) * ladder.ceil_div(N, columns)
    all_patches = tiles >= ladder.ceil_div(M, p["TM"]) * ladder.ceil_div(N, panel) / 2
    assert M == 1 or tiles >= units or all_patches or M * N * K / tiles < 2 * cpu_sizes.SMALLEST_TILE
    # The last tile is as high as the others, but for a patch, and as wide, but for a panel a strip, and the last piece
    # of K as deep, but for a vector.
    sides = (M, p["BM"], p["TM"]), (N, columns, panel * p["STRIPS"]), (K, p["BK"], p["VW"])
    for length, piece, unit in sides[: 3 if M > 1 else 0]:
        pieces = ladder.ceil_div(length, piece)
        assert pieces == 1 or pieces * piece - length < pieces * unit


@pytest.mark.parametrize(
    "shape, sizes",
    [
        ((128,) * 3, dict(BM=132, BN=64, BK=128, STRIPS=1)),
        ((2048,) * 3, dict(BM=1026, BN=1024, BK=256, STRIPS=1)),
        ((4096,) * 3, dict(BM=4098, BN=1024, BK=256, STRIPS=1)),
        ((8192,) * 3, dict(BM=8196, BN=1024, BK=256, STRIPS=2)),  # no piece is wider than 256 rows of it leave room
        ((16, 2048, 512), dict(BM=16, BN=576, TM=4)),  # few rows are not cut: a tile would pack B for fewer still
        ((17, 2048, 2048), dict(TM=6)),
        ((2048, 16, 2048), dict(BM=516, BN=16, BK=1024, TN=1)),  # narrow: cut into rows only,
        ((2048, 2, 256), dict(BN=4, VW=4)),  # no lane without a column that a narrower vector spares
        ((2048, 8, 256), dict(BN=8, VW=8)),
        ((1, 2048, 2048), dict(BM=1, BN=512, TM=1, TN=8)),  # a quarter of the row for each tile
        ((1, 40, 2048), dict(TN=3)),  # no vector without a column
        ((4, 1024, 1024), dict(TM=4, TN=6)),  # few rows: a wider patch fills the registers
    ],
)
def test_sizes_that_packed_takes(shape, sizes):
    p = fitted(cpu(), *shape)
    assert {name: p[name] for name in sizes} == sizes


def test_little_work_is_not_cut_for_many_cores():
    p = fitted(cpu(units=64), 128, 128, 128)
    tiles = ladder.ceil_div(128, p["BM"]) * ladder.ceil_div(128, p["STRIPS"] * p["BN"])
    assert tiles == 128**3 // cpu_sizes.SMALLEST_TILE


def test_local_memory_holds_a_piece_of_b_and_a_copy_of_a_patch_s_rows():
    p = dict(BM=4, BN=32, BK=16, TM=2, TN=2, VW=4)
    assert PACKED.value("staged", p) == 32 * 16 + 2 * 16
    assert PACKED.value("staged", p | dict(BN=16)) == 16 * 16  # two panels beside each other copy nothing
    assert f"COPIED (BN >= {cpu_sizes.COPIED} * PANEL)" in dialect("OpenCL").source_of("packed")


@pytest.mark.parametrize("M, patch", [(2, (2, 5)), (3, (3, 3)), (5, (5, 2)), (7, (4, 3)), (15, (5, 2)), (64, (6, 2))])
def test_a_patch_leaves_few_rows_to_spare_and_fills_the_registers(M, patch):
    p = fitted(cpu(8), M, 700, 700)
    assert (p["TM"], p["TN"]) == patch and p["TM"] * p["TN"] + p["TN"] + 1 <= 16


def test_tiles_are_the_more_even_the_better():
    """1000 rows in two tiles of 504 and 496; three cores get six tiles of one height, not four large and two small."""
    p = fitted(cpu(), 1000, 1000, 1000)
    assert (p["BM"], p["STRIPS"] * p["BN"]) == (504, 512)
    p = fitted(cpu(units=3), 3000, 1000, 500)
    tiles = ladder.ceil_div(3000, p["BM"]) * ladder.ceil_div(1000, p["STRIPS"] * p["BN"])
    assert tiles == 6


@pytest.mark.parametrize("width, registers", [(16, 32), (8, 16), (4, 32)])
@pytest.mark.parametrize("kib", [32, 64, 256])
def test_the_patch_of_register_2d_fits_a_cpus_registers_and_its_tiles_local_memory(width, registers, kib):
    step = ladder.STEPS["register_2d"]
    p = ladder.parameters(step, cpu(width, kib=kib), {})  # it refuses what the device cannot hold
    assert (p["BM"], p["TM"], p["TN"]) == {32: (128, 8, 2), 16: (96, 6, 2)}[registers]
    assert p["TM"] * p["TN"] + p["TN"] + 1 <= registers < 2 * p["TM"] * p["TN"] + p["TN"] + 1
    deeper = 4 * step.value("staged", p | dict(BK=p["BK"] + 8))
    assert deeper > kib << 10 or p["BK"] == 128  # no shallower than it must be


@pytest.mark.parametrize("width", [16, 8, 4])
@pytest.mark.parametrize("units", [1, 2, 3, 16, 64, 128, 500])
@pytest.mark.parametrize("kib", [256, 2048])
def test_patches_in_a_column_of_a_tile_at_the_shapes_of_page_16(kib, units, width):
    def high(*shape):
        p = fitted(cpu(width, units, kib), *shape)
        return p["BM"] // p["TM"]

    assert high(12, 1024, 256) == 2
    assert units > 128 or high(1024, 1024, 1024) > 2
