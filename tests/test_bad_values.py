"""Every public name, given what is none of its arguments: refused with the value and the remedy, before anything runs.

One argument of a right call is bad at a time. Only a `raise` of this package counts as a refusal, so that nothing from
its depths does.
"""

import importlib
import linecache
import math
import signal
import traceback
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
from packages import PACKAGES
from page_18 import PAGE_18

import helpers
from helpers import clock, cuda_kernel, devices, exercises, instruments, judge, launch, many, opencl_kernel, pictures
from helpers.clock import Limits, Scoreboard, Timing
from helpers.devices import DeviceError
from helpers.instruments import CompilerReport
from helpers.launch import DIALECTS, KernelError
from helpers.launch.given import told
from helpers.many import Network, Run

SECONDS = 50  # of one call: whoever takes them was not refused
CL, ON_PTX, NAIVE = opencl_kernel("tiled", TILE=4), cuda_kernel("tiled", TILE=4), opencl_kernel("naive", BM=4, BN=4)
A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
C = A @ B
TIMING = Timing("OpenCL", "tiled", 8, 8, 8, 1e-3, 0.1, "a device", {"TILE": 4})
BOARD = Scoreboard(8, 8, 8, (TIMING,), ((1e-3,),), 1e12, "a device", False)
LIMITS, NETWORK = Limits("a device", 1e12, 1e11), Network("here", 1e-6, 1e9)
OCCUPANCY = instruments.occupancy("sm_80", 256, 32, 0)
PREDICTION, PUBLISHED = instruments.predict("tiled", "A100", 8, 8, 8), instruments.against_published("A6000")
REPORT = CompilerReport("tiled", "sm_80", 256, 32, 0, (0, 0), 0, None, OCCUPANCY)
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
KERNEL, CALLED, TEXT, NOTHING = {"a kernel"}, {"a class", "a kernel"}, {"naive", "empty text"}, set()
NUMBER, SEQUENCES = {"1.5", "10**15"}, {"[]", "[5]", "lists"}
MAY_BE_LEFT_OUT = {"None"}
FLAG = {"True"}
FOLDER = {"naive"}
SIZED = dict(M=(3, NOTHING), N=(5, NOTHING), K=(4, NOTHING))


