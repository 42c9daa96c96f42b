"""Page 16: does an order of blocks reach every tile of C, and what do the blocks that run at once read?"""

from gpu_model.block_order import Order, tiles_read
from kernel_judge import Finding, Kind, Report
from kernel_judge.answers import Answer, called

GRIDS = (5, 7), (13, 3), (3, 20), (64, 100), (64, 64)
TAKEN = "in a grid of {down} x {across} (down x across) block {number} takes tile {tile}, outside or taken already"
MUCH = "the first 116 blocks of a grid of 64 x 64 read {rows} + {columns} rows and columns, not 23"


def judge_order(order: Order) -> Report:
    """Judge an order of blocks: each tile of C has one, and those that an L4 runs at once read no more than 23."""
    name = order.__name__
    for down, across in GRIDS:
        free = {divmod(place, across) for place in range(down * across)}
        for number in range(down * across):
            tile, refused = called(order, (number, down, across), f"{name}{number, down, across}")
            if refused is not None:
                return refused
            if not isinstance(tile, tuple) or tile not in free:
                values = dict(number=number, tile=tile, down=down, across=across)
                return Answer(name, (Finding(Kind.WRONG_PLACE, TAKEN, values=values),))
            free.remove(tile)
    rows, columns = tiles_read(order, *GRIDS[-1], 116)
    much = Finding("too many loads", MUCH, values=dict(rows=rows, columns=columns))
    return Answer(name, (much,) if rows + columns > 23 else ())
