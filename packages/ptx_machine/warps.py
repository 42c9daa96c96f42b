"""What a warp asks for with one instruction: sectors of global memory, wavefronts of shared memory."""

import numpy as np

WARP = 32  # threads that run in step
WIDE = 1 << 12  # threads, for which NumPy takes longer than Python takes to call it
SECTOR = 32  # bytes: the least that global memory moves
LINE = 128  # bytes: of a cache
BANKS = 32  # words of 4 bytes that shared memory serves at once
NOBODY = -1


def sectors(units: np.ndarray, size: int, piece: int = SECTOR) -> tuple[int, int, int]:
    """How many sectors of 32 bytes warps touch: (instructions, sectors, the fewest that could hold as much).

    `units`: int64 (warps, 32, w), one instruction a warp: which w units of `size` bytes each thread asks for, counted
    from a sector's beginning; -1 for a thread that takes no part. `piece`: LINE counts lines of 128 bytes instead.
    Example: 32 threads that ask for neighbouring words, from a sector's beginning on, touch 4 sectors, and 4 is the
    fewest; 32 rows of a large matrix are 32 sectors.
    """
    rows, first = distinct(units.reshape(len(units), -1))
    of_sector = rows * size // piece
    new = first.copy()
    new[:, 1:] &= (of_sector[:, 1:] != of_sector[:, :-1]) | (rows[:, :-1] < 0)
    fewest = -(-first.sum(axis=1) * size // piece)
    return int((rows[:, -1] >= 0).sum()), int(new.sum()), int(fewest.sum())


def wavefronts(words: np.ndarray) -> tuple[int, int, int]:
    """How many wavefronts warps take: (instructions, wavefronts, the fewest that could serve as much).

    `words`: int64 (warps, 32, w), one instruction a warp: which w words of 4 bytes, 1, 2 or 4, each thread asks for,
    counted from bank 0; -1 for a thread that takes no part. Example: 32 threads that ask for every second word take 2
    wavefronts, and 1 is the fewest.

    A bank serves one word at a time; threads that ask for the same word are served together. A warp's request of 4
    bytes a thread is served at once; of 8 bytes, half a warp at a time; of 16 bytes, a quarter: so that no more than
    32 words are asked for together. Sources: NVIDIA, GTC 2019, talk S9593, "cuTENSOR" (phases of 8 threads for 128-bit
    accesses), cited in github.com/Dao-AILab/flash-attention/issues/738 and github.com/NVIDIA/cutlass/issues/898; CUDA
    C++ Programming Guide, "Compute Capability 7.x", for 4 bytes. Two quarters that ask for the same words may be served
    together (github.com/NervanaSystems/maxas/issues/8); that is not counted.
    """
    rows, first = distinct(words.reshape(-1, BANKS))
    place = np.arange(len(rows))[:, None] * BANKS + rows % BANKS
    busy = np.bincount(place[first], minlength=rows.size).reshape(rows.shape).max(axis=1)
    return int((words >= 0).any(axis=(1, 2)).sum()), int(busy.sum()), int((busy > 0).sum())


def paired(units: np.ndarray) -> int:
    """In how many instructions threads n and n ^ 1, or n and n ^ 2, always ask for the same; `units` as for `sectors`.

    Example: 1 for a warp that reads one number together; 0 for one that reads 32 neighbours.
    """
    busy, whole, thread = (units >= 0).any(axis=(1, 2)), np.zeros(len(units), bool), np.arange(WARP)
    for apart in (1, 2):
        others = units[:, thread ^ apart]
        whole |= ((units == others) | (units < 0) | (others < 0)).all(axis=(1, 2))
    return int((busy & whole).sum())


def around(words: np.ndarray) -> np.ndarray:
    """The four words of the 16 bytes in which each thread's one word lies; `words` as for `wavefronts`."""
    return np.where(words < 0, NOBODY, words // 4 * 4 + np.arange(4))


def distinct(rows):
    """Each row in order, and where a value stands for the first time in its row; NOBODY counts for nothing."""
    rows = np.sort(rows, axis=1)
    first = rows >= 0
    first[:, 1:] &= rows[:, 1:] != rows[:, :-1]
    return rows, first