def table():
    """{name: (function, {argument: (a right value, what else of VALUES is right)})}."""
    from helpers import classroom

    traced = {"k": (CL, KERNEL), **SIZED}
    on_tiles = {"k": (CL, KERNEL)}
    timed = {
        "size": (8, NOTHING),
        "dialects": ("OpenCL", MAY_BE_LEFT_OUT),
        "steps": (["tiled"], {"None", "[]", "naive"}),
    }
    timed |= {"parameters": (None, MAY_BE_LEFT_OUT)}
    return {
        "cuda_kernel": (
            cuda_kernel,
            {"step": ("tiled", {"naive", "a class", "a kernel"}), "device": (None, MAY_BE_LEFT_OUT)}
            | {"like": (None, MAY_BE_LEFT_OUT | {"naive"}), "parameters": (None, MAY_BE_LEFT_OUT)},
        ),
        "webgpu_kernel": (
            helpers.webgpu_kernel,
            {"step": ("tiled", {"naive"}), "device": (None, {"None", "empty text"})}
            | {"like": (None, MAY_BE_LEFT_OUT), "parameters": (None, MAY_BE_LEFT_OUT), "TILE": (4, NOTHING)},
        ),
        "opencl_kernel": (
            opencl_kernel,
            {"step": ("tiled", {"naive"}), "device": (None, {"None", "empty text", "OpenCL's device"})}
            | {"like": (None, MAY_BE_LEFT_OUT), "parameters": (None, MAY_BE_LEFT_OUT), "TILE": (4, NOTHING)},
        ),
        "set_language": (helpers.set_language, {"language": ("en", NOTHING)}),
        "forget_tuned": (helpers.forget_tuned, {"step": ("tiled", {"None", "naive"})}),
        "dialect": (launch.dialect, {"name": ("CUDA", NOTHING)}),
        "draw": (launch.draw, SIZED),
        "sizes": (launch.sizes, {"size": (8, NOTHING)}),
        "HostKernel": (launch.HostKernel, {"function": (np.matmul, {"a class", "a kernel"})}),
        "k(A, B)": (CL, {"A": (A, {"0 rows"}), "B": (B, NOTHING)}),
        "PTX machine, k(A, B)": (ON_PTX, {"A": (A, {"0 rows"}), "B": (B, NOTHING)}),
        "k.upload": (CL.upload, {"A": (A, NOTHING), "B": (B, NOTHING)}),
        "PTX machine, k.upload": (ON_PTX.upload, {"A": (A, NOTHING), "B": (B, NOTHING)}),
        "HostKernel.upload": (launch.HostKernel(np.matmul).upload, {"A": (A, NOTHING), "B": (B, NOTHING)}),
        "k.place": (CL.place, {"X": (A, NOTHING), "over": (None, MAY_BE_LEFT_OUT)}),
        "PTX machine, k.place": (ON_PTX.place, {"X": (A, NOTHING), "over": (None, MAY_BE_LEFT_OUT)}),
        "k.fitted": (CL.fitted, SIZED),
        "check": (helpers.check, {"k": (CL, CALLED), "shapes": ([(3, 4, 5)], {"None", "[5]"})}),
        "check, PTX machine": (helpers.check, {"k": (ON_PTX, CALLED), "shapes": ([(3, 4, 5)], {"None", "[5]"})}),
        "check_answer": (
            helpers.check_answer,
            {"name": ("multiply_adds", NOTHING), "answer": (lambda M, N, K: 1, CALLED)},
        ),
        "check_loads": (exercises.check_loads, traced),
        "judge_prefetching": (exercises.judge_prefetching, on_tiles),
        "judge_turned": (exercises.judge_turned, on_tiles),
        "judge_wide": (exercises.judge_wide, on_tiles),
        "judge_wgsl": (exercises.judge_wgsl, {"my_lines": ("acc += 1.0;", TEXT)}),
        "double_buffered": (exercises.double_buffered, {"text": ("pass", TEXT), "TILE": (4, NOTHING)}),
        "turned": (exercises.turned, {"text": ("pass", TEXT), "pad": (0, {"0"}), "TILE": (4, NOTHING)}),
        "unturned": (exercises.unturned, {"text": ("pass", TEXT)}),
        "judge_coalesced": (exercises.judge_coalesced, on_tiles),
        "judge_fma": (exercises.judge_fma, {"k": (ON_PTX, KERNEL)}),
        "judge_naive": (exercises.judge_naive, {"k": (CL, KERNEL)}),
        "judge_packing": (exercises.judge_packing, {"k": (CL, KERNEL)}),
        "judge_transposed": (exercises.judge_transposed, on_tiles),
        "judge_panel_step": (exercises.judge_panel_step, {"step": (print, CALLED)}),
        "judge_timing": (exercises.judge_timing, {"timing": (print, CALLED)}),
        "judge_search": (exercises.judge_search, {"search": (print, CALLED)}),
        "error_bound": (judge.error_bound, {"A": (A, {"0 rows"}), "B": (B, NOTHING), "inputs": ("tf32", NOTHING)}),
        "held": (judge.held, {"X": (A, {"0 rows"}), "inputs": ("tf32", NOTHING)}),
        "wrong_elements": (
            judge.wrong_elements,
            {"C": (C, NOTHING), "A": (A, {"0 rows"}), "B": (B, NOTHING), "inputs": ("tf32", NOTHING)},
        ),
        "right_within_bound": (judge.right_within_bound, {"k": (CL, CALLED), "A": (A, NOTHING), "B": (B, NOTHING)}),
        "with_part": (
            helpers.with_part,
            {"name": ("CUDA", NOTHING), "step": ("tiled", {"naive"}), "parts": (1, NOTHING), "text": ("x", TEXT)},
        ),
        "measure": (helpers.measure, {"k": (CL, CALLED), "size": (8, NOTHING), "seconds": (0.001, {"1.5", "None"})}),
        "compare": (
            helpers.compare,
            {"first": (CL, CALLED), "second": (CL, CALLED), "size": (8, NOTHING), "rounds": (1, NOTHING)},
        ),
        "contest": (
            clock.contest,
            {"kernels": ([CL], NOTHING), "size": (8, NOTHING), "rounds": (1, NOTHING), "each": (print, CALLED)},
        ),
        "measure_ladder": (helpers.measure_ladder, timed | {"upto": (None, {"None", "naive"}), "size": (8, {"None"})}),
        "scoreboard": (
            clock.scoreboard,
            timed
            | {"libraries": (False, FLAG), "rounds": (1, NOTHING), "size": (8, {"None"})}
            | {"each": (print, CALLED)},
        ),
        "peers": (clock.peers, {"dialects": (("OpenCL",), {"[]", "None"})}),
        "tune": (
            helpers.tune,
            {"step": ("tiled", {"naive"}), "dialect": ("OpenCL", NOTHING), "size": (8, {"None"})}
            | {"seconds": (1, {"1.5"}), "again": (False, FLAG)},
        ),
        "read_results": (clock.read_results, {"folder": ("nowhere", FOLDER)}),
        "write_results": (
            clock.write_results,
            {"boards": ([BOARD], {"[]"}), "folder": (".", FOLDER), "run": ("", TEXT)},
        ),
        "record": (
            clock.record,
            {"folder": (".", FOLDER), "say": (print, CALLED)},
        ),
        "Limits": (
            partial(Limits, "a device"),
            {
                "flops_per_s": (1e9, NUMBER),
                "bytes_per_s": (1e9, NUMBER),
            },
        ),
        "bank_conflicts": (helpers.bank_conflicts, traced),
        "coalescing": (helpers.coalescing, traced),
        "traffic": (helpers.traffic, traced),
        "predicted_traffic": (helpers.predicted_traffic, traced),
        "compiler_report": (helpers.compiler_report, {"k": ("tiled", {"naive"}), "arch": ("sm_80", NOTHING)}),
        "run_ptx": (
            instruments.run_ptx,
            {"k": ("tiled", {"naive"}), **SIZED, "arch": ("sm_80", NOTHING)},
        ),
        "side_by_side": (instruments.side_by_side, {"runs": ({}, NOTHING)}),
        "predict": (instruments.predict, {"k": ("tiled", {"naive"}), "gpu": ("A100", NOTHING), **SIZED}),
        "predicted_ladder": (
            instruments.predicted_ladder,
            {"gpu": ("A100", NOTHING), "size": (64, NOTHING), "steps": (["tiled"], {"None", "[]"})},
        ),
        "counts_of": (instruments.counts_of, {"k": (cuda_kernel("tiled"), KERNEL), "arch": ("sm_80", NOTHING)}),
        "gpu_here": (instruments.gpu_here, {}),
        "limits_tested": (instruments.limits_tested, {}),
        "gpu_like": (instruments.gpu_like, {"name": ("A100", NOTHING)}),
        "against_published": (instruments.against_published, {"gpu": ("A6000", MAY_BE_LEFT_OUT)}),
        "occupancy": (
            instruments.occupancy,
            {
                "arch": ("sm_80", NOTHING),
                "threads": (256, NOTHING),
                "registers": (32, NOTHING),
                "shared_bytes": (0, {"0"}),
            },
        ),
        "executed_chart": (pictures.executed_chart, {"runs": ({}, NOTHING)}),
        "growth_chart": (pictures.growth_chart, {"boards": ([BOARD, BOARD], NOTHING), "source": ("now", TEXT)}),
        "scoreboard_chart": (pictures.scoreboard_chart, {"board": (BOARD, NOTHING)}),
        "ladder_chart": (pictures.ladder_chart, {"timings": ([TIMING], NOTHING)}),
        "ladder_roofline": (pictures.ladder_roofline, {"limits": (LIMITS, NOTHING), "timings": ([TIMING], {"[]"})}),
        "roofline": (pictures.roofline, {"limits": (LIMITS, NOTHING), "points": ((), {"[]"})}),
        "picture_units": (
            pictures.picture_units,
            {"prediction": (PREDICTION, NOTHING), "upto": ("memory", MAY_BE_LEFT_OUT)},
        ),
        "print_requests": (instruments.print_requests, {"k": (cuda_kernel("tiled"), KERNEL)}),
        "predict_beside": (
            instruments.predict_beside,
            {
                "mine": (cuda_kernel("tiled"), KERNEL),
                "rung": ("tiled", {"naive"}),
                "gpu": ("A100", NOTHING),
                "size": (64, NOTHING),
            },
        ),
        "published_chart": (pictures.published_chart, {"comparison": (PUBLISHED, NOTHING)}),
        "picture_occupancy": (pictures.picture_occupancy, {"report": (REPORT, NOTHING)}),
        "picture_landscape": (
            pictures.picture_landscape,
            {"rates": ({(1, 2): 3.0}, NOTHING), "x": ("a", TEXT), "y": ("b", TEXT)},
        ),
        "film": (pictures.film, traced | {"beside": (None, MAY_BE_LEFT_OUT | KERNEL)}),
        "film_panels": (pictures.film_panels, {"run": (RUN, NOTHING), "rank": (0, {"0"})}),
        "picture_ranks": (pictures.picture_ranks, {"run": (RUN, NOTHING)}),
        "picture_summa": (pictures.picture_summa, {"p": (3, NOTHING), "q": (2, NOTHING)}),
        "prediction_chart": (
            pictures.prediction_chart,
            {"runs": ([RUN], NOTHING), "flops": (1e9, NUMBER), "here": (NETWORK, NOTHING)}
            | {"size": ((64, 64, 64), NOTHING)},
        ),
        "picture_addresses": (pictures.picture_addresses, traced),
        "picture_owners": (pictures.picture_owners, {name: right for name, right in traced.items() if name != "K"}),
        "picture_order": (pictures.picture_order, traced | {"after": (None, KERNEL | MAY_BE_LEFT_OUT)}),
        "picture_share": (
            pictures.picture_share,
            {"k": (CL, KERNEL), "thread": ((1, 1), NOTHING), "step": (2, {"0"})},
        ),
        "picture_stages": (pictures.picture_stages, {"k": (CL, KERNEL), "thread": ((1, 1), NOTHING)}),
        "picture_banks": (pictures.picture_banks, {"width": (32, NOTHING)}),
        "picture_fragments": (pictures.picture_fragments, {"lane": (5, {"0"})}),
        "picture_program": (
            pictures.picture_program,
            SIZED
            | {"BM": (2, NOTHING), "BN": (2, NOTHING), "BK": (2, NOTHING)}
            | {"x": (0, {"0"}), "y": (0, {"0"}), "round": (0, {"0"})},
        ),
        "show": (helpers.show, {"k": (CL, KERNEL)}),
        "show_changes": (helpers.show_changes, {"before": (CL, KERNEL), "after": (CL, KERNEL)}),
        "Network": (partial(Network, "here"), {"latency": (1e-6, NUMBER), "bandwidth": (1e9, NUMBER)}),
        "on_ranks": (
            many.on_ranks,
            {"A": (A, {"0 rows"}), "B": (B, NOTHING), "ranks": (1, NOTHING), "limit": (10, {"1.5"})},
        ),
        "mpirun": (many.mpirun, {"ranks": (1, NOTHING), "limit": (10, {"1.5"})}),
        "bytes_moved": (
            many.bytes_moved,
            SIZED | {"p": (1, NOTHING), "q": (1, NOTHING), "i": (0, {"0"}), "j": (0, {"0"})},
        ),
        "cluster": (many.cluster, {"workers": (1, NOTHING)}),
        "from_file": (many.from_file, {"path": ("nowhere.npy", FOLDER), "chunks": ((2, 2), SEQUENCES)}),
        "have": (lambda engine: many.have(engine), {"engine": ("MPI", NOTHING)}),
        "plan": (many.plan, traced | {"budget": (10**7, {"10**15", "1.5"})}),
        "streamed": (many.streamed, {"k": (CL, KERNEL), "budget": (10**7, {"10**15", "1.5"})}),
        "streamed k(A, B)": (many.streamed(CL, 10**7), {"A": (A, {"0 rows"}), "B": (B, NOTHING)}),
        "board": (classroom.board, {"folder": ("nowhere", FOLDER)}),
        "progress": (classroom.progress, {"folder": ("nowhere", FOLDER)}),
        "enter": (classroom.enter, {"k": (CL, KERNEL), "name": ("Ada", TEXT), "folder": (".", FOLDER)}),
    }


