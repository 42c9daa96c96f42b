"""An OpenCL kernel's accesses to memory, from a launch on its own device with notes in its source."""

import numpy as np
from numpy.lib.recfunctions import rename_fields

import opencl_trace

from ..launch import Kernel, KernelError
from .accesses import records_of


def noted_launch(k: Kernel, A: np.ndarray, B: np.ndarray, **most: int) -> tuple[np.ndarray, dict]:
    """All accesses of one launch, at most so many, and {name: shape} of its local arrays; raises KernelError."""
    work = k.upload(A, B)
    lengths = (A.size, B.size, A.shape[0] * B.shape[1])
    arrays = [buffer.get_sub_region(0, 4 * n) for buffer, n in zip((work.A, work.B, work.C), lengths, strict=True)]
    arguments, global_size = [*map(np.int32, work.sizes), *arrays], k.global_size(A.shape[0], B.shape[1])
    try:
        run = opencl_trace.trace(k.queue, k.source, global_size, k.block, arguments, k.parameters, **most)
    except opencl_trace.TraceError as error:
        raise KernelError(str(error)) from None
    local = dict(list(run.arrays.items())[3:])
    if set(local) & set("ABC"):
        raise KernelError("one of its local arrays is called A, B or C")
    touches = rename_fields(run.touches, {"group": "block", "item": "thread"})
    return records_of(touches, sites(run), [*"ABC", *local], touches["array"], touches["index"], run.groups[0]), local


def sites(run):
    """What `records_of` wants of the site of each access."""
    kinds = {"space": "U6", "line": int, "reads": bool, "writes": bool, "width": int}
    found = {name: np.array([getattr(one, name) for one in run.sites], kind) for name, kind in kinds.items()}
    found["memory"] = np.where(found.pop("space") == "local", "shared", "global")
    return {name: values[run.touches["site"]] for name, values in found.items()}
