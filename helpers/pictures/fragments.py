"""Which lane of a warp holds which number, when a GPU's matrix units multiply two tiles."""

from matplotlib.figure import Figure

from ptx_machine import WARP

from ..language import said
from .drawing import A_COLOUR, B_COLOUR, C_COLOUR, HIGH, Picture, label, look, panel, product_axes, refuse_outside, tint

ROWS, COLUMNS, DEPTH = 16, 8, 8  # of TF32 numbers
PALE = 0.12


def fragment(name: str, lane: int) -> list[tuple[int, int]]:
    """The places (row, column) of the numbers of "A", "B" or "C" that a lane holds, in the order of its registers.

    Source: NVIDIA's PTX ISA, "Matrix Fragments for mma.m16n8k8", type TF32.
    """
    group, place = divmod(lane, 4)
    if name == "A":
        return [(group + r % 2 * 8, place + r // 2 * 4) for r in range(4)]
    if name == "B":
        return [(place + r * 4, group) for r in range(2)]
    return [(group + r // 2 * 8, place * 2 + r % 2) for r in range(4)]


@look
def picture_fragments(lane: int = 5) -> Picture:
    """The product of 16 x 8 by 8 x 8 TF32 numbers that a warp's 32 lanes do together.

    Each cell bears the lane that holds it; those of `lane` are coloured. Raises ValueError for what is no lane.
    """
    refuse_outside("lane", lane, WARP, "lanes of a warp")
    figure = Figure(figsize=(5.0, HIGH))
    ax_A, ax_B, ax_C = product_axes(figure, ROWS, COLUMNS, DEPTH, top=0.92)
    held = []
    for name, ax, rows, columns, colour in (
        ("A", ax_A, ROWS, DEPTH, A_COLOUR),
        ("B", ax_B, DEPTH, COLUMNS, B_COLOUR),
        ("C", ax_C, ROWS, COLUMNS, C_COLOUR),
    ):
        holders = {cell: one for one in range(WARP) for cell in fragment(name, one)}
        colours = {cell: colour if one == lane else tint(colour, PALE) for cell, one in holders.items()}
        panel(ax, rows, columns, colours, name, colour, {cell: str(one) for cell, one in holders.items()})
        held.append(", ".join(f"{name}[{row}, {column}]" for row, column in fragment(name, lane)))
    figure.suptitle(label("which lane holds which number; lane {lane} is coloured", lane=lane), x=0.03, ha="left")
    text = "A of 16 x 8, B of 8 x 8 and C of 16 x 8 numbers, shared out among {warp} lanes. Lane {lane} holds {held}."
    return Picture(figure, said(text, warp=WARP, lane=lane, held="; ".join(held)))
