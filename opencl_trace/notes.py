"""Writes notes into OpenCL source, so that each access to global or local memory leaves a record.

A driver tells nobody what a kernel touches. So `A[i]` becomes `(*(__global float *)note_global_(..., &(A[i])))`: the
same kernel, which also writes down which address was touched by whom. Where each array lies is written down too, so
the host knows what an address means, however many pointers and functions it went through.
"""

import numpy as np
import pyopencl as cl

from helpers.instruments.accesses import NOTE, record_type, records_of
from helpers.launch import KernelError

from .reader import SPACES, parse

CAPACITY = 1 << 19  # notes; more than any size that the instruments accept
# Notes cannot be left out, so a driver's optimiser would gain nothing; it takes ten times as long as the rest of it.
AS_WRITTEN = "-cl-opt-disable"
HEAD = 2  # int32 before the first note: how many there are, and for how many there is room
NOWHERE = 1 << 63  # the address of an array that no work-item came to

# `step` and `offset` move the address, in bytes, as vload4(offset, address) does; elsewhere the offset is 0.
# SPACE and WORD are put in later, once for each space.
NOTE_FUNCTION = """
SPACE void *note_WORD_(__global volatile int *notes_, int phase, int site, size_t step, size_t offset,
                       SPACE const volatile void *address)
{
    SPACE uchar *touched = (SPACE uchar *)address + step * offset;
    const ulong place = (ulong)(uintptr_t)touched;
    const int n = atomic_inc(notes_);
    if (n < notes_[1]) {
        __global volatile int *note = notes_ + HEAD + NOTE_LENGTH * n;
        note[0] = site; note[1] = phase; note[2] = (int)(uint)place; note[3] = (int)(uint)(place >> 32);
        note[4] = (int)(get_group_id(1) * get_num_groups(0) + get_group_id(0));
        note[5] = (int)(get_local_id(1) * get_local_size(0) + get_local_id(0));
    }
    return touched;
}
""".replace("HEAD", str(HEAD)).replace("NOTE_LENGTH", str(NOTE.itemsize // 4))
# What stands before and after an access of each form: the piece becomes the address that the function notes.
AROUND = {"element": ("(*NOTE0, &(", ")))"), "pointer": ("(NOTE0, ", "))"), "offset": ("0, NOTE", ")")}
# It stands on one line, so that the lines after it keep their numbers.
ADDRESS = (
    " arrays_[(get_group_id(1) * get_num_groups(0) + get_group_id(0)) * {arrays} + {number}]"
    " = (ulong)(uintptr_t){name};"
)


def annotate(source, parameters):
    """The source with notes, the `Access`es they name by number, and the shapes of its local arrays.

    The shapes are {name: shape}, counted in float32. Raises KernelError for what it cannot note, with its line.
    """
    read = parse(source, parameters)
    shapes = {name: shape for name, shape, _ in read.locals}
    if len(shapes) < len(read.locals) or set(shapes) & set("ABC"):
        raise KernelError("two of its arrays have the same name, or a local one is called A, B or C")
    # After the other edits: where a call is given nothing but an access, the words for the call belong outside of it.
    for number, a in enumerate(read.accesses):
        note = f"({SPACES[a.space]} {a.ctype} *)note_{a.space}_(notes_, *phase_, {number}, {4 * a.width}, "
        before, after = AROUND[a.form]
        read.around(a.start, a.end, before.replace("NOTE", note), after)
    names = [*read.matrices, *(f"&{name}" for name in shapes)]
    address = [ADDRESS.format(arrays=len(names), number=number, name=name) for number, name in enumerate(names)]
    place, start, end = read.kernel
    read.around(place, place, ", __global volatile int *notes_, __global ulong *arrays_")
    read.around(start, end, " int passed_ = 0, *phase_ = &passed_;" + "".join(address[: len(read.matrices)]))
    for (_, _, place), line in zip(read.locals, address[len(read.matrices) :], strict=True):
        read.around(place, place, line)
    pieces, at = [], 0
    for place, _, _, new in sorted(read.edits, key=lambda edit: edit[:3]):
        pieces += [read.text[at:place].decode(), new]
        at = place
    functions = "".join(NOTE_FUNCTION.replace("SPACE", space).replace("WORD", word) for word, space in SPACES.items())
    return f"{functions}#line 1\n" + "".join(pieces) + read.text[at:].decode(), read.accesses, shapes


def noted_launch(k, A, B, most=CAPACITY):
    """Launch the OpenCL kernel with notes on its device, `most` of them, or `CAPACITY`.

    Returns (all accesses, as one array, the shapes of local arrays).
    Raises KernelError for a source that cannot be noted, for an access outside all arrays, and for too many accesses.
    """
    text, sites, shapes = annotate(k.source, k.parameters)
    if not sites:  # nothing to note
        return np.zeros(0, record_type("ABC")), shapes
    try:
        program = cl.Program(k.context, text).build([AS_WRITTEN])
    except cl.RuntimeError as error:
        raise KernelError(f"with notes in it, it does not compile: {error}") from None
    names = [*"ABC", *shapes]
    lengths = [A.size, B.size, A.shape[0] * B.shape[1], *(int(np.prod(shape)) for shape in shapes.values())]
    notes, addresses, across = launched(k, program.all_kernels()[0], A, B, min(most, CAPACITY), len(names))
    fields = ("memory", "line", "reads", "writes", "first", "width")
    site = {name: np.array([getattr(site, name) for site in sites])[notes["site"]] for name in fields}
    array, index = resolve(notes, site, addresses, lengths)
    return records_of(notes, site, names, array, index, across), shapes


def launched(k, function, A, B, room, arrays):
    """Launch the kernel that has notes in it. Returns (the notes, where the arrays lay, work-groups along x)."""
    work = k.upload(A, B)
    across, down = (size // threads for size, threads in zip(work.global_size, k.block, strict=True))
    notes = np.zeros(HEAD + room * NOTE.itemsize // 4, np.int32)
    notes[1] = room
    addresses = np.full((across * down, arrays), NOWHERE, np.uint64)
    copied = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    d_notes, d_addresses = (cl.Buffer(k.context, copied, hostbuf=array) for array in (notes, addresses))
    function.set_args(*work.arguments, d_notes, d_addresses)
    cl.enqueue_nd_range_kernel(k.queue, function, work.global_size, k.block).wait()
    cl.enqueue_copy(k.queue, notes, d_notes)
    cl.enqueue_copy(k.queue, addresses, d_addresses)
    if notes[0] > room:
        raise KernelError(
            f"the kernel makes {notes[0]} accesses, more than the {room} that are noted. Choose a smaller size."
        )
    return notes[HEAD:].view(NOTE)[: notes[0]], addresses, across


def resolve(notes, site, addresses, lengths):
    """Which array each note is about, and the index of the first of its numbers in it; two int arrays.

    `addresses`: where the arrays begin, uint64 (blocks, arrays), A, B and C first.
    `lengths`: theirs, in numbers of 4 bytes.
    """
    found, index, times = (np.zeros(len(notes), int) for _ in range(3))
    is_global, first, width = site["memory"] == "global", site["first"].astype("u8"), site["width"].astype("u8")
    for number, length in enumerate(lengths):
        # What lies before the array is a huge number, since these have no sign.
        offset = (notes["address"] - addresses[notes["block"], number]) // np.uint64(4) + first
        inside = (is_global == (number < 3)) & (offset + width <= length)
        found[inside], index[inside] = number, offset[inside]
        times += inside
    if (times != 1).any():
        line, memory, writes = (site[name][np.argmax(times != 1)] for name in ("line", "memory", "writes"))
        raise KernelError(f"line {line} {'writes' if writes else 'reads'} {memory} memory outside of its arrays")
    return found, index
