"""Who stores which element of C: blocks that overlap are a mistake, though each of them may store the right number."""

from collections import defaultdict
from collections.abc import Iterable

from .. import ladder
from ..launch import Kernel, KernelError, draw
from ..sandbox import Finding

MOST = 1024  # elements of a tile; a larger one has more accesses than are noted
MOST_A_PRODUCT = 12  # accesses; under Oclgrind the room for more takes longer than the launch


def overlap(k: Kernel, stores: Iterable) -> list[Finding]:
    """What two blocks store, as findings. `stores`: ((row, column), (block's x, y)) of each store to C, none atomic.

    The last two blocks of a side may overlap: to shift the last one back spares its guards.
    """
    stored_by, blocks = defaultdict(set), set()
    for element, block in stores:
        stored_by[element].add(block)
        blocks.add(block)
    ends = [max(numbers) for numbers in zip(*blocks, strict=True)]
    for element in sorted(stored_by):
        of = sorted(stored_by[element])
        if any(len({block[side] for block in of}) > 1 and min(block[side] for block in of) < ends[side] - 1
               for side in (0, 1)):  # fmt: skip
            message = f"blocks {of[0]} and {of[1]} both store C[{element[0]}, {element[1]}]"
            if all(those == blocks for those in stored_by.values()):
                message += "; every block stores all of C"
            else:
                message += begins(k, stored_by)
            return [Finding("blocks overlap", message)]
    return []


def begins(k: Kernel, stored_by: dict) -> str:
    """Where the blocks of a side begin, if that is not where they should."""
    rows, columns, _ = ladder.STEPS[k.step].tile(k.parameters)
    down = k.grid(2 * rows, columns).index(2)  # the side that counts rows: x in the naive step
    for name, which, size, side in (("row", 0, rows, down), ("column", 1, columns, 1 - down)):
        pairs = [(block[side], element[which]) for element, blocks in stored_by.items() for block in blocks]
        found = sorted(dict(sorted(pairs, reverse=True)).values())  # the first of each block, in any order of these
        if found != [size * number for number in range(len(found))]:
            places = ", ".join(map(str, found[:4]))
            return f"; the blocks begin at the {name}s {places}, and should at block number times {size}"
    return ""


def nine_blocks(k: Kernel) -> tuple[int, int, int]:
    """The smallest (M, N, K) of three blocks along each side, and two products a sum."""
    rows, columns, _ = ladder.STEPS[k.step].tile(k.parameters)
    return 2 * rows + 1, 2 * columns + 1, 2


def can_be_noted(k: Kernel) -> bool:
    """Whether its tile is small enough for all accesses to be noted."""
    rows, columns, _ = ladder.STEPS[k.step].tile(k.parameters)
    return rows * columns <= MOST


def overlap_noted(k: Kernel) -> list[Finding]:
    """In a child: who stores what, of an OpenCL kernel with notes in its source; nothing where it takes no notes."""
    from ..instruments.noted import noted_launch  # which needs pyopencl

    (rows, columns, depth), (M, N, K) = ladder.STEPS[k.step].tile(k.parameters), nine_blocks(k)
    try:
        accesses, _ = noted_launch(k, *draw(M, N, K), most=MOST_A_PRODUCT * 9 * rows * columns * max(K, depth))
    except KernelError:
        return []
    stores = accesses[accesses["writes"] & (accesses["array"] == "C")]
    places = [divmod(index, N) for index in stores["index"].tolist()]
    return overlap(k, zip(places, [tuple(block[:2]) for block in stores["block"].tolist()], strict=True))
