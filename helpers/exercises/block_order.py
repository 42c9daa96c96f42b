"""Page 16: does an order of blocks reach every tile of C, and what do the blocks that run at once read?"""

from gpu_model.block_order import Order, left_out, tiles_read
from gpu_model.block_order import row_by_row as row_by_row  # a page has it from here
from kernel_judge import Finding, Kind, Report
from kernel_judge.answers import NOT_YET, Answer, raised, source_around

GRIDS = (5, 7), (13, 3), (3, 20), (64, 100), (64, 64)
LEFT = "in a grid of {down} x {across} no block takes tile {tile}"
MUCH = "the first {together} blocks of a grid of {down} x {across} read {rows} + {columns} rows and columns, not {most}"


def judge_order(order: Order, together: int = 116, most: int = 23) -> Report:
    """Judge an order of blocks: each tile of C has one, and the first `together` read `most` rows and columns."""
    for down, across in GRIDS:
        try:
            lost = order(0, 1, 1) is None or left_out(order, down, across)
        except Exception as error:  # a reader's function may fail in any way
            return Answer(order.__name__, (raised(error),), source_around(order))
        if lost is True:
            return Answer(order.__name__, (NOT_YET,))
        if lost:
            values = dict(down=down, across=across, tile=lost[0])
            return Answer(order.__name__, (Finding(Kind.UNWRITTEN, LEFT, values=values),))
    rows, columns = tiles_read(order, down, across, together)
    if rows + columns <= most:
        return Answer(order.__name__, ())
    values = dict(together=together, down=down, across=across, rows=rows, columns=columns, most=most)
    return Answer(order.__name__, (Finding("too many loads", MUCH, values=values),))
