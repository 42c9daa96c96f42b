"""What the course takes from inside Numba is still there and does what it did. Each test says which hook broke."""

import subprocess
import sys

from needed import needs_compiler
from numba import cuda

from helpers import devices
from helpers.launch import numba_internals as hooks


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
    assert not hooks.is_device_function(kernel)


COMPILED = """
from numba import cuda, float32
from numba.cuda import dispatcher
from helpers.launch import numba_internals as hooks
from old_roc import hsa

@cuda.jit(device=True)
def twice(x):
    return x + x

def kernel(X):
    X[0] = twice(X[0])

asked = dispatcher.get_current_device
text = hooks.compile_ptx(kernel, (float32[::1],), (8, 0))
print(".target sm_80" in text, "add" in text, dispatcher.get_current_device is asked)
for kernel in (hsa.naive(), hsa.blocked()):
    text = hooks.compile_ptx(kernel.kernel.py_func, (float32[:, ::1],) * 3, (9, 0))
    print(text.count("bar.sync"), "ld.shared" in text)
"""


@needs_compiler
def test_ptx_is_compiled_with_no_gpu_and_what_was_asked_comes_back():
    environment = devices.os.environ | {devices.CUDA_OF_CHILD: "compiler", "PYTHONPATH": devices.python_path()}
    done = subprocess.run([sys.executable, "-c", COMPILED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = done.stdout.split()
    assert said[:3] == ["True"] * 3, "dispatcher.get_current_device no longer decides what is compiled for"
    assert said[3:] == ["0", "False", "2", "True"], "kernels of old_roc no longer compile for NVIDIA's GPUs"


def test_no_other_file_reaches_inside_numba():
    """Names that begin with an underscore, and modules that Numba does not document."""
    inside = ("numba.cuda.simulator", "cudadecl", "FakeCUDA", "_get_kernel_context", "dispatcher.get_current")
    for path in devices.Path(devices.__file__).parent.rglob("*.py"):
        if path.name != "numba_internals.py":
            found = [word for word in inside if word in path.read_text(encoding="utf-8")]
            assert not found, f"{path.name} uses {found}; move it to numba_internals.py"
