"""A launch in the place of the driver's: what a kernel is given, where it runs, and what is said of it."""

import inspect
import linecache
import math
import os
import re
import threading
import time

import numpy as np

import ptx_machine
from ptx_machine.limits import STATIC
from ptx_machine.names import plain_name

from . import device
from .errors import KernelError, MayMissBarrier, NotNative
from .findings import judge
from .in_child import launch_here, launch_in_child
from .memory import address, array_of, overlapping_as_one, owner_at
from .native import native_for_launch
from .settings import SETTINGS
from .to_ptx import ONLY_COMPILED, captured_arrays, text_of, with_names_of_source


def launch(kernel, args, griddim, blockdim, stream=0, sharedmem=0) -> None:
    """Run a compiled kernel on the PTX machine, or natively: in the place of `_Kernel.launch`.

    Raises KernelError for what the kernel does wrong, with the line of its source, OutOfTime for one that takes too
    long; an exception that the kernel itself raises, with debug=True; TypeError or ValueError for arguments that do not
    fit.
    """
    given = Arguments(kernel)
    if len(args) != len(kernel.argument_types):
        raise TypeError(f"the kernel takes {len(kernel.argument_types)} arguments; {len(args)} are given.")
    for which, (kind, value) in enumerate(zip(kernel.argument_types, args, strict=True)):
        given.which = which
        given.add(kind, value)
    given.let_overlapping_be_one()
    if (only_compiled := ONLY_COMPILED.get()) is not None:
        only_compiled.append(kernel)
        return
    begun = Launch(kernel, given, (*griddim, 1, 1)[:3], (*blockdim, 1, 1)[:3], sharedmem)
    if sharedmem > STATIC:  # Numba never asks the driver for more
        raise begun.not_launched(f"{sharedmem:,} bytes of shared memory a block; a GPU gives {STATIC:,} at most.")
    with ONE_AT_A_TIME:
        if SETTINGS.watch == "all" or device.BUDGET.get():
            begun.take(begun.run())
        else:
            begun.watch_first()


ONE_AT_A_TIME = threading.RLock()  # a launch works on copies of its arrays, and brings them back whole
if hasattr(os, "register_at_fork"):
    release = ONE_AT_A_TIME.release
    os.register_at_fork(before=ONE_AT_A_TIME.acquire, after_in_parent=release, after_in_child=release)


OVER = "; if it only takes long"  # the PTX machine's words for `run` follow, which nobody calls here
WATCHED_SECONDS = 2.0  # of computing, that launches of a kernel are watched for


class Past:
    """What launches of a kernel, with blocks of one shape, have come to."""

    seconds = 0.0  # of computing, on the PTX machine
    launches = 0
    refused = ""  # why it does not run natively


