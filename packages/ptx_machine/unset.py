"""Numbers that nobody has set, and where they go.

A thread may load from an array of its own, or get from its warp, what nobody has set: a compiler does so with what it
does not use. So such a number is followed from register to register, and found where it is used: as an address, in a
decision, in memory that others see. Instructions are followed from the first such number on only.
"""

import numpy as np

from .program import bits_of

MEMORY = ("load", "store", "atomic", "copy")


class Unset:
    """Which registers of some `Blocks` hold no number.

    rows   {bits: (registers, lanes) int32}: 0, or 1 + the instruction that brought it
    brings  {instruction: what it brought, in words}
    """

    def __init__(self, blocks):
        self.blocks, self.brings = blocks, {}
        self.rows = {
            bits: np.zeros((many, blocks.lanes), np.int32) for bits, many in blocks.launch.program.rows.items()
        }

    def of(self, operand, lanes):
        """What brought an operand of these lanes; (lanes,), or 0 for one that is a number."""
        if not isinstance(operand, tuple):
            return 0
        return self.rows[bits_of(operand[0])][operand[1]][lanes]

    def bring(self, number, operands, lanes, text):
        """An instruction gives these lanes what nobody has set, in these registers. text: what, for a finding"""
        self.brings.setdefault(number, text)
        for kind, row in operands:
            self.rows[bits_of(kind)][row][lanes] = number + 1

    def follow(self, op, number, lanes, doing):
        """An instruction is about to be done by `doing`, of `lanes` that stand there."""
        if op.guard is not None:
            self.use(number, lanes, self.rows[1][op.guard][lanes])
        if op.act in MEMORY:
            self.use(number, doing, self.of(op.of[0], doing))
            result = 0
        elif op.act == "branch_by_number":
            self.use(number, doing, self.of(op.of[0], doing))
            return
        else:
            result = self.through(op, doing)
        for kind, row in op.to:
            self.rows[bits_of(kind)][row][doing] = result

    def through(self, op, lanes):
        """What an instruction's result of these lanes comes from."""
        if op.act != "compute":
            return 0
        taken = [self.of(operand, lanes) for operand in op.of]
        if op.instruction.name[0] == "selp":
            chosen = self.blocks.full(op.of[2], lanes, lanes)
            return np.maximum(np.where(chosen, taken[0], taken[1]), taken[2])
        result = 0
        for one in taken:
            result = np.maximum(result, one)
        return result

    def use(self, number, lanes, brought):
        """Find what these lanes use that nobody has set."""
        if not np.count_nonzero(brought):
            return
        first = int(np.argmax(brought))
        origin, launch = int(brought[first]) - 1, self.blocks.launch
        text = f"{self.blocks.who(lanes[first])} {self.brings[origin]}, and uses it at {launch.spell_line(number)}"
        launch.find("uninitialised", origin, text, np.count_nonzero(brought), number)
