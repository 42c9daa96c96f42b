"""How often a warp stands still for a number that it asked a memory for: its round trips, read from machine code."""

import re
from collections import Counter

from .machine_code import kind


def trips(code: list, order: list) -> Counter:
    """The round trips of a warp that runs the instructions of `code` with the numbers in `order`, one after the other.

    {ahead: how many}. A round trip begins with a load from global memory, or a group of asynchronous copies, and ends
    with the first instruction that needs it. Who asks for several numbers before needing the first makes one round trip
    for all of them. `ahead`: instructions of the warp between what it waits for and that need.
    """
    made, asked, groups, copied, trip = Counter(), {}, [], None, 0
    touches = [(kind(text), *registers(text)) for text, _ in code]
    for now, at in enumerate(order):
        text, (does, written, read) = code[at][0], touches[at]
        needed = [asked.pop(one) for one in written | read if one in asked]
        if left := re.search(r"\bDEPBAR\.LE SB0, 0x([0-9a-f]+)", text):
            done = max(0, len(groups) - int(left[1], 16))
            needed, groups = [one for one in groups[:done] if one], groups[done:]
        # What was asked for in an earlier round trip has come with it.
        if came := [when for of, when in needed if of == trip]:
            made[now - max(came)] += 1
            trip += 1
        if does.startswith("global load"):
            asked |= dict.fromkeys(written, (trip, now))
        elif does.startswith("copy"):
            copied = trip, now
        elif "LDGDEPBAR" in text:
            groups, copied = [*groups, copied], None
    return made


def order_of(loops: list, times: list) -> list:
    """Numbers of the instructions in the order of a warp, a guarded one if half of the warps run it."""
    loops = {loop for loop in loops if loop[1] - loop[0] > 1 and times[loop[1] - 1] > 0}

    def run(first, end, rate, inner):
        order, at = [], first
        while at < end:
            loop = max((one for one in inner if one[0] == at), key=lambda one: one[1], default=None)
            if loop is None:
                order += [at] * (2 * times[at] >= rate)
                at += 1
                continue
            iterations = times[loop[1] - 1]
            inside = {one for one in inner if one != loop and loop[0] <= one[0] and one[1] <= loop[1]}
            order += run(*loop, iterations, inside) * max(1, round(iterations / rate))
            at, inner = loop[1], inner - inside - {loop}
        return order

    return run(0, len(times), 1, loops)


def registers(text: str) -> tuple[set, set]:
    """The numbers of the registers that an instruction writes, and of those that it reads, its addresses among them."""
    name, _, operands = re.sub(r"^@!?U?P\w+\s+", "", text).partition(" ")
    operands = [one.strip() for one in re.split(r",(?![^\[]*\])", operands)]
    wide = int(found[1]) // 32 if (found := re.search(r"\.(64|128)\b", name)) else 1
    if re.match(r"[HI]MMA\b", name):  # sums, a part of A, a part of B, sums
        (sums, a, b, c), widths = operands[:4], (4, 4, 2, 4)
        return named(sums, 4), set().union(*map(named, (a, b, c), widths[1:]))
    if re.match(r"HGMMA\b", name):  # sums; A, where it is in registers
        return set(), named(operands[0], int(name.split("x")[1]) // 2) | named(operands[1], 4)
    if re.match(r"ST|RED|ATOM|BRA|BAR|EXIT|BSSY|BSYNC|NOP|[IF]SETP|PLOP|LDGSTS", name):
        return set(), set().union(*(named(one, 1 if "[" in one else wide) for one in operands))
    if found := re.match(r"LDSM\..*?(?:\.([24]))?$", name):
        wide = int(found[1] or 1)
    written = named(operands[0], 2 if "WIDE" in name else wide) if operands else set()
    return written, set().union(*map(named, operands[1:]))


def named(operand, wide=1):
    """The registers of an operand, such as R8, or R8 to R11 where it is four wide."""
    found = re.finditer(r"(?<![\w])R(\d+)(\.64)?", operand)
    return {int(one[1]) + n for one in found for n in range(2 if one[2] else wide)}