# Public names that take nothing of a user's: records, which hold what they are given; what runs in a kernel, in a rank
# or a worker; and what other rooms call, where no page does.
EXCUSED = {
    "launch": "Contestant CudaKernel DIALECTS Kernel KernelError NotYet OpenCLKernel WebGPUKernel load4 store4 "
    "mma_bfloat16 mma_float16 mma_tf32 word_bfloat16 word_float16 word_tf32",
    "exercises": "asked_early triton_product wgsl_frame",  # what is given goes to cuda_kernel
    "judge": "Report",
    "clock": "Comparison MachineResults Missing Scoreboard Timing Tuning machine_limits",
    "instruments": "GPU GPUS BlockRun CompiledRun CompilerReport LimitsTested Prediction Trace Traffic cells trace",
    "pictures": "Film Films Picture picture_product",
    "many": "INFINIBAND_NDR Plan Run RunFailed Streamed block_product peak_bytes predicted_seconds "
    "rank summa this_machine",
    "classroom": "Board ClassTable EXERCISES NotEntered",
}
TRITON = {"kernel": (PAGE_18, NOTHING), **SIZED, "numbers": ("float32", NOTHING), "warps": (4, NOTHING)}
TRITON |= {"stages": (3, NOTHING)} | {name: (16, NOTHING) for name in ("BM", "BN", "BK")}
OF_TRITON = {
    "judge_product": (exercises.judge_product, {"kernel": (PAGE_18, NOTHING)}),
    "run_triton": (instruments.run_triton, TRITON | {"arch": ("sm_80", NOTHING)}),
    "predict_triton": (instruments.predict_triton, TRITON | {"gpu": ("A100", NOTHING)}),
}
TABLE = table() | (OF_TRITON if devices.version("triton") else {})
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
                elif name == "mpirun":
                    function((right | {argument: value})["ranks"], "-c", "", limit=(right | {argument: value})["limit"])
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


def test_the_table_knows_every_public_name():
    rooms = ("launch", "judge", "exercises", "clock", "instruments", "pictures", "many", "classroom")
    known = {name.split(" ")[0].split(",")[0] for name in TABLE} | {"doctor", *OF_TRITON, *helpers.__all__[:0]}
    for room in rooms:
        names = set(importlib.import_module(f"helpers.{room}").__all__)
        assert names - known - set(EXCUSED[room].split()) == set()


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
