"""Which sizes a CPU's kernels take: patches that fill vector registers, pieces of A and B that fill caches.

`ladder.py` asks for them: those of a device, for large products, and for `packed` those of one product, too.
"""

# `packed` packs so many bytes of B at a time: a part of the L2 cache, from where every patch reads them.
PIECE = 2**20
DEEPEST, SHALLOWEST = 512, 256  # rows of such a piece: a patch's rows of A, so deep, stay in the L1 cache
COPIED = 4  # patches beside each other in a piece: so many use the same rows of A that a copy of those pays
SMALLEST_TILE = 2**20  # multiply-adds: less work is not worth another core's way to it
TILES_A_CORE = 2  # at least: while one core is held up, another takes over


def ceil_div(a, b):
    """The smallest whole number of pieces of size b that cover a."""
    return -(-a // b)


def up_to(unit, a):
    """The smallest multiple of `unit` that is not below a."""
    return ceil_div(a, unit) * unit


def vector(device):
    """Floats in a vector of OpenCL that fills that device's vector register, 4 at least."""
    return next((width for width in (16, 8, 4) if width <= device.vector_width), 4)


def vector_registers(device):
    """How many vector registers a core has: 32 of 16 floats, 16 of 8 floats, and on ARM 32 of 4 floats."""
    return 16 if vector(device) == 8 else 32


def patch_columns(device, TM):
    """Vectors in a patch's row: its TM rows of sums, a row of B and one number of A fill the registers. At most 8."""
    return min(8, (vector_registers(device) - 1) // (TM + 1))


def register_patch_defaults(device):
    """For a CPU: two vectors wide, and so many rows that the sums, a row of B and a number of A stay in registers."""
    TM = max(rows for rows in (4, 6, 8) if rows * 2 + 2 + 1 <= vector_registers(device))
    BM, BN = 16 * TM, 256
    BK = max(8, min(128, device.shared_bytes // (4 * (BM + BN)) // 8 * 8))
    return dict(BM=BM, BN=BN, BK=BK, TM=TM, TN=2)


def packed_defaults(device):
    """The parameters of `packed` on a CPU: a patch fills the vector registers, a piece of B its share of a cache."""
    VW, TM = vector(device), 6
    TN = patch_columns(device, TM)
    BN = widest_piece(device, TN * VW)
    # Two strips: a check leaves a size of 1 as it is, and by shape there may be several.
    return dict(BM=128 * TM, BN=BN, BK=piece_depth(device, BN, TN, VW), TM=TM, TN=TN, VW=VW, STRIPS=2)


def piece_bytes(device):
    """How much of local memory a piece of B takes: it leaves room for a copy of a few rows of A."""
    return min(PIECE, device.shared_bytes * 3 // 4)


def widest_piece(device, panel):
    """Columns of a piece of B, in whole panels: `SHALLOWEST` rows deep, or half of that to copy A."""
    panels = piece_bytes(device) // (4 * panel)  # so many, if they were of one row
    return max(1, panels // SHALLOWEST, min(COPIED, 2 * panels // SHALLOWEST)) * panel


def piece_depth(device, BN, TN, VW):
    """Rows of a piece of B, a whole number of vectors; twice as many where no copy of A needs the L1 cache."""
    deepest = DEEPEST if BN >= COPIED * TN * VW else 2 * DEEPEST
    return max(VW, min(deepest, piece_bytes(device) // (4 * BN) // VW * VW))


def packed_by_shape(p, device, M, N, K):
    """The parameters of `packed` for one product, from `p`, those for large ones."""
    VW = next((width for width in (4, 8) if N <= width < p["VW"]), p["VW"])
    # A patch takes about the time of its rows, and of one more for its row of B. No vector without a column of C, and
    # no panel for which local memory has no room.
    TM = min(range(p["TM"], 0, -1), key=lambda rows: ceil_div(M, rows) * (rows + 1))
    TN = min(patch_columns(device, TM), ceil_div(N, VW), max(1, piece_bytes(device) // (4 * VW * VW)))
    panel, most = TN * VW, widest_piece(device, TN * VW)
    tiles = max(1, min(TILES_A_CORE * device.units, M * N * K // SMALLEST_TILE))
    # So many of them below each other, if there are so many patches, that a product asks for the fewest numbers: one
    # of B serves a tile's rows, one of A the columns of a piece.
    patches, panels = ceil_div(M, TM), ceil_div(N, panel)
    cuts = [down for down in range(1, min(tiles, patches) + 1) if tiles % down == 0 and tiles // down <= panels]
    down = min(cuts, key=lambda down: down / M + 1 / min(N * down / tiles, most), default=min(tiles, patches))
    BM, width = up_to(TM, ceil_div(M, down)), up_to(panel, ceil_div(N, ceil_div(tiles, down)))
    BN = even_share(width, most, panel)
    BK = even_share(K, piece_depth(device, BN, TN, VW), VW)
    return p | dict(BM=BM, BN=BN, BK=BK, TM=TM, TN=TN, VW=VW, STRIPS=ceil_div(width, BN))


def even_share(length, most, unit):
    """The size of a piece, in whole units, all nearly alike, of a length cut into pieces of `most` at most."""
    return min(most, up_to(unit, ceil_div(length, ceil_div(length, most))))
