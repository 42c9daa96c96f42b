"""What a GPU refuses to launch: the limits of a text's target, and those that the kernel itself names.

Source: NVIDIA's CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; PTX ISA, `.maxntid`,
`.reqntid`.
"""

import re

from .names import plain_name

THREADS = 1024  # of a block
BLOCK = (1024, 1024, 64)
GRID = (2**31 - 1, 65535, 65535)
LOCAL, CONSTANT = 512 * 1024, 64 * 1024  # bytes of local memory a thread, of constant memory a kernel
STATIC = 48 * 1024  # bytes of shared memory a block whose size the text says, as ptxas has it for each target
KILOBYTES = {50: 48, 52: 48, 53: 48, 60: 48, 61: 48, 62: 48, 70: 96, 72: 96, 75: 64, 80: 163, 86: 99, 87: 163, 88: 99}
KILOBYTES |= {89: 99, 90: 227, 100: 227, 101: 227, 103: 227, 110: 227, 120: 99, 121: 99}  # of shared memory, a block


def refuse_launch(program, grid: tuple, block: tuple) -> None:
    """Raise ValueError for a grid, a block or memory beyond what the target and the `program.Decoded` allow."""
    name = plain_name(program.program.name).rpartition("::")[2]
    threads = block[0] * block[1] * block[2]
    for what, sides, most in (("block", block, BLOCK), ("grid", grid, GRID)):
        for axis, side, limit in zip("xyz", sides, most, strict=True):
            if side > limit:
                raise ValueError(f"{what}={sides} has {side:,} along {axis}; a GPU takes {limit:,} there at most.")
    if threads > THREADS:
        raise ValueError(f"block={block} has {threads} threads; a block has {THREADS} at most.")
    for directive, sides in program.program.limits.items():
        sides = (*sides, 1, 1)[:3]
        allowed = sides[0] * sides[1] * sides[2]
        if directive == "reqntid" and block != sides:
            raise ValueError(f"block={block}; {name} takes blocks of {sides} only: its text says .reqntid.")
        if directive == "maxntid" and threads > allowed:
            raise ValueError(
                f"block={block} has {threads} threads; {name} takes {allowed} at most: its text says .maxntid "
                f"{sides}, as __launch_bounds__ asks for."
            )
    used, target = program.memory_of_block(), program.program.target
    limit = 1024 * KILOBYTES.get(int(re.sub(r"\D", "", target) or 0), max(KILOBYTES.values()))
    if used > limit:
        raise ValueError(
            f"{name} takes {used:,} bytes of shared memory a block; GPUs of its target, {target or 'any'}, have "
            f"{limit:,} at most. Make its shared arrays smaller."
        )
    for what, arrays, most in (
        ("shared memory a block by its text", program.program.shared, STATIC),
        ("constant memory", program.program.constant, CONSTANT),
        ("local memory a thread", program.program.local, LOCAL),
    ):
        if (taken := sum(array.bytes for array in arrays)) > most:
            raise ValueError(f"{name} takes {taken:,} bytes of {what}; a GPU gives {most:,} at most.")
