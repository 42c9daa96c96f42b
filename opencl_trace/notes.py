"""Writes notes into OpenCL source, so that each access to global or local memory leaves a record.

A driver tells nobody what a kernel touches. So `A[i]` becomes `(*(__global float *)note_global_(..., &(A[i])))`: the
same kernel, which also writes down which address was touched by whom. Where each array lies is written down too, so
the host knows what an address means, however many pointers and functions it went through.
"""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from .macros import TraceError
from .reader import SPACES, read

CAPACITY = 1 << 19  # notes that are kept at most
# Notes cannot be left out, so a driver's optimiser would gain nothing; it takes ten times as long as the rest of it.
AS_WRITTEN = "-cl-opt-disable"
HEAD = 2  # int32 before the first note: how many there are, and for how many there is room
NOWHERE = 1 << 63  # the address of an array that no work-item came to
# What is noted of one access to some numbers side by side; `site` says at which place of the source.
NOTE = np.dtype([("site", "i4"), ("phase", "i4"), ("address", "u8"), ("group", "i4"), ("item", "i4")])
TOUCH = np.dtype([("site", "i4"), ("phase", "i4"), ("group", "i4"), ("item", "i4"), ("array", "i4"), ("index", "i8")])
GROUP, ITEM = (  # the number of a work-group in its grid, and of a work-item in its group, x first
    f"({of}_id(2) * {size}(1) + {of}_id(1)) * {size}(0) + {of}_id(0)"
    for of, size in (("get_group", "get_num_groups"), ("get_local", "get_local_size"))
)

# `step` and `offset` move the address, in bytes, as vload4(offset, address) does; elsewhere the offset is 0.
# SPACE and WORD are put in later, once for each space.
NOTE_FUNCTION = f"""
SPACE void *note_WORD_(__global volatile int *notes_, int phase, int site, size_t step, size_t offset,
                       SPACE const volatile void *address)
{{
    SPACE uchar *touched = (SPACE uchar *)address + step * offset;
    const ulong place = (ulong)(uintptr_t)touched;
    const int n = atomic_inc(notes_);
    if (n < notes_[1]) {{
        __global volatile int *note = notes_ + {HEAD} + {NOTE.itemsize // 4} * n;
        note[0] = site; note[1] = phase; note[2] = (int)(uint)place; note[3] = (int)(uint)(place >> 32);
        note[4] = (int)({GROUP});
        note[5] = (int)({ITEM});
    }}
    return touched;
}}
"""
# What stands before and after an access of each form: the piece becomes the address that the function notes.
AROUND = {"element": ("(*NOTE0, &(", ")))"), "pointer": ("(NOTE0, ", "))"), "offset": ("0, NOTE", ")")}
# It stands on one line, so that the lines after it keep their numbers.
ADDRESS = f" arrays_[({GROUP}) * {{arrays}} + {{number}}] = (ulong)(uintptr_t){{name}};"


@dataclass(frozen=True, eq=False)
class Trace:
    """What one launch of a kernel touched.

    sites    the `Access`es of the source, by number
    arrays   {name: shape, in numbers of 4 bytes}: what the kernel's pointers point to, then its local arrays
    groups   how many work-groups there were, (x, y, z)
    touches  a structured array, a row for each access of a work-item, each item's in its own order: `site` and `array`,
             their numbers; `index`, of the first number of 4 bytes that is touched, from the beginning of the array;
             `group`, the number of the work-group, x first; `item`, that of the work-item in it; and `phase`, how many
             barriers it had passed
    """

    sites: tuple
    arrays: dict
    groups: tuple
    touches: np.ndarray


@dataclass(frozen=True)
class Annotated:
    """A source with notes in it.

    text      the source; two more pointers follow the kernel's own parameters, for the notes and for where arrays lie
    sites     the `Access`es that the notes name by number
    pointers  {name: "global" or "local"} of the arrays that the kernel takes
    local     its local arrays, {name: shape, in numbers of 4 bytes}
    """

    text: str
    sites: tuple
    pointers: dict
    local: dict


def annotate(source: str, macros: dict | None = None, kernel: str | None = None) -> Annotated:
    """Write notes into a source. Needs no device. Returns `Annotated`.

    `macros`: {name: value}, as a compiler's options -DNAME=VALUE define them. `kernel`: the name of the kernel that is
    meant, where the source holds several. Raises TraceError for what it cannot note, with its line.
    """
    found = read(source, macros, kernel)
    shapes = {name: shape for name, shape, _ in found.locals}
    if len(shapes) < len(found.locals) or set(shapes) & set(found.pointers):
        raise TraceError("two of its arrays have the same name")
    # After the other edits: where a call is given nothing but an access, the words for the call belong outside of it.
    for number, a in enumerate(found.accesses):
        note = f"({SPACES[a.space]} {a.ctype} *)note_{a.space}_(notes_, *phase_, {number}, {4 * a.width}, "
        before, after = AROUND[a.form]
        found.around(a.start, a.end, before.replace("NOTE", note), after)
    names = [*found.pointers, *(f"&{name}" for name in shapes)]
    address = [ADDRESS.format(arrays=len(names), number=number, name=name) for number, name in enumerate(names)]
    place, start, end = found.kernel
    found.around(place, place, ", __global volatile int *notes_, __global ulong *arrays_")
    found.around(start, end, " int passed_ = 0, *phase_ = &passed_;" + "".join(address[: len(found.pointers)]))
    for (_, _, place), line in zip(found.locals, address[len(found.pointers) :], strict=True):
        found.around(place, place, line)
    pieces, at = [], 0
    for place, _, _, new in sorted(found.edits, key=lambda edit: edit[:3]):
        pieces += [found.text[at:place].decode(), new]
        at = place
    functions = "".join(NOTE_FUNCTION.replace("SPACE", space).replace("WORD", word) for word, space in SPACES.items())
    text = f"{functions}#line 1\n" + "".join(pieces) + found.text[at:].decode()
    return Annotated(text, tuple(found.accesses), found.pointers, shapes)


