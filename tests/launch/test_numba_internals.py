"""What the course takes from inside Numba is still there and does what it did. Each test says which hook broke."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from numba import cuda, float32

from helpers import devices
from helpers.launch import numba_internals as hooks

simulator = pytest.mark.skipif(not devices.compiling(), reason="CUDA runs on a GPU here, not in the simulator")
compiler = pytest.mark.skipif(
    devices.nvidia_tool("ptxas") is None, reason="NVIDIA's compiler is not installed: python3 tools/install.py cuda13"
)


@cuda.jit
def kernel(X):
    X[0] = 1


@cuda.jit(device=True)
def function(x):
    return x


def test_what_is_jitted_is_known_with_the_function_inside():
    assert hooks.is_jitted(kernel) and hooks.is_jitted(function), "what @cuda.jit returns is no longer recognised"
    assert not hooks.is_jitted(len) and not hooks.is_jitted("kernel")
    assert hooks.plain_function(kernel).__name__ == "kernel", "the function inside @cuda.jit is no longer its py_func"
    assert hooks.plain_function(len) is None
    assert hooks.is_device_function(function), "device functions are no longer told from kernels"
    assert not hooks.is_device_function(kernel) and not hooks.is_device_function(len)


@simulator
def test_the_simulators_thread_is_known_inside_a_kernel_only():
    seen = []

    @cuda.jit
    def ask(X):
        seen.append(hooks.simulated_thread().threadIdx.x)

    ask[1, 3](np.zeros(1))
    assert sorted(seen) == [0, 1, 2], "the simulator no longer tells a kernel its own `cuda`"
    assert hooks.simulated_thread() is None, "outside a kernel there is a thread"


@simulator
def test_the_simulators_four_members_can_be_replaced_and_come_back():
    made, launched = [], []

    def array(kind):
        def make(shape, dtype):
            made.append((kind, shape, hooks.dtype_of(dtype)))
            return np.zeros(shape, np.float32)

        return make

    def syncthreads(own):
        def wait(thread):
            made.append("barrier")
            own(thread)

        return wait

    def launch(own):
        def run(kernel, *arguments):
            launched.append(len(arguments))
            return own(kernel, *arguments)

        return run

    @cuda.jit
    def uses_all(X):
        cuda.shared.array(2, float32)
        cuda.local.array(3, float32)
        cuda.syncthreads()

    with hooks.simulator_with(array("shared"), array("local"), syncthreads, launch):
        uses_all[1, 1](np.zeros(1))
    wanted = [("shared", 2, np.float32), ("local", 3, np.float32), "barrier"]
    assert made == wanted, "the simulator takes cuda.shared.array, cuda.local.array or cuda.syncthreads from elsewhere"
    assert launched == [1], "a launch in the simulator no longer calls FakeCUDAKernel"
    uses_all[1, 1](np.zeros(1))
    assert made == wanted and launched == [1], "the simulator's own members did not come back"


@simulator
def test_shared_memory_of_a_launchs_own_size_is_still_there():
    import helpers.launch.wide  # noqa: F401, which gives shared arrays an alignment

    @cuda.jit
    def kernel(X):
        own = cuda.shared.array(0, float32)
        X[0], X[1] = own.size, cuda.shared.array(3, float32, alignment=16).size

    X = np.zeros(2)
    kernel[1, 1, 0, 16](X)
    assert list(X) == [4, 3]


@simulator
def test_a_blocks_threads_take_turns_from_barrier_to_barrier():
    order = []

    @cuda.jit
    def kernel(X):
        order.append(("before", cuda.threadIdx.x))
        if cuda.threadIdx.x == 2:
            return  # who has ended holds nobody up
        X[cuda.threadIdx.x] = cuda.syncthreads_count(cuda.threadIdx.x)
        order.append(("after", cuda.threadIdx.x))

    X = np.zeros(4)
    for _ in range(3):
        kernel[2, 4](X)
    once = [("before", 0), ("before", 1), ("before", 2), ("before", 3), ("after", 0), ("after", 1), ("after", 3)]
    assert order == once * 6, "the simulator no longer runs a block through BlockManager.run, or not in turns"
    assert list(X) == [2, 2, 0, 2]


@simulator
def test_what_one_thread_raises_ends_the_block_and_none_is_left():
    @cuda.jit
    def kernel(X):
        if cuda.threadIdx.x == 1:
            raise ValueError("enough")
        cuda.syncthreads()
        X[0] = 1

    X, before = np.zeros(1), threading.active_count()
    with pytest.raises(ValueError, match=r"tid=\[1, 0, 0\] ctaid=\[0, 0, 0\]: enough"):
        kernel[1, 4](X)
    assert X[0] == 0 and threading.active_count() == before


@simulator
def test_an_atomic_touches_its_array_from_a_file_that_is_known():
    seen = []

    class Array(np.ndarray):
        def __setitem__(self, index, value):
            seen.append(sys._getframe(1).f_code.co_filename)

    @cuda.jit(device=True)
    def adds(x):
        cuda.atomic.add(x, 0, 1)

    @cuda.jit
    def kernel(X):
        adds(np.zeros(1).view(Array))

    kernel[1, 1](np.zeros(1))
    assert seen == [hooks.simulators_own()[1]], "the simulator's cuda.atomic is no longer in that file"


@simulator
def test_the_simulator_takes_an_alignment_and_gives_each_line_its_array():
    @cuda.jit
    def aligned(X):
        here = cuda.shared.array((2, 4), float32, alignment=16)
        there = cuda.shared.array(4, float32)
        mine = cuda.local.array(2, float32, alignment=8)
        i = cuda.threadIdx.x
        here[0, i], there[i], mine[0] = i, 10, 100
        cuda.syncthreads()
        X[i] = here[0, 3 - i] + there[3 - i] + mine[0]

    X = np.zeros(4, np.float32)
    aligned[1, 4](X)
    assert X.tolist() == [113, 112, 111, 110], "the simulator's shared arrays are kept elsewhere now"


@pytest.mark.parametrize("kind", [float32, np.float32, "float32", np.dtype("float32")])
@simulator
def test_a_type_of_numbas_has_a_dtype(kind):
    assert hooks.dtype_of(kind) == np.float32, "the simulator's numpy_support no longer gives a type's dtype"


def outside_the_simulator(code):
    """What a process prints in which Numba compiles for GPUs."""
    environment = devices.os.environ | {"NUMBA_ENABLE_CUDASIM": "0", "PYTHONPATH": devices.python_path()}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@compiler
def test_ptx_is_compiled_with_no_gpu_and_what_was_asked_comes_back():
    said = outside_the_simulator("""
