"""Writes notes into OpenCL source, so that each access to global or local memory leaves a record.

A driver tells nobody what a kernel touches. So `A[i]` becomes `(*(__global float *)note_global_(..., &(A[i])))`: the
same kernel, which also writes down which array was touched where, and by whom. It finds the array by the address,
however many pointers and functions that went through. What lies in no array is not touched: spare memory is.
"""

from dataclasses import dataclass

import numpy as np
import pyopencl as cl

from .macros import TraceError
from .reader import SPACES, read

CAPACITY = 1 << 19  # notes that are kept at most
# Notes cannot be left out, so a driver's optimiser would gain nothing; it takes ten times as long as the rest of it.
AS_WRITTEN = "-cl-opt-disable"
HEAD = 32  # int32 before the first note: how many there are, the room for them; the second half is spare memory
# An access as the kernel notes it, at the place `site` of the source; array -1 is none.
TOUCH = np.dtype([("site", "i4"), ("phase", "i4"), ("group", "i4"), ("item", "i4"), ("array", "i4"), ("index", "i8")])
GROUP, ITEM = (  # the number of a work-group in its grid, and of a work-item in its group, x first
    f"({of}_id(2) * {size}(1) + {of}_id(1)) * {size}(0) + {of}_id(0)"
    for of, size in (("get_group", "get_num_groups"), ("get_local", "get_local_size"))
)

# A work-item's own: where its notes go, what it touches in place of memory outside of all arrays, how many barriers it
# has passed, and where each array begins and how many bytes it has, 0 in the space where it does not lie.
ITEMS_OWN = """
struct own_ {
    __global volatile int *notes, *spare_global;
    __local float16 *spare_local;
    int phase;
    ulong in_global[ARRAYS_][2], in_local[ARRAYS_][2];
};
"""
# `offset` moves the address by so many times `size` bytes, as vload4(offset, address) does; elsewhere it is 0.
# What lies before an array is a huge number of bytes behind its beginning, since these have no sign.
# SPACE and WORD are put in later, once for each space.
NOTE_FUNCTION = f"""
SPACE volatile void *note_WORD_(struct own_ *own_, int site, ulong size, ulong offset, SPACE const volatile void *at)
{{
    SPACE uchar *touched = (SPACE uchar *)at + size * offset;
    int array = -1;
    ulong index = 0;
    for (int n = 0; n < ARRAYS_; n++) {{
        const ulong bytes = own_->in_WORD[n][1], before = (ulong)(uintptr_t)touched - own_->in_WORD[n][0];
        if (array < 0 && before < bytes && size <= bytes - before) {{
            array = n;
            index = before / 4;
        }}
    }}
    const int n = atomic_inc(own_->notes);
    if (n < own_->notes[1]) {{
        __global volatile int *note = own_->notes + {HEAD} + {TOUCH.itemsize // 4} * n;
        note[0] = site; note[1] = own_->phase;
        note[2] = (int)({GROUP});
        note[3] = (int)({ITEM});
        note[4] = array; note[5] = (int)(uint)index; note[6] = (int)(uint)(index >> 32);
    }}
    return array < 0 ? (SPACE volatile uchar *)own_->spare_WORD : touched;
}}
"""
# What stands before and after an access of each form: the piece becomes the address that the function notes.
AROUND = {"element": ("(*NOTE0, &(", ")))"), "pointer": ("(NOTE0, ", "))"), "offset": ("0, NOTE", ")")}
# They stand on one line, so that the lines after it keep their numbers.
BEGIN = f" __local float16 spare_; struct own_ mine_ = {{notes_, notes_ + {HEAD // 2}, &spare_}}, *own_ = &mine_;"
ARRAY = " own_->in_{space}[{n}][0] = (ulong)(uintptr_t){address}; own_->in_{space}[{n}][1] = {size};"


@dataclass(frozen=True, eq=False)
class Trace:
    """What one launch of a kernel touched.

    sites    the `Access`es of the source, by number
    arrays   {name: shape, in numbers of 4 bytes}: what the kernel's pointers point to, then its local arrays
    groups   how many work-groups there were, (x, y, z)
    touches  a structured array, a row for each access of a work-item, each item's in its own order: `site` and `array`,
             their numbers; `index`, of the first number of 4 bytes that is touched, from the beginning of the array;
             `group`, the number of the work-group, x first; `item`, that of the work-item in it; and `phase`, how many
             barriers it had passed. Where two arrays share memory, `array` is the first one of them.
    """

    sites: tuple
    arrays: dict
    groups: tuple
    touches: np.ndarray


