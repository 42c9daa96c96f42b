"""Every public name, given what is none of its arguments: refused with the value and the remedy, before anything runs.

One argument of a right call is bad at a time. Only a `raise` of this package counts as a refusal, so that nothing from
its depths does.
"""

import importlib
import inspect
import linecache
import math
import signal
import traceback
import types
import typing
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from packages import PACKAGES
from page_18 import PAGE_18

import helpers
from helpers import (
    classroom,
    clock,
    cuda_kernel,
    devices,
    instruments,
    judge,
    launch,
    many,
    opencl_kernel,
    pictures,
)
from helpers.clock import Limits, Scoreboard, Timing
from helpers.devices import DeviceError
from helpers.launch import DIALECTS, KernelError, given
from helpers.launch.given import told
from helpers.many import Network, Run

SECONDS = 50  # of one call: whoever takes them was not refused
CL, ON_PTX, RUNG = opencl_kernel("tiled", TILE=4), cuda_kernel("tiled", TILE=4), cuda_kernel("tiled")
A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
C = A @ B
TIMING = Timing("OpenCL", "tiled", 8, 8, 8, 1e-3, 0.1, "a device", {"TILE": 4})
BOARD = Scoreboard(8, 8, 8, (TIMING,), ((1e-3,),), 1e12, "a device", False)
LIMITS, NETWORK = Limits("a device", 1e12, 1e11), Network("here", 1e-6, 1e9)
PREDICTION = instruments.predict("tiled", "A100", 8, 8, 8)
RUN = Run(
    np.zeros((6, 4), np.float32), (6, 4, 5), (1, 1), [{"place": (0, 0), "panels": [(0, 5, 0, 0)], "seconds": 1.0}]
)

VALUES = {  # what an argument is given in place of what it takes
    "None": None,
    "0": 0,
    "-1": -1,
    "nan": math.nan,
    "inf": math.inf,
    "1.5": 1.5,
    "True": True,
    "10**15": 10**15,
    "10**400": 10**400,
    "empty text": "",
    "naive": "naive",
    "[]": [],
    "{}": {},
    "[5]": [5],
    "1-D": np.ones(4, np.float32),
    "float64": np.ones((3, 4)),
    "0 rows": np.ones((0, 4), np.float32),
    "objects": np.array([[object()] * 4] * 3),
    "lists": [[1.0] * 4] * 3,
    "CUDA's device": devices.cuda_device(),
    "OpenCL's device": devices.opencl_device(),
    "a dialect": DIALECTS["CUDA"],
    "a kernel": CL,
    "a class": dict,
    "an object": object(),
}
# What is right for arguments of a kind, and so is not tried.
KERNEL, CALLED, NOTHING = {"a kernel"}, {"a class", "a kernel"}, set()
NUMBER, SEQUENCES = {"1.5", "10**15"}, {"[]", "[5]", "lists"}
LEFT_OUT, STEPS = {"None"}, {"None", "[]", "naive"}
# Kinds that `takes` refuses whole, as it does classes of the course: tests/launch/test_given.py.
SETTLED = [float, bool, type(None), given.Count, given.Natural, given.Ranks, given.Rounds, given.Workers]
SETTLED += [given.Seconds, given.Size, given.Folder]
ANY_TEXT = {"my_lines", "text", "source", "run", "x", "y", "command"}  # arguments of which all text will do
SIZED = dict(M=3, N=5, K=4)
BUILT = {"step": ("tiled", {"naive"}), "device": (None, {"None", "empty text", "OpenCL's device"})}
BUILT |= {"like": (None, LEFT_OUT), "parameters": (None, LEFT_OUT)}
OPERANDS = {"A": (A, {"0 rows"}), "B": (B, NOTHING)}
BOTH = {"A": (A, NOTHING), "B": (B, NOTHING)}
PLACED = {"X": (A, NOTHING), "over": (None, LEFT_OUT)}
LADDERS = {"dialects": ("OpenCL", LEFT_OUT), "steps": (["tiled"], STEPS), "parameters": (None, LEFT_OUT)}
ARCH, GPU = {"arch": ("sm_80", NOTHING)}, {"gpu": ("A100", NOTHING)}


