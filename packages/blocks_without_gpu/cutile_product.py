"""Compiles a cuTile product with no GPU, runs its Tile IR in NumPy, block by block, and counts its machine code."""

import inspect
import linecache
import os
import re
import reprlib
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from gpu_model.gpus import ceil_div, integer, known
from gpu_model.machine_code import instructions, told_by
from ptx_machine import Finding

from .product_run import BlockError, Judged, about_counts, about_numbers, operands

ITEM = {"float32": 4, "tf32": 4, "float16": 2}  # bytes of a number of A and B
PROMISE = 16  # cuTile's launch promises that sides, and bytes of a row, are multiples of 16 where they are
KINDS = {"f32": "f4", "tf32": "f4", "f16": "f2", "i32": "i4"}  # of Tile IR, as NumPy has them
MAKES = {  # what an operation of Tile IR makes of its text and of what it takes
    "make_token": lambda text: [None],
    "join_tokens": lambda text, *tokens: [None],
    "return": lambda text: [],
    "assume": lambda text, one: [one],
    "constant": lambda text: [
        np.full(tile_of(text)[0], float(re.search(r": ([^>]+)>", text)[1]), tile_of(text)[1])[()]
    ],
    "make_tensor_view": lambda text, array, *sizes: [array],
    "make_partition_view": lambda text, array: [tiles_of(text, *array)],
    "get_index_space_shape": lambda text, tiles: tiles.many,
    "addi": lambda text, a, b: [a + b],
    "addf": lambda text, a, b: [a + b],
    "subi": lambda text, a, b: [a - b],
    "muli": lambda text, a, b: [a * b],
    "mulf": lambda text, a, b: [a * b],
    "fma": lambda text, a, b, c: [a * b + c],
    "divi": lambda text, a, b: [-(-a // b) if "positive_inf" in text else a // b],
    "reshape": lambda text, a: [np.reshape(a, tile_of(text)[0])],
    "broadcast": lambda text, a: [np.broadcast_to(a, tile_of(text)[0])],
    "ftof": lambda text, a: [as_tf32(a) if text.endswith("xtf32>") else a.astype(tile_of(text)[1])],
    "mmaf": lambda text, a, b, acc: [(np.float32(a) @ np.float32(b) + acc).astype(tile_of(text)[1])],
}


class TileRun(Judged, SimpleNamespace):
    """What came of running a cuTile product in NumPy: true where C (M, N) is right, and nothing was found.

    M, N, K, numbers; C; `loaded_bytes` of A and B by all blocks; `findings`; `tile_ir`, the text that ran.
    """

    def __bool__(self):
        return not self.findings

    def __repr__(self):
        return self.verdict


def run_cutile(
    kernel: Callable, M: int, N: int, K: int, numbers: str = "float32", arrays: tuple | None = None, **constants: int
) -> TileRun:
    """Compile a cuTile product to Tile IR, and run that in NumPy, with no GPU. Returns `TileRun`.

    kernel  a function under `@ct.kernel` of (A, B, C) and constants, `ct.Constant[int]`. Its block (x, y) computes the
            BM x BN tile y down and x across of C (M, N), which is float32.
    The rest, and errors, as of `run_triton`; "tf32" is for a kernel that rounds to it. What sticks out of a matrix is
    NaN where no padding is asked for. A tile that a matrix does not have is a finding, "out of bounds".
    """
    text = compiled(kernel, integer("M", M), integer("N", N), integer("K", K), numbers, tuple(constants.items()))
    A, B = operands(arrays, M, N, K, numbers)
    C = np.full((M, N), np.nan, np.float32)
    machine = Machine(text, {"A": A, "B": B, "C": C})
    for machine.block in np.ndindex(ceil_div(N, constants["BN"]), ceil_div(M, constants["BM"]), 1):
        with np.errstate(all="ignore"):
            machine.do(machine.body, dict(machine.arguments))
    lines = linecache.getlines(kernel._annotated_function.pyfunc.__code__.co_filename)
    found = [replace(one, text=f"from {lines[one.source - 1].strip()}") for one in machine.findings.values()]
    found = (*found, *about_counts(machine.stores)) or about_numbers(C, A, B, numbers)
    size = dict(M=M, N=N, K=K, numbers=numbers, loaded_bytes=machine.loaded_bytes)
    return TileRun(**size, C=C, findings=found, tile_ir=text)


def cutile_code(kernel: Callable, gpu: str, M: int, N: int, K: int, numbers: str = "float32", **constants) -> Counter:
    """Compile a cuTile product for a GPU that need not be there. Returns {instruction: how often the code has it}.

    `gpu`: a name of `gpu_model.GPUS`, or an architecture, such as "sm_90". The rest, and errors, as of `run_cutile`.
    """
    arch = gpu if gpu.startswith("sm_") else known(gpu).arch
    code, _, _ = instructions(compiled(kernel, M, N, K, numbers, tuple(constants.items()), arch))
    return Counter(re.match(r"(?:@!?U?P\w+\s+)?(\w+)", text)[1] for text, _ in code)


@lru_cache(maxsize=64)
def compiled(kernel, M, N, K, numbers, constants, arch=None):
    """The Tile IR of a product with those sides, or its machine code for an architecture, as text. Raises as above."""
    import cuda.tile as ct
    from cuda.tile import compilation

    if not isinstance(kernel, ct.kernel):
        raise ValueError(f"{reprlib.repr(kernel)} is no cuTile kernel; give a function under @ct.kernel.")
    function, constants = kernel._annotated_function.pyfunc, dict(constants)
    _, _, _, *names = inspect.signature(function).parameters
    if {*names} != {*constants} or not {"BM", "BN"} <= {*names}:
        raise ValueError(f"{function.__name__} has the constants {', '.join(names)}; give BM, BN and all others.")
    if numbers not in ITEM:
        raise ValueError(f"numbers={reprlib.repr(numbers)}; they are one of {', '.join(ITEM)}.")

    def matrix(rows, columns, item):  # with the promises of cuTile's launch
        return compilation.ArrayConstraint(
            ct.float16 if item == 2 else ct.float32, 2, index_dtype=ct.int32,
            stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False, stride_constant=(None, 1),
            stride_divisible_by=(1 if columns * item % PROMISE else PROMISE // item, 1),
            shape_divisible_by=[1 if side % PROMISE else PROMISE for side in (rows, columns)],
            base_addr_divisible_by=PROMISE,
        )  # fmt: skip

    item, values = ITEM[numbers], [compilation.ConstantConstraint(integer(name, constants[name])) for name in names]
    signature = compilation.KernelSignature(
        [matrix(M, K, item), matrix(K, N, item), matrix(M, N, 4), *values],
        calling_convention=compilation.CallingConvention.cutile_python_v1(),
    )
    form, *tool = ("cubin", "nvdisasm", "--print-code") if arch else ("tileir_bytecode", "tileirdisasm", "-g")
    # cuTile finds NVIDIA's tools there, too, but not, and warns, where pip has them of two versions of CUDA.
    there = str(Path(compilation.__file__).parents[3] / "nvidia/cu13/bin")
    if there not in os.environ["PATH"]:
        os.environ["PATH"] += os.pathsep + there
    with tempfile.TemporaryDirectory(prefix="cutile-") as folder, warnings.catch_warnings(action="ignore"):
        file = Path(folder, "kernel")
        try:
            compilation.export_kernel(kernel, [signature], file, gpu_code=arch, output_format=form)
        except Exception as error:  # cuTile raises many kinds
            said = str(error).strip(" ^\n").splitlines()  # what is wrong, where, and the line
            raise BlockError(f"{function.__name__} does not compile: {said[0]}\n    from {said[-1].strip()}") from None
        return told_by(function.__name__, *tool, str(file))


class Tiles(NamedTuple):
    """A matrix, seen as tiles of that shape. What lies past its end is `padding`, and is not stored."""

    name: str
    array: np.ndarray
    shape: list
    padding: float
    many: list  # along each side


class Machine:
    """Runs a kernel's blocks: `loaded_bytes` of all, how often each element of C was stored, {line: `Finding`}."""

    def __init__(self, text: str, arrays: dict):
        [(_, _, names, _, _, self.body)] = parsed(text)
        given = [((name, X), *X.shape, X.shape[1], 1) for name, X in arrays.items()]
        self.arguments = dict(zip(names, chain(*given), strict=True))
        self.loaded_bytes, self.stores, self.findings = 0, np.zeros(arrays["C"].shape, np.int32), {}

    def do(self, operations, value):
        """Do these operations on `value`, {name: tile, number or matrix}. Returns what a turn of a loop hands on."""
        for name, made, takes, text, source, body in operations:
            given = [value.get(one) for one in takes]
            if name == "continue":
                return given
            if name == "for":
                results = given[5::2]  # behind the counter, its range, and the name that each has within
                for value[takes[0]] in range(*given[1:4]):
                    value.update(zip(takes[4::2], results, strict=True))
                    results = self.do(body, value)
            elif name == "get_tile_block_id":
                results = self.block
            elif name in ("load_view_tko", "store_view_tko"):
                results = [self.moved(source, *given)]
            else:
                try:
                    results = MAKES[name](text, *given)
                except KeyError:  # of MAKES, or of KINDS
                    needs = "A product needs ct.load, ct.mma, a for loop and arithmetic"
                    raise BlockError(f"Not known here: {text[:90]}\n    {needs}.") from None
            value.update(zip(made, results, strict=False))

    def moved(self, source, *given):
        """Load a tile and return it, or store one; a finding where its matrix has no such tile."""
        stored, (tiles, i, j) = (None, given[:3]) if isinstance(given[0], Tiles) else (given[0], given[1:4])
        place = tuple(slice(n * side, (n + 1) * side) for n, side in zip((i, j), tiles.shape, strict=True))
        part, tile = tiles.array[place], np.full(tiles.shape, tiles.padding, tiles.array.dtype)
        inside = tuple(map(slice, part.shape))
        if not (0 <= i < tiles.many[0] and 0 <= j < tiles.many[1]):
            does = f"block {self.block[:2]} {'loads' if stored is None else 'stores'} tile ({i}, {j}) of {tiles.name}"
            message = f"{does}, which has {tiles.many[0]} x {tiles.many[1]}"
            self.findings.setdefault(source, Finding("out of bounds", message, source=source))
        elif stored is None:
            tile[inside] = part
            self.loaded_bytes += part.nbytes
        else:
            part[...] = stored[inside]
            self.stores[place] += tiles.name == "C"
        return tile


def parsed(text):
    """What tileirdisasm prints, as operations: (name, what it makes, what it takes, text, line of the source, body)."""
    lines = dict(re.findall(r'^(#loc\d*) = loc\(".*":(\d+):', text, re.MULTILINE))
    places = re.findall(r"^(#loc\d+) = #cuda_tile\.di_loc<(#loc\d*) in", text, re.MULTILINE)
    sources = {f"{place})": int(lines.get(at, 0)) for place, at in places}
    stack = [[]]
    for row in text.splitlines():
        row, _, place = row.strip().partition(" loc(")
        if row == "}":
            stack.pop()
        elif row and not row.startswith("#"):
            made, does = re.fullmatch(r"(?:(%[^=]+?) = )?(.*)", row).groups()
            made = re.sub(r"(%\w+):2", r"\1#0, \1#1", made or "").split(", ")  # of two sides, or of two sums
            name, takes = re.match(r"\w*", does)[0], re.findall(r"%[\w#]+", does)
            stack[-1].append((name, made, takes, does, sources.get(place, 0), []))
            if row.endswith("{"):
                stack.append(stack[-1][-1][-1])
    return stack[0]


def tiles_of(text, name, array):
    """A matrix as a line of Tile IR has it."""
    shape = list(map(int, re.search(r"tile=\(([\dx]+)\)", text)[1].split("x")))
    many = [ceil_div(n, t) for n, t in zip(array.shape, shape, strict=True)]
    return Tiles(name, array, shape, 0 if "padding_value = zero" in text else np.nan, many)


def tile_of(text):
    """(the sides, NumPy's word for the kind) of the last tile that an operation names."""
    *_, (sides, kind) = re.findall(r"tile<((?:\d+x)*)(\w+)>", text)
    return [int(side) for side in sides.split("x")[:-1]], KINDS[kind]


def as_tf32(x):
    """To 10 bits of fraction, to the nearest, ties to even."""
    bits = x.astype("f4").view("u4")
    return ((bits + 0xFFF + (bits >> 13 & 1)) & np.uint32(0xFFFFE000)).view("f4")