def trace(
    queue: cl.CommandQueue,
    source: str,
    global_size: tuple,
    local_size: tuple,
    arguments: list,
    macros: dict | None = None,
    kernel: str | None = None,
    most: int = CAPACITY,
) -> Trace:
    """Launch a kernel once, with notes in its source, on the device of that queue. Returns `Trace`.

    global_size, local_size   work-items in all and in a work-group, one to three numbers each
    arguments                 of the kernel: NumPy's numbers, such as np.int32(8); pyopencl's Buffers and LocalMemory;
                              or NumPy arrays of numbers of 4 bytes, which are copied to the device and stay as they are
    macros, kernel            those of `annotate`
    most                      how many accesses are noted; not more than CAPACITY

    Raises ValueError for sizes and arguments that do not fit the kernel; TraceError for a source that cannot be noted,
    for an access outside of all arrays, and for more accesses than `most`.
    """
    sizes = [(*size, 1, 1)[:3] for size in (global_size, local_size)]
    if len(global_size) != len(local_size) or any(many % group for many, group in zip(*sizes, strict=True)):
        raise ValueError(f"global_size={global_size} is no multiple of local_size={local_size} in each direction.")
    groups = tuple(many // group for many, group in zip(*sizes, strict=True))
    noted = annotate(source, macros, kernel)
    pointers = noted.pointers
    try:
        function = cl.Program(queue.context, noted.text).build([AS_WRITTEN]).all_kernels()[0]
    except cl.RuntimeError as error:
        raise TraceError(f"with notes in it, it does not compile: {error}") from None
    if len(arguments) != function.num_args - 2:
        raise ValueError(f"the kernel takes {function.num_args - 2} arguments, not {len(arguments)}.")
    given = [placed(queue.context, argument) for argument in arguments]
    held = [one for one in given if isinstance(one, cl.Buffer | cl.LocalMemory)]
    if len(held) != len(pointers):
        raise ValueError(f"the kernel takes {len(pointers)} arrays, {', '.join(pointers)}, not {len(held)}.")
    arrays = {name: (buffer.size // 4,) for name, buffer in zip(pointers, held, strict=True)} | noted.local
    room = min(most, CAPACITY)
    notes = np.zeros(HEAD + room * NOTE.itemsize // 4, np.int32)
    notes[1] = room
    addresses = np.full((int(np.prod(groups)), max(1, len(arrays))), NOWHERE, np.uint64)
    copied = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    d_notes, d_addresses = (cl.Buffer(queue.context, copied, hostbuf=array) for array in (notes, addresses))
    function.set_args(*given, d_notes, d_addresses)
    cl.enqueue_nd_range_kernel(queue, function, global_size, local_size).wait()
    cl.enqueue_copy(queue, notes, d_notes)
    cl.enqueue_copy(queue, addresses, d_addresses)
    if notes[0] > room:
        raise TraceError(
            f"the kernel makes {notes[0]} accesses, more than the {room} that are noted. Choose a smaller size."
        )
    made = notes[HEAD:].view(NOTE)[: notes[0]]
    made = made[np.lexsort((made["item"], made["group"]))]
    return Trace(noted.sites, arrays, groups, resolved(made, noted, addresses, arrays))


def placed(context, argument):
    """The argument as the kernel takes it: an array in a buffer. Raises ValueError for one of other types."""
    if not isinstance(argument, np.ndarray):
        return argument
    if argument.dtype.itemsize != 4 or not argument.size:
        raise ValueError(f"an array of {argument.dtype}, shape {argument.shape}, holds no numbers of 4 bytes.")
    copied = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(context, copied, hostbuf=np.ascontiguousarray(argument))


def resolved(notes, noted, addresses, arrays):
    """The notes with the array that each is about, and the index of the first of its numbers in it.

    `noted`: the `Annotated` source. `addresses`: where the arrays begin, uint64 (groups, arrays).
    """
    sites = noted.sites
    found, index, times = (np.zeros(len(notes), int) for _ in range(3))
    in_global = np.array([site.space == "global" for site in sites], bool)[notes["site"]]
    first, width = (np.array([getattr(site, of) for site in sites], "u8")[notes["site"]] for of in ("first", "width"))
    for number, (name, shape) in enumerate(arrays.items()):
        # What lies before the array is a huge number, since these have no sign.
        offset = (notes["address"] - addresses[notes["group"], number]) // np.uint64(4) + first
        inside = (in_global == (noted.pointers.get(name) == "global")) & (offset + width <= np.prod(shape))
        found[inside], index[inside] = number, offset[inside]
        times += inside
    if (times != 1).any():
        site = sites[notes["site"][np.argmax(times != 1)]]
        does = "writes" if site.writes else "reads"
        raise TraceError(f"line {site.line} {does} {site.space} memory outside of its arrays")
    touches = np.zeros(len(notes), TOUCH)
    for name in ("site", "phase", "group", "item"):
        touches[name] = notes[name]
    touches["array"], touches["index"] = found, index
    return touches