def with_(function, arguments, **others):
    """A row of the table: with these others, which are right, the function is asked for each of the arguments."""
    return partial(function, **others), arguments


# {name: (function, {argument: (a right value, what else of VALUES is right)})}: all arguments that are not settled.
TABLE = {
    "cuda_kernel": (
        cuda_kernel,
        BUILT | {"step": ("tiled", {"naive", *CALLED}), "device": (None, LEFT_OUT), "like": (None, {"None", "naive"})},
    ),
    "webgpu_kernel": (
        helpers.webgpu_kernel,
        BUILT | {"device": (None, {"None", "empty text"}), "TILE": (4, NOTHING)},
    ),
    "opencl_kernel": (opencl_kernel, BUILT | {"TILE": (4, NOTHING)}),
    "set_language": (helpers.set_language, {"language": ("en", NOTHING)}),
    "forget_tuned": (helpers.forget_tuned, {"step": ("tiled", {"None", "naive"})}),
    "dialect": (launch.dialect, {"name": ("CUDA", NOTHING)}),
    "sizes": (launch.sizes, {"size": (8, NOTHING)}),
    "HostKernel": (launch.HostKernel, {"function": (np.matmul, CALLED)}),
    "k(A, B)": (CL, OPERANDS),
    "PTX machine, k(A, B)": (ON_PTX, OPERANDS),
    "k.upload": (CL.upload, BOTH),
    "PTX machine, k.upload": (ON_PTX.upload, BOTH),
    "HostKernel.upload": (launch.HostKernel(np.matmul).upload, BOTH),
    "k.place": (CL.place, PLACED),
    "PTX machine, k.place": (ON_PTX.place, PLACED),
    "k.fitted": (CL.fitted, dict.fromkeys("MNK", (4, NOTHING))),
    "check": (helpers.check, {"k": (CL, CALLED), "shapes": ([(3, 4, 5)], {"None", "[5]"})}),
    "error_bound": (judge.error_bound, OPERANDS | {"inputs": ("tf32", NOTHING)}),
    "held": (judge.held, {"X": (A, {"0 rows"}), "inputs": ("tf32", NOTHING)}),
    "wrong_elements": (judge.wrong_elements, {"C": (C, NOTHING)} | OPERANDS | {"inputs": ("tf32", NOTHING)}),
    "right_within_bound": (judge.right_within_bound, {"k": (CL, CALLED)} | BOTH),
    "contest": with_(clock.contest, {"kernels": ([CL], NOTHING)}, size=8, rounds=1),
    "measure_ladder": with_(helpers.measure_ladder, LADDERS | {"upto": (None, {"None", "naive"})}, size=8),
    "scoreboard": with_(clock.scoreboard, LADDERS, size=8, libraries=False, rounds=1, each=print),
    "peers": (clock.peers, {"dialects": (("OpenCL",), {"[]", "None"})}),
    "tune": with_(helpers.tune, {"step": ("tiled", {"naive"}), "dialect": ("OpenCL", NOTHING)}, size=8, seconds=1),
    "write_results": with_(clock.write_results, {"boards": ([BOARD], {"[]"})}, folder="."),
    "Limits": (partial(Limits, "a device"), {"flops_per_s": (1e9, NUMBER), "bytes_per_s": (1e9, NUMBER)}),
    "compiler_report": (helpers.compiler_report, {"k": ("tiled", {"naive"})} | ARCH),
    "run_ptx": with_(instruments.run_ptx, {"k": ("tiled", {"naive"})} | ARCH, **SIZED),
    "side_by_side": (instruments.side_by_side, {"runs": ({}, NOTHING)}),
    "predict": with_(instruments.predict, {"k": ("tiled", {"naive"})} | GPU, **SIZED),
    "predicted_ladder": with_(instruments.predicted_ladder, GPU | {"steps": (["tiled"], {"None", "[]"})}, size=64),
    "counts_of": with_(instruments.counts_of, ARCH, k=RUNG),
    "gpu_like": (instruments.gpu_like, {"name": ("A100", NOTHING)}),
    "against_published": (instruments.against_published, {"gpu": ("A6000", LEFT_OUT)}),
    "occupancy": with_(instruments.occupancy, ARCH, threads=256, registers=32, shared_bytes=0),
    "predict_beside": with_(instruments.predict_beside, {"rung": ("tiled", {"naive"})} | GPU, mine=RUNG, size=64),
    "executed_chart": (pictures.executed_chart, {"runs": ({}, NOTHING)}),
    "growth_chart": (pictures.growth_chart, {"boards": ([BOARD, BOARD], NOTHING)}),
    "ladder_chart": (pictures.ladder_chart, {"timings": ([TIMING], NOTHING), "predictions": ((), {"[]"})}),
    "ladder_roofline": with_(pictures.ladder_roofline, {"timings": ([TIMING], {"[]"})}, limits=LIMITS),
    "roofline": with_(pictures.roofline, {"points": ((), {"[]"})}, limits=LIMITS),
    "picture_units": with_(pictures.picture_units, {"upto": ("memory", LEFT_OUT)}, prediction=PREDICTION),
    "picture_landscape": with_(pictures.picture_landscape, {"rates": ({(1, 2): 3.0}, NOTHING)}, x="a", y="b"),
    "film_panels": with_(pictures.film_panels, {"rank": (0, {"0"})}, run=RUN),
    "prediction_chart": with_(
        pictures.prediction_chart, {"runs": ([RUN], NOTHING)}, flops=1e9, here=NETWORK, size=(64, 64, 64)
    ),
    "picture_share": with_(pictures.picture_share, {"thread": ((1, 1), NOTHING), "step": (2, {"0"})}, k=CL),
    "picture_stages": with_(pictures.picture_stages, {"thread": ((1, 1), NOTHING)}, k=CL),
    "picture_banks": (pictures.picture_banks, {"width": (32, NOTHING)}),
    "picture_fragments": (pictures.picture_fragments, {"lane": (5, {"0"})}),
    "picture_program": with_(
        pictures.picture_program,
        dict.fromkeys(("BM", "BN", "BK"), (2, NOTHING)) | dict.fromkeys(("x", "y", "round"), (0, {"0"})),
        **SIZED,
    ),
    "show": (helpers.show, {"kernels": (CL, KERNEL)}),
    "Network": (partial(Network, "here"), {"latency": (1e-6, NUMBER), "bandwidth": (1e9, NUMBER)}),
    "on_ranks": with_(many.on_ranks, OPERANDS, ranks=1, limit=10),
    "from_file": with_(many.from_file, {"chunks": ((2, 2), SEQUENCES)}, path="nowhere.npy"),
    "have": (lambda engines: many.have(engines), {"engines": ("MPI", NOTHING)}),
    "need": (lambda what: helpers.need(what), {"what": ("many", NOTHING)}),
    "streamed k(A, B)": (many.streamed(CL, 10**7), OPERANDS),
    "enter": with_(classroom.enter, {"name": ("Ada", {"naive"})}, k=CL, folder="."),
}
# What takes nothing of a user: what runs in a kernel, a rank or a worker, and what only other rooms call.
EXCUSED = {"load4", "store4", "mma_bfloat16", "mma_float16", "mma_tf32", "word_bfloat16", "word_float16", "word_tf32"}
EXCUSED |= {"cells", "trace", "block_product", "predicted_seconds", "doctor", "parameters_like", "with_part"}
EXCUSED |= {"ask", "check_loads"}  # tests/exercises
EXCUSED |= {"cluster"}  # it looks at its blocks once it is entered: tests/many/test_dask.py
if devices.version("triton"):
    MINE = {"kernel": (PAGE_18, NOTHING)}
    NUMBERS = {"numbers": ("float32", NOTHING), "warps": (4, NOTHING), "stages": (3, NOTHING), "BM": (16, NOTHING)}
    for name, function, other in (
        ("run_triton", instruments.run_triton, ARCH),
        ("predict_triton", instruments.predict_triton, GPU),
    ):
        TABLE[name] = with_(function, MINE | NUMBERS | other, **SIZED, BN=16, BK=16)
