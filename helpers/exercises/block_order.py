"""Page 16: does an order of blocks reach every tile of C, and what do the blocks that run at once read?"""

from gpu_model.block_order import Order, left_out, tiles_read
from kernel_judge import Finding, Kind, Report
from kernel_judge.answers import NOT_YET, Answer, raised, source_around

GRIDS = (64, 64), (5, 7), (13, 3), (64, 100), (3, 20)
LEFT = (
    "in a grid of {down} x {across} no block takes tile {tile}; block {number} is the first at a taken place, {place}"
)
MUCH = "the first {together} blocks of a grid of {down} x {across} read {rows} + {columns} rows and columns, not {most}"


def judge_order(order: Order, together: int = 116, most: int = 23) -> Report:
    """Judge an order of blocks: each tile of C has one, and the first `together` read `most` rows and columns."""
    name, source = order.__name__, source_around(order)
    for down, across in GRIDS:
        try:
            places = [order(number, down, across) for number in range(down * across)]
            lost = None in places or left_out(order, down, across)
        except Exception as error:  # a reader's function may fail in any way
            return Answer(name, (raised(error),), source)
        if lost is True:
            return Answer(name, (NOT_YET,))
        if lost:
            tiles = {divmod(place, across) for place in range(down * across)}
            number = next(n for n, place in enumerate(places) if place not in tiles or place in places[:n])
            values = dict(down=down, across=across, tile=lost[0], number=number, place=places[number])
            return Answer(name, (Finding(Kind.UNWRITTEN, LEFT, values=values),))
    rows, columns = tiles_read(order, *GRIDS[0], together)
    if rows + columns > most:
        values = dict(zip(("down", "across"), GRIDS[0], strict=True)) | dict(rows=rows, columns=columns)
        return Answer(name, (Finding("too many loads", MUCH, values=values | dict(together=together, most=most)),))
    return Answer(name, ())
