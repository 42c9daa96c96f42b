"""Page 16: does an order of blocks reach every tile of C, and what do the blocks that run at once read?"""

from gpu_model.block_order import Order, left_out, tiles_read
from kernel_judge import Finding, Kind, Report
from kernel_judge.answers import NOT_YET, Answer

GRIDS = (5, 7), (13, 3), (3, 20), (64, 100), (64, 64)
LEFT = "in a grid of {down} x {across} no block takes tile {tile}"
MUCH = "the first 116 blocks of a grid of 64 x 64 read {rows} + {columns} rows and columns, not 23"


def judge_order(order: Order) -> Report:
    """Judge an order of blocks: each tile of C has one, and those that an L4 runs at once read no more than 23."""
    found = []
    if order(0, 1, 1) is None:
        return Answer(order.__name__, (NOT_YET,))
    for down, across in GRIDS:
        if (lost := left_out(order, down, across)) and not found:
            found.append(Finding(Kind.UNWRITTEN, LEFT, values=dict(down=down, across=across, tile=lost[0])))
    rows, columns = tiles_read(order, *GRIDS[-1], 116)
    if rows + columns > 23:
        found.append(Finding("too many loads", MUCH, values=dict(rows=rows, columns=columns)))
    return Answer(order.__name__, tuple(found))