class Launch:
    """One launch of a compiled kernel, a `_Kernel` of Numba's. Other kernels have other ones of its first methods."""

    def __init__(self, kernel, given, grid, block, shared):
        self.kernel, self.given = kernel, given
        self.grid, self.block, self.shared = grid, block, shared
        self.captured = self.captured_arrays()
        for name, memory in self.captured.items():  # those would be two copies here
            if any(np.may_share_memory(memory, array) for array in given.written()):
                raise KernelError(
                    f"{plain_name(name)} is an argument of the kernel, and the kernel uses it by its global name, too. "
                    f"Use the argument only."
                )

    def captured_arrays(self) -> dict[str, np.ndarray]:
        """{a variable of its PTX: bytes} of each device array that it uses and is not launched with."""
        return captured_arrays(self.kernel)

    def text(self) -> str:
        """Its PTX."""
        return text_of(self.kernel, axes=True)

    def with_names_of_source(self, message: str) -> str:
        """What the PTX machine says of it, with arrays called as in its source."""
        return with_names_of_source(self.kernel, message)

    def not_launched(self, why: str) -> Exception:
        """What a driver raises for a launch that no GPU does, Numba's CudaAPIError, and a ValueError, too."""
        from numba.cuda.cudadrv.driver import CudaAPIError

        return type("CudaAPIError", (CudaAPIError, ValueError), {})(1, f"CUDA_ERROR_INVALID_VALUE: {why}")

    def raise_what_it_raised(self, run: ptx_machine.Run) -> None:
        """Raise the exception that it raised itself, with debug=True, with the thread's place."""

        def held(name):
            return int(run.variables[f"{self.kernel.entry_name}__{name}__"].view(np.int32)[0])

        if code := held("errcode"):
            kind, words, where = self.kernel.call_helper.get_exception(code)
            thread, block = ([held(f"{what}{axis}") for axis in "zyx"] for what in ("tid", "ctaid"))
            said = f"tid={thread} ctaid={block}"
            if where:
                said = f"In function {where[0]!r}, file {os.path.abspath(where[1])}, line {where[2]}, {said}"
            first, *others = words or ("",)
            raise kind(f"{said}: {first}" if words else said, *others)

    def run(self, seconds: float | None = None, blocks: list[int] | None = None) -> ptx_machine.Run:
        """What the PTX machine makes of it, on copies of its arrays. `blocks`: the numbers of those that run."""
        function = getattr(self.kernel, "py_func", None)  # a kernel from Numba's cache has none
        parameters = list(inspect.signature(function).parameters) if function else []
        names = {at: parameters[which] for which, at in self.given.arrays if which < len(parameters)}
        options = dict(kernel=self.kernel.entry_name, names=names, shared=self.shared, variables=self.captured)
        options |= dict(blocks=blocks, seconds=seconds or SETTINGS.seconds, requests=False)
        try:
            return device.run(self.text(), self.grid, self.block, self.given.flat, **options)
        except ptx_machine.PTXError as error:
            raise KernelError(str(error)) from None
        except ValueError as error:
            raise self.not_launched(str(error)) from None

    def take(self, run: ptx_machine.Run, why: str = "") -> None:
        """Give the arrays what the PTX machine left, and raise what it found; `why` it does not run natively."""
        kernel, given = self.kernel, self.given
        for name, memory in self.captured.items():
            memory[:] = run.variables[name]
        print(run.printed, end="")
        for array, left in zip(given.written(), run.arrays, strict=True):
            if array.flags.writeable:
                array[...] = left
        for write_back in given.after:
            write_back()
        if kernel.debug:
            self.raise_what_it_raised(run)
        self.judge(run.findings, f". It does not run natively: {why}" if why else "")

    def judge(self, findings, beside: str = "") -> None:
        """Raise what is wrong, or warn of it; `beside`: what to add where time was over."""
        outside = {one.source for one in findings if one.kind == "out of bounds"}
        told = {}
        for one in findings:
            if not (one.kind == "index" and one.source in outside):  # which says the same of that line
                message = self.in_words(one) + (beside if one.kind == "out of time" else "")
                told.setdefault((one.kind, one.source), (one.kind, message, one.source))
        function = getattr(self.kernel, "py_func", None)
        place = function and f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        judge(f"{function.__name__}, {place}" if function else self.kernel.entry_name, list(told.values()))

    def in_words(self, finding) -> str:
        """A finding of the PTX machine, with the number and the text of the source's line."""
        function = getattr(self.kernel, "py_func", None)
        message = re.sub(r" at line \d+ of the PTX \(line (\d+) of the source\)", r" in line \1", finding.message)
        message = re.sub(r" at line \d+ of the PTX", "", self.with_names_of_source(message))
        before, over, _ = message.partition(OVER)
        message = f"{before}{OVER}, launch fewer threads: no GPU is at work here" if over else message
        file, line = function.__code__.co_filename if function else "", finding.source
        where = f"line {line}"
        if not line:
            file, line = place_in_another_file(self.text(), finding.line)
            where = f"line {line} of {os.path.basename(file)}"
        code = linecache.getline(file, line).strip()
        return f"{where}: " * bool(line) + f"{finding.kind}: {message}" + (f"\n    {code}" if code else "")

    def watch_first(self) -> None:
        """Watch a kernel's launches for two seconds on the PTX machine, a long first one in part; then run natively."""
        past = vars(self.kernel).setdefault("_pasts", {}).setdefault(self.block, Past())
        past.launches += 1
        if past.refused:
            return self.take(self.run(), past.refused)
        if past.seconds < WATCHED_SECONDS:
            start = time.thread_time()
            # Of a first launch, half of them is left for some of its blocks, if it takes longer.
            run = self.run(WATCHED_SECONDS / 2 if past.launches == 1 else WATCHED_SECONDS - past.seconds)
            past.seconds += time.thread_time() - start
            found = [one for one in run.findings if one.kind != "out of time"]
            if found == list(run.findings):
                return self.take(run)
            self.judge(found)
            past.seconds = WATCHED_SECONDS
        try:
            native = native_for_launch(self.kernel, self.block, self.shared, self.grid, self.given.flat)
            if past.launches == 1:
                self.watch_some_blocks()
            if SETTINGS.native == "here":
                launch_here(native, self.given.flat, self.grid, self.block)
            else:
                launch_in_child(native, self.given.flat, self.grid, self.block, SETTINGS.seconds)
            device.launches_native += 1
        except NotNative as why:
            past.refused = "" if isinstance(why, MayMissBarrier) else str(why)  # which may be of these sizes
            return self.take(self.run(), str(why))
        for write_back in self.given.after:
            write_back()

    def watch_some_blocks(self) -> None:
        """Raise what is wrong in the first block, in the last, and in some between, as far as a second reaches."""
        last = math.prod(self.grid) - 1
        chosen = sorted({last * part // 4 for part in range(5)})
        found = self.run(WATCHED_SECONDS / 2, chosen).findings
        # Some of it may be for want of the other blocks.
        self.judge([one for one in found if one.kind not in ("hang", "out of time")])


def refuse_another_type(kind, given, array, which: int) -> None:
    """Raise TypeError for an array that a signature does not fit. A kernel with one signature is launched unasked."""
    integers = all(hasattr(dtype, "bitwidth") and hasattr(dtype, "signed") for dtype in (kind.dtype, given.dtype))
    same = kind.dtype == given.dtype or (integers and kind.dtype.bitwidth == given.dtype.bitwidth)
    fits = kind.layout == "A" or array.flags[f"{kind.layout}_CONTIGUOUS"]
    if given.ndim and not (same and kind.ndim == given.ndim and fits):
        raise TypeError(f"argument {which} is {given}; the kernel's signature says {kind}.")


def pointed_at(place: int) -> tuple[np.ndarray, int]:
    """(the memory of the device that an address lies in, bytes from its start). Raises ValueError for another one."""
    if (owner := owner_at(place)) is None:
        raise ValueError(f"address {place:#x} is in no array of the device that is still there.")
    return owner, place - address(owner)


def place_in_another_file(ptx: str, line: int) -> tuple[str, int]:
    """(file, line) of the source of a line of PTX, as of a device function in another module; ("", 0) for none."""
    places = re.findall(r"^\s*\.loc\s+(\d+) (\d+)", "\n".join(ptx.splitlines()[:line]), re.MULTILINE)
    number, own = places[-1] if places else ("", "0")
    file = re.search(rf'\.file\s+{number} "(.*)"', ptx)
    return (file[1], int(own)) if file and int(own) else ("", 0)


class Arguments:
    """What a kernel is launched with, one by one, as Numba passes it.

    which    of the kernel's parameters is added
    flat     for `ptx_machine.run`
    arrays   (which of the kernel's parameters, where in `flat`) of each array
    after    what to call when the kernel has ended
    """

    def __init__(self, kernel):
        self.extensions = kernel.extensions
        self.flat, self.arrays, self.after = [], [], []

    def add(self, kind, value) -> None:
        """Add an argument, or a part of one, of that type of Numba's. Raises NotImplementedError for a type."""
        from numba.cuda.dispatcher import types

        for extension in reversed(self.extensions):
            kind, value = extension.prepare_args(kind, value, stream=0, retr=self.after)
        add, flat = self.add, self.flat
        if isinstance(kind, types.Array):
            array, its_kind = self.on_device(value)
            refuse_another_type(kind, its_kind, array, self.which)
            self.arrays.append((self.which, len(flat) + 4))
            # Two pointers of its own, size, item size, data, sizes, strides.
            flat += [0, 0, array.size, array.itemsize, array, *array.shape, *array.strides]
        elif isinstance(kind, types.Record):
            self.arrays.append((self.which, len(flat)))
            flat.append(self.on_device(value)[0].reshape(1))
        elif isinstance(kind, types.CPointer):
            flat.append(pointed_at(int(value)) if value else 0)
        elif isinstance(kind, types.BaseTuple):
            for inner, one in zip(kind, value, strict=True):
                add(inner, one)
        elif isinstance(kind, types.EnumMember):
            add(kind.dtype, value.value)
        elif isinstance(kind, types.Complex):
            add(kind.underlying_float, value.real)
            add(kind.underlying_float, value.imag)
        elif isinstance(kind, (types.NPDatetime, types.NPTimedelta)):
            flat.append(value.view(np.int64))
        elif isinstance(kind, types.Boolean):
            flat.append(bool(value))
        elif kind == types.float16:
            flat.append(int(np.float16(value).view(np.uint16)))
        elif isinstance(kind, (types.Integer, types.Float)):
            if isinstance(value, (complex, np.complexfloating)):
                raise TypeError(f"argument {self.which} is {value!r}; the kernel's signature says {kind}.")
            flat.append(np.array(value).astype(str(kind))[()])
        elif not isinstance(kind, (types.NoneType, types.Omitted, types.Function, types.Dispatcher)):
            raise NotImplementedError(f"{value!r}: a kernel takes no argument of type {kind} here.")

    def let_overlapping_be_one(self) -> None:
        """Let arrays that are somebody else's show one memory where they overlap, as parts of one array do."""
        joined = overlapping_as_one(list(self.written()))
        self.flat = [joined.get(id(one), one) for one in self.flat]

    def written(self):
        """The arrays among them that `Run.arrays` tells of, in its order."""
        arrays = (one[0] if isinstance(one, tuple) else one for one in self.flat)
        return {id(one): one for one in arrays if isinstance(one, np.ndarray)}.values()

    def on_device(self, value):
        """(the array of the device that an argument is, or is copied to, Numba's type of it).

        What was copied there is copied back when the kernel has ended.
        """
        from numba.cuda.cudadrv import devicearray

        hint = type(value).__name__ if hasattr(value, "to_device") and hasattr(value, "value") else ""  # cuda.In(array)
        value = value.value if hint else value
        on_device, copied = devicearray.auto_device(value, user_explicit=True)
        array = array_of(on_device)
        if copied:
            writeable = isinstance(value, np.void) or getattr(value, "flags", {"WRITEABLE": True})["WRITEABLE"]
            array.flags.writeable = writeable or hint == "In"
            if hint != "In" and writeable:
                self.after.append(lambda: on_device.copy_to_host(value))
        return array, on_device._numba_type_
