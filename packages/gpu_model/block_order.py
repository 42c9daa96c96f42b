"""Which block computes which tile of C, and which tiles of A and B the blocks that run at once read."""

from collections.abc import Callable

Order = Callable[[int, int, int], tuple[int, int]]  # (a block's number, rows, columns of the grid) -> (row, column)


def row_by_row(number: int, down: int, across: int) -> tuple[int, int]:
    """The order in which x runs along a row of C."""
    return divmod(number, across)


def column_by_column(number: int, down: int, across: int) -> tuple[int, int]:
    """The order in which x runs down a column of C."""
    return number % down, number // down


def tiles_read(order: Order, down: int, across: int, together: int) -> tuple[int, int]:
    """(rows of tiles of A, columns of tiles of B) that the first so many blocks of a grid read, each counted once."""
    places = [order(number, down, across) for number in range(min(together, down * across))]
    return len({row for row, _ in places}), len({column for _, column in places})