@dataclass(frozen=True)
class Annotated:
    """A source with notes in it.

    text      the source; its kernel takes besides a pointer, for the notes, and the bytes of each array that it takes
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
        size = 4 * a.width if a.form == "offset" else f"sizeof({a.ctype})"
        note = f"({SPACES[a.space]} {a.ctype} *)note_{a.space}_(own_, {number}, {size}, "
        before, after = AROUND[a.form]
        found.around(a.start, a.end, before.replace("NOTE", note), after)
    place, start, end = found.kernel
    found.around(place, place, ", __global volatile int *notes_")
    found.around(start, end, BEGIN)
    for number, (name, space) in enumerate(found.pointers.items()):
        found.around(place, place, f", ulong bytes{number}_")
        found.around(start, end, ARRAY.format(space=space, n=number, address=name, size=f"bytes{number}_"))
    for number, (name, _, place) in enumerate(found.locals, len(found.pointers)):
        found.around(place, place, ARRAY.format(space="local", n=number, address=f"&{name}", size=f"sizeof({name})"))
    functions = [NOTE_FUNCTION.replace("SPACE", space).replace("WORD", word) for word, space in SPACES.items()]
    pieces, at = [f"#define ARRAYS_ {len(found.pointers) + len(shapes) + 1}", ITEMS_OWN, *functions, "#line 1\n"], 0
    for place, _, _, new in sorted(found.edits, key=lambda edit: edit[:3]):
        pieces += [found.text[at:place].decode(), new]
        at = place
    text = "".join(pieces) + found.text[at:].decode()
    return Annotated(text, tuple(found.accesses), found.pointers, shapes)


def trace(
    queue: cl.CommandQueue,
    source: str,
    global_size: tuple,
    local_size: tuple,
    arguments: list,
    macros: dict | None = None,
    kernel: str | None = None,
) -> Trace:
    """Launch a kernel once, with notes in its source, on the device of that queue. Returns `Trace`.

    queue                     of a context that the caller keeps: with Intel's runtime a queue alone does not
    global_size, local_size   work-items in all and in a work-group, one to three numbers each
    arguments                 of the kernel: NumPy's numbers, such as np.int32(8); pyopencl's Buffers and LocalMemory;
                              or NumPy arrays of numbers of 4 bytes, which are copied to the device and stay as they are
    macros, kernel            those of `annotate`

    Raises ValueError for sizes and arguments that do not fit the kernel; TraceError for a source that cannot be noted,
    for an access outside of all arrays, which then touches nothing, and for more than CAPACITY accesses.
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
    takes = function.num_args - 1 - len(pointers)
    if len(arguments) != takes:
        raise ValueError(f"the kernel takes {takes} arguments, not {len(arguments)}.")
    given = [placed(queue.context, argument) for argument in arguments]
    held = [one for one in given if isinstance(one, cl.Buffer | cl.LocalMemory)]
    if len(held) != len(pointers):
        raise ValueError(f"the kernel takes {len(pointers)} arrays, {', '.join(pointers)}, not {len(held)}.")
    arrays = {name: (buffer.size // 4,) for name, buffer in zip(pointers, held, strict=True)} | noted.local
    notes = np.zeros(HEAD + CAPACITY * TOUCH.itemsize // 4, np.int32)
    notes[1] = CAPACITY
    d_notes = placed(queue.context, notes)
    function.set_args(*given, d_notes, *(np.uint64(one.size) for one in held))
    cl.enqueue_nd_range_kernel(queue, function, global_size, local_size).wait()
    cl.enqueue_copy(queue, notes, d_notes)
    made = notes[0]
    if made > CAPACITY:
        raise TraceError(
            f"the kernel makes {made} accesses, more than the {CAPACITY} that are noted. Choose a smaller size."
        )
    touches = notes[HEAD:].view(TOUCH)[:made]
    touches = touches[np.lexsort((touches["item"], touches["group"]))]
    outside = touches["array"] < 0
    if outside.any():
        site = noted.sites[touches["site"][np.argmax(outside)]]
        does = "writes" if site.writes else "reads"
        raise TraceError(f"line {site.line} {does} {site.space} memory outside of its arrays")
    touches["index"] += np.array([site.first for site in noted.sites], int)[touches["site"]]
    return Trace(noted.sites, arrays, groups, touches)


def placed(context, argument):
    """The argument as the kernel takes it: an array in a buffer. Raises ValueError for one of other types."""
    if not isinstance(argument, np.ndarray):
        return argument
    if argument.dtype.itemsize != 4 or not argument.size:
        raise ValueError(f"an array of {argument.dtype}, shape {argument.shape}, holds no numbers of 4 bytes.")
    copied = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    return cl.Buffer(context, copied, hostbuf=np.ascontiguousarray(argument))