from numba import cuda, float32
from numba.cuda import dispatcher
from helpers.launch import numba_internals as hooks

@cuda.jit(device=True)
def twice(x):
    return x + x

def kernel(X):
    X[0] = twice(X[0])

asked = dispatcher.get_current_device
text = hooks.compile_ptx(kernel, (float32[::1],), (8, 0))
print(".target sm_80" in text, "add" in text, dispatcher.get_current_device is asked)
lines = hooks.compile_ptx(kernel, (float32[::1],), (8, 0), lines=True)
print(".loc" in lines and ".loc" not in text)
""").split()
    assert said[:3] == ["True"] * 3, "dispatcher.get_current_device no longer decides what is compiled for"
    assert said[3] == "True", "lineinfo no longer makes the compiler say which line an instruction comes from"


@compiler
def test_a_module_can_have_shared_memory_of_its_own():
    said = outside_the_simulator("""
import sys, types
from numba import cuda, float32
from helpers.launch import numba_internals as hooks

module = sys.modules["mine"] = types.ModuleType("mine")
module.shared = cuda.shared
hooks.let_compiler_resolve_shared(module)

def kernel(X):
    Xs = module.shared.array(4, float32)
    Xs[0] = X[0]
    cuda.syncthreads()
    X[0] = Xs[0]

print("st.shared" in hooks.compile_ptx(kernel, (float32[::1],), (8, 0)))
""")
    assert said.strip() == "True", "cudadecl.register_attr no longer teaches the compiler a module's attribute"


@simulator
def test_plain_numba_runs_with_no_gpu():
    """`test_without_gpu.py` and `test_amd.py`, in a process where Numba is loaded for a GPU."""
    environment = {name: value for name, value in devices.os.environ.items() if name != "NUMBA_ENABLE_CUDASIM"}
    alone = ["-q", "--noconftest", "-o", "addopts="]
    command = [sys.executable, "-m", "pytest", *alone, "tests/launch/test_without_gpu.py", "tests/roc/test_amd.py"]
    done = subprocess.run(
        command,
        env=environment | {"HELPERS_CUDA": "compiled"},
        cwd=devices.Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0 and "passed" in done.stdout and "skipped" not in done.stdout, done.stdout[-3000:]


def test_no_other_file_reaches_inside_numba():
    """Names that begin with an underscore, and modules that Numba does not document."""
    inside = ("numba.cuda.simulator", "cudadecl", "FakeCUDA", "_get_kernel_context", "dispatcher.get_current")
    for path in devices.Path(devices.__file__).parent.rglob("*.py"):
        if path.name != "numba_internals.py":
            found = [word for word in inside if word in path.read_text(encoding="utf-8")]
            assert not found, f"{path.name} uses {found}; move it to numba_internals.py"
