"""Writes notes into OpenCL source, so that each access to global or local memory leaves a record.

A driver tells nobody what a kernel touches. So `A[i]` becomes `A[note_(..., i)]`: the same kernel, which also writes
down who touched what. Where it takes a pointer instead, or calls a function of its own with one, it is refused.
"""

import re
from collections import Counter, namedtuple

import numpy as np
import pyopencl as cl

from ..launch import KernelError
from ..sandbox import Access

# One place in the source where the kernel touches an array. `width`: float32 an element, such as 4 for a float4.
Site = namedtuple("Site", "memory array writes line width")

CAPACITY = 1 << 19  # notes; more than any size that the instruments accept
NOTE = (
    """
size_t note_(__global volatile int *notes_, int site, int phase, size_t index) {
    const int n = atomic_inc(notes_);
    if (n < %d) {
        __global volatile int *note = notes_ + 1 + 6 * n;
        note[0] = site; note[1] = phase; note[2] = (int)index;
        note[3] = get_group_id(0); note[4] = get_group_id(1);
        note[5] = get_local_id(1) * get_local_size(0) + get_local_id(0);
    }
    return index;
}
#line 1
"""
    % CAPACITY
)


def annotate(source, parameters):
    """The source with notes, the `Site`s they name by number, and the shapes of its local arrays, {name: shape}."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), source, flags=re.DOTALL)
    macros = dict(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, flags=re.MULTILINE))
    macros |= {name: str(value) for name, value in parameters.items()}
    kernel = re.compile(r"\b(?:__)?kernel\b").search(code).start()
    opening = re.compile(r"\bvoid\s+\w+\s*(?=\()").search(code, kernel).end()
    closing = opening + len(bracketed(code[opening:])) - 1
    arrays, shapes, sites = {}, {}, []
    for parameter in code[opening + 1 : closing].split(","):
        if "*" in parameter:
            name = re.findall(r"\w+", parameter)[-1]
            arrays[name] = ("global", (), vector_width(parameter))
    declared = []
    for m in re.finditer(r"(?<!\()\b(?:__)?local\s+(\w+)\s+([^;]*);", code[closing:]):
        declared.append(range(closing + m.start(), closing + m.end()))
        for name, dimensions in re.findall(r"(\w+)\s*((?:\[[^\]]*\]\s*)+)", m[2]):
            shape = tuple(whole(d, macros) for d in re.findall(r"\[([^\]]*)\]", dimensions))
            width = vector_width(m[1])
            arrays[name], shapes[name] = ("local", shape, width), (*shape[:-1], shape[-1] * width)

    def refuse_pointers(start, end):
        for m in re.finditer(rf"(&\s*)?\b({'|'.join(arrays)})\b", code[start:end]):
            at = start + m.end()
            subscripts = re.match(r"\s*\[", code[at:])
            if any(at in places for places in declared):
                continue
            for _ in range(len(arrays[m[2]][1]) - 1 if subscripts else 0):
                at += len(re.match(r"\s*", code[at:])[0])
                at += len(bracketed(code[at:]))
                subscripts = subscripts and re.match(r"\s*\[", code[at:])
            if m[1] or not subscripts:
                raise KernelError(
                    f"line {code.count(chr(10), 0, at) + 1} reaches {m[2]} through a pointer, where its accesses "
                    f"cannot be noted. Watch the CUDA kernel of the same step and parameters"
                )

    def noted(start, end):
        """code[start:end] with a note in every access."""
        out, at = [], start
        for m in re.finditer(rf"\b({'|'.join(arrays)})\s*(?=\[)", code[start:end]):
            first = start + m.start()
            if first < at or any(first in places for places in declared):
                continue
            memory, shape, width = arrays[m[1]]
            place, indices = start + m.end(), []
            while code[place : place + 1] == "[":
                inside = bracketed(code[place:])
                indices.append((place + 1, place + len(inside) - 1))
                place += len(inside)
            does = re.match(r"\s*(=(?!=)|[-+*/]=|\+\+|--)?", code[place:end])[1]
            index = noted(*indices[-1])
            if len(indices) > 1:
                before = " + ".join(
                    f"({code[slice(*i)]}) * {int(np.prod(shape[n + 1 :]))}" for n, i in enumerate(indices[:-1])
                )
            for writes in {None: [False], "=": [True]}.get(does, [False, True]):
                sites.append(
                    Site(
                        "shared" if memory == "local" else "global",
                        m[1],
                        writes,
                        code.count("\n", 0, first) + 1,
                        width,
                    )
                )
                if len(indices) > 1:
                    index = f"note_(notes_, {len(sites) - 1}, phase_, ({before}) + ({index})) - ({before})"
                else:
                    index = f"note_(notes_, {len(sites) - 1}, phase_, {index})"
            others = "".join(f"[{noted(*i)}]" for i in indices[:-1])
            out += [code[at:first], m[1], others, f"[{index}]"]
            at = place
        return "".join(out) + code[at:end]

    start = code.index("{", closing)
    end = start + len(bracketed(code[start:]))
    refuse_pointers(start, end)
    body = re.sub(r"\b(?:work_group_)?barrier\s*\([^)]*\)", r"\g<0>, ++phase_", noted(start + 1, end))
    text = (
        f"{NOTE}{code[:closing]}, __global volatile int *notes_{code[closing:start]}"
        f"{{ int phase_ = 0; {body}{code[end:]}"
    )
    return text, sites, shapes


def bracketed(text):
    """The beginning of the text, from its first bracket to the one that closes it."""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return text[: place + 1]
    raise KernelError("a bracket is never closed.")


def vector_width(declaration):
    found = re.search(r"\bfloat(\d+)\b", declaration)
    return int(found[1]) if found else 1


def whole(expression, macros):
    """The value of a whole-number expression of C, such as BM / TM."""
    for _ in range(10):
        expression = re.sub(r"[A-Za-z_]\w*", lambda m: f"({macros.get(m[0], m[0])})", expression)
    if re.search(r"[^\d\s()*/+%-]", expression):
        raise KernelError(f"the size of a local array, {expression!r}, is not known before the kernel runs.")
    return eval(expression.replace("/", "//"))


def noted_launch(k, A, B):
    """Launch the OpenCL kernel with notes on its device. Returns (a list of `Access`, the shapes of local arrays)."""
    text, sites, shapes = annotate(k.source, k.parameters)
    program = cl.Program(k.context, text).build([f"-D{name}={value}" for name, value in k.parameters.items()])
    function, work = program.all_kernels()[0], k.upload(A, B)
    d_notes = cl.Buffer(
        k.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(1 + 6 * CAPACITY, np.int32)
    )
    function.set_args(*work.arguments, d_notes)
    cl.enqueue_nd_range_kernel(k.queue, function, work.global_size, k.block).wait()
    notes = np.empty(1 + 6 * CAPACITY, np.int32)
    cl.enqueue_copy(k.queue, notes, d_notes)
    if notes[0] > CAPACITY:
        raise KernelError(
            f"the kernel makes {notes[0]} accesses, more than the {CAPACITY} that are noted. Choose a smaller size."
        )
    accesses, times = [], Counter()
    for site, phase, index, x, y, thread in notes[1 : 1 + 6 * notes[0]].reshape(-1, 6).tolist():
        s, who = sites[site], (site, x, y, thread)
        for part in range(s.width):
            accesses.append(
                Access(
                    s.memory,
                    s.array,
                    s.writes,
                    s.line,
                    (x, y, 0),
                    thread,
                    index * s.width + part,
                    times[who],
                    phase,
                    part,
                )
            )
        times[who] += 1
    return accesses, shapes