else:
    EXCUSED |= {"run_triton", "predict_triton"}
ASKED = [(name, argument) for name, (_, arguments) in TABLE.items() for argument in arguments]


@contextmanager
def no_longer_than(seconds):
    def too_long(*_):
        raise TimeoutError(f"not refused, and still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def faults(name, argument):
    """What is wrong with how it takes the values that are none: {value: what came of it}."""
    function, arguments = TABLE[name]
    right = {key: value for key, (value, _) in arguments.items()}
    found = {}
    for label, value in VALUES.items():
        if label in arguments[argument][1]:
            continue
        try:
            with no_longer_than(SECONDS):
                if name == "show":
                    function(value)
                elif "(A, B)" in name:
                    function(*(right | {argument: value}).values())
                else:
                    function(**right | {argument: value})
        except Exception as error:
            if what := complaint(error, value):
                found[label] = what
        else:
            found[label] = "taken"
    return found


def named(value):
    """What a refusal may call the value: any of these."""
    if isinstance(value, np.ndarray):
        return [told(value), f"holds {value.dtype}", f"{value.shape}", f"{value.shape[0]} x ", repr(value)[:20]]
    first = [repr(value[0])[:20]] if isinstance(value, list) else []
    return [
        told(value)[:30],
        f"a {type(value).__name__}",
        f"an {type(value).__name__}",
        "a number beyond 32 bits",
        str(value)[:20],
        *first,
    ]


def complaint(error, value):
    """What is wrong with the refusal; None where nothing is."""
    frame, number = list(traceback.walk_tb(error.__traceback__))[-1]
    line = linecache.getline(frame.f_code.co_filename, number).strip()
    said = f"{type(error).__name__}: {str(error)[:120]}"
    if not isinstance(error, (TypeError, ValueError, KernelError, DeviceError, MemoryError)):
        return f"raw {said}"
    ours = any(f"/{package}/" in frame.f_code.co_filename.replace("\\", "/") for package in PACKAGES)
    if not ours or not line.startswith("raise"):
        return f"raw {said} at {frame.f_code.co_filename}:{number}"
    if not (isinstance(value, (str, list, dict)) and not value) and not any(n in str(error) for n in named(value)):
        return f"no value: {said}"
    return None if len(str(error)) > 30 else f"no remedy: {said}"


@pytest.mark.parametrize("name, argument", ASKED, ids=[f"{name} {argument}" for name, argument in ASKED])
def test_what_is_none_of_its_values_is_refused_with_a_remedy(name, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    assert faults(name, argument) == {}


def settled(name, parameter):
    """Whether its annotation says all of the argument."""
    kind = parameter.annotation
    kinds = typing.get_args(kind) if given.origin_of(kind) is types.UnionType else [kind]
    return (name in ANY_TEXT and kind is str) or all(
        one in SETTLED
        or given.origin_of(one) is Callable
        or (isinstance(one, type) and one.__module__.partition(".")[0] in PACKAGES)
        for one in kinds
    )


def test_the_table_has_each_argument_of_a_public_function_that_its_annotation_does_not_settle():
    rooms = "launch", "judge", "exercises", "clock", "instruments", "pictures", "many", "classroom"
    functions = {
        name: function
        for module in (helpers, *(importlib.import_module(f"helpers.{room}") for room in rooms))
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if name in module.__all__ and name not in EXCUSED
    }
    lacks = [
        f"{name} {argument}"
        for name, function in functions.items()
        for argument, parameter in inspect.signature(function).parameters.items()
        if argument not in TABLE.get(name, (None, ()))[1]
        and parameter.kind is not parameter.VAR_KEYWORD  # parameters of a step, which whoever builds it looks at
        and not (hasattr(function, "__wrapped__") and settled(argument, parameter))
    ]
    assert len(functions) > 70 and not lacks, f"each needs a row in TABLE, or a kind that `takes` refuses by: {lacks}"


def minutes():
    """Calls that took minutes, or more memory than there is: {what: (the call, what the refusal says)}."""
    own = opencl_kernel(CL.source, like="tiled", TILE=4)
    return {
        "a check on the PTX machine": (lambda: helpers.check(ON_PTX, [(5000,) * 3]), "and M . N . K <= 268435456"),
        "a check under Oclgrind": (lambda: helpers.check(own, [(1000,) * 3]), "Add one of M . N . K <= 2097152"),
        "a check beyond all memory": (lambda: helpers.check(np.matmul, [(10**6,) * 3]), "Choose smaller sizes"),
        "a timing beyond all memory": (lambda: helpers.measure(np.matmul, 10**6), "Choose smaller sizes"),
        "a picture of a long row": (lambda: pictures.picture_owners(CL, 1, 180), "at 128 a side"),
        "numbers of 32,400 threads": (lambda: pictures.picture_owners(CL, 180, 180), "such as 64 x 64"),
        "a film of 32,400 elements": (lambda: pictures.film(CL, 180, 180, 1).html(), "such as 64 x 64"),
        "a map of 40,000 points": (
            lambda: pictures.picture_landscape({(x, y): 1.0 for x in range(200) for y in range(200)}, "x", "y"),
            "such as 64 x 64",
        ),
        "a long sum on the PTX machine": (lambda: instruments.run_ptx("naive", 1, 1, 10**9), "Stay at K <= 131072"),
        "a large product there": (lambda: instruments.run_ptx("naive", *[10**5] * 3), "M . N <= 4194304"),
        "a traced run": (lambda: instruments.trace(CL, 1000, 1000, 1000), "stay at M . N . K <= 32768"),
        "a counted run": (lambda: helpers.traffic(CL, 1000, 1000, 1000), "predicted_traffic"),
        "a thousand times a thousand rounds": (lambda: clock.contest([CL], 8, 10**6), "from 1 to 1000"),
        "a crowd of ranks": (lambda: many.on_ranks(A, B, 10**6), "from 1 to 1024"),
        "a crowd of workers": (lambda: many.cluster(10**6), "from 1 to 1024"),
    }


@pytest.mark.parametrize("what", minutes())
def test_what_would_take_minutes_is_refused_with_what_would_not(what):
    call, says = minutes()[what]
    with no_longer_than(SECONDS), pytest.raises((ValueError, MemoryError), match=says):
        call()


def test_what_is_right_is_taken_in_each_of_its_forms():
    assert instruments.predicted_traffic(CL, np.int64(8), np.uint8(4), np.int32(4)) == CL_TRAFFIC
    assert launch.sizes(np.int16(7)) == launch.sizes([7, 7, 7]) == launch.sizes(np.array([7, 7, 7])) == (7, 7, 7)
    assert many.streamed(CL, np.int64(10**6)).budget == many.streamed(CL, 1e6).budget == 10**6
    assert launch.dialect("cuda") is launch.dialect("CUDA") is DIALECTS["CUDA"]
    assert [t.step for t in helpers.measure_ladder("naive", 8, "opencl")] == ["numpy_matmul", "naive"]
    assert helpers.check(CL, [np.array([3, 4, 5]), 7]).shapes == 2
    strided = np.ones((3, 8), np.float32)[:, ::2]
    for k in (CL, ON_PTX, launch.HostKernel(np.matmul)):
        for X in (strided, np.asfortranarray(A), A[:, ::-1]):
            work = k.upload(X, B)
            work.launch()
            assert np.array_equal(work.download(), X @ B)
    for k in (CL, ON_PTX):
        work = k.upload(k.place(strided), k.place(B))
        work.launch()
        assert np.array_equal(work.download(), strided @ B)


CL_TRAFFIC = instruments.predicted_traffic(CL, 8, 4, 4)


def test_a_matrix_that_was_placed_elsewhere_is_refused():
    with pytest.raises(ValueError, match=r"A lies on .*; place it on .* first"):
        ON_PTX.upload(CL.place(A), B)
    with pytest.raises(ValueError, match="of the same shape can take its place"):
        CL.place(A, CL.place(B))
    with pytest.raises(DeviceError, match="is no name; give a part of one"):
        opencl_kernel("tiled", devices.cuda_device())


def test_a_source_of_one_line_is_a_source():
    source = "kernel void mine(int M, int N, int K, global const float *A, global const float *B, global float *C) {}"
    assert opencl_kernel(source, like="naive", BM=4, BN=4).own
    with pytest.raises(ValueError, match="needs like="):
        opencl_kernel(source)
