"""Sizes for a CPU: patches that fill registers, pieces that fill caches, tiles that fill cores."""

import pytest

from helpers import cpu_sizes, ladder
from helpers.devices import Device
from helpers.launch import dialect

PACKED, REGISTER_2D = ladder.STEPS["packed"], ladder.STEPS["register_2d"]


def cpu(width=16, units=2, kib=2048):
    """A CPU with vectors of so many floats, so many cores, and so much local memory."""
    return Device("OpenCL", "a CPU", "CPU", "", 4096, kib << 10, None, width, units)


@pytest.mark.parametrize(
    "width, kib, packed, register_2d",  # BM, BN, BK, TM, TN, VW, STRIPS; BM, BN, BK, TM, TN
    [
        (16, 2048, (768, 1024, 256, 6, 4, 16, 2), (128, 256, 128, 8, 2)),  # a piece of B is 1 MiB at most
        (16, 256, (768, 256, 192, 6, 4, 16, 2), (128, 256, 128, 8, 2)),  # as wide as a copy of A's rows pays
        (8, 1024, (768, 768, 256, 6, 2, 8, 2), (96, 256, 128, 6, 2)),  # 16 registers in place of 32
        (8, 32, (768, 48, 128, 6, 2, 8, 2), (96, 256, 16, 6, 2)),
        (4, 48, (768, 64, 144, 6, 4, 4, 2), (128, 256, 32, 8, 2)),
        (1, 16, (768, 16, 192, 6, 4, 4, 2), (128, 256, 8, 8, 2)),
    ],
)
def test_a_patch_fits_the_registers_and_tiles_the_local_memory(width, kib, packed, register_2d):
    device = cpu(width, kib=kib)
    assert tuple(ladder.parameters(PACKED, device, {}).values()) == packed
    assert tuple(REGISTER_2D.defaults_for(device).values()) == register_2d


@pytest.mark.parametrize(
    "device, shape, sizes",  # BM, BN, BK, TM, TN, VW, STRIPS
    [
        (cpu(), (128, 128, 128), (132, 64, 128, 6, 4, 16, 1)),
        (cpu(), (2048, 2048, 2048), (1026, 1024, 256, 6, 4, 16, 1)),
        (cpu(), (8192, 8192, 8192), (8196, 1024, 256, 6, 4, 16, 2)),  # 256 rows of a piece leave no room for a wider
        (cpu(), (16, 2048, 512), (16, 576, 256, 4, 6, 16, 1)),  # a tile of fewer rows would pack B for these few
        (cpu(), (2048, 2, 256), (2052, 4, 256, 6, 1, 4, 1)),  # no lane without a column that a narrower vector spares
        (cpu(), (2048, 4, 256), (1026, 4, 256, 6, 1, 4, 1)),
        (cpu(), (2048, 8, 256), (516, 8, 256, 6, 1, 8, 1)),
        (cpu(), (1, 2048, 2048), (1, 512, 512, 1, 8, 16, 1)),  # a quarter of the row for each tile
        (cpu(units=3), (3000, 1000, 500), (1002, 512, 512, 6, 4, 16, 1)),  # six tiles of one height
        (cpu(units=64), (128, 128, 128), (132, 64, 128, 6, 4, 16, 1)),  # little work is not cut for many cores
        (cpu(8), (7, 700, 700), (8, 240, 352, 4, 3, 8, 1)),
        (cpu(8, 64, 256), (1000, 1000, 1000), (126, 64, 504, 6, 2, 8, 1)),
        (cpu(8, 500, 256), (1024, 1024, 1024), (42, 32, 1024, 6, 2, 8, 1)),  # narrow: twice as deep
        (cpu(4, 3, 32), (477, 15, 7643), (84, 16, 384, 6, 4, 4, 1)),
        (cpu(kib=2), (30, 300, 300), (30, 16, 16, 6, 1, 16, 10)),  # no panel for which there is no room
    ],
)
def test_sizes_that_packed_takes(device, shape, sizes):
    """Every core gets a tile, as long as it is worth it; the last one reaches no further than its last patch must."""
    p = PACKED.by_shape(PACKED.defaults_for(device), device, *shape)
    assert tuple(p.values()) == sizes and ladder.parameters(PACKED, device, p) == p


def test_local_memory_holds_a_piece_of_b_and_a_copy_of_a_patch_s_rows():
    p = dict(BM=4, BN=32, BK=16, TM=2, TN=2, VW=4)
    assert PACKED.value("staged", p) == 32 * 16 + 2 * 16
    assert PACKED.value("staged", p | dict(BN=16)) == 16 * 16  # two panels beside each other copy nothing
    assert f"COPIED (BN >= {cpu_sizes.COPIED} * PANEL)" in dialect("OpenCL").source_of("packed")
