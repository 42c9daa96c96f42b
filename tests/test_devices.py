"""Devices are proved before they count, and what is missing is named. Each case in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import devices

ROOT = Path(__file__).resolve().parent.parent


def python(code, *options, **environment):
    """Run code in a fresh process without the choices this one has made; returns (stdout, stderr)."""
    made_here = ("OCL_ICD_VENDORS", "NUMBA_ENABLE_CUDASIM", "HELPERS_OPENCL_DEVICE")
    clean = {k: v for k, v in os.environ.items() if k not in made_here}
    clean |= {"PYTHONPATH": devices.python_path()} | environment
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
    return done.stdout.strip(), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no folder stands in for the user's")
def test_a_home_that_cannot_be_written_is_replaced_while_the_process_runs(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    devices.find_home()
    devices.files.try_writing(devices.platformdirs.user_cache_path("pyopencl") / "any")


def test_a_verdict_is_printed_on_any_terminal():
    code = "import sys, helpers; print('✓ k is right'); print('✗', file=sys.stderr)"
    assert python(code, PYTHONIOENCODING="ascii") == ("✓ k is right", "✗\n")


def test_importing_the_helpers_loads_neither_numba_nor_matplotlib():
    out, err = python("import helpers, sys; print({'numba', 'matplotlib', 'pyopencl', 'numpy'} & set(sys.modules))")
    assert out == "set()", err


def test_a_python_without_the_course_says_which_one_has_it():
    """With -S it has no packages."""
    _, err = python("import helpers", "-S", PYTHONPATH=str(ROOT))
    assert "lacks what the course needs. Take .venv/bin/python" in err.splitlines()[-1]


@pytest.mark.parametrize(
    "system, machine, installed, command",
    [
        ("linux", "x86_64", None, "pip install intel-opencl-rt intel-cmplr-lib-rt"),
        ("win32", "AMD64", None, "pip install intel-opencl-rt intel-cmplr-lib-rt"),
        ("linux", "x86_64", "2026.2", "pip install --force-reinstall intel-opencl-rt intel-cmplr-lib-rt"),
        ("linux", "aarch64", None, "sudo apt-get install pocl-opencl-icd"),
        ("darwin", "arm64", None, "conda install -c conda-forge pocl pyopencl"),
    ],
)
def test_where_no_device_works_one_command_is_named(monkeypatch, system, machine, installed, command):
    monkeypatch.setattr(devices, "version", lambda package: installed)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert devices.runtime_remedy().endswith(f": {command}")


@pytest.fixture
def played(monkeypatch):
    """OpenCL devices by name: `played(("a platform", "a name"), ...)`. All of them work, and are GPUs."""

    def play(*names):
        found = []
        for platform, name in names:
            handle = SimpleNamespace(platform=SimpleNamespace(name=platform))
            found.append(devices.Device("OpenCL", name, "GPU", f"{platform} 1", 1024, 49152, handle))
        monkeypatch.setattr(devices, "opencl_devices", lambda: tuple(found))
        monkeypatch.setattr(devices, "prove_opencl", lambda handle: None)
        monkeypatch.delenv("HELPERS_OPENCL_DEVICE", raising=False)
        devices.problem_of.cache_clear()
        return [device.handle for device in found]

    yield play
    monkeypatch.undo()
    devices.problem_of.cache_clear()


def test_a_device_is_found_by_part_of_its_name_or_by_the_variable_as_it_is_now(played, monkeypatch):
    first, other = played(("NVIDIA CUDA", "NVIDIA H200"), ("ROCm", "MI300"))
    for asked, handle in ((None, first), ("h200", first), ("mi300", other), ("rocm", other)):
        monkeypatch.setenv("HELPERS_OPENCL_DEVICE", "")
        assert devices.opencl_device(asked).handle is handle
        monkeypatch.setenv("HELPERS_OPENCL_DEVICE", asked or "")
        assert devices.opencl_device().handle is devices.opencl_device(None, ("GPU",)).handle is handle
    with pytest.raises(devices.DeviceError, match=r"NVIDIA H200 \(NVIDIA CUDA\): not called 'H100'; MI300 .*: not"):
        devices.opencl_device("H100")


def test_a_device_that_fails_its_proof_does_not_count(played, monkeypatch):
    def broken(handle):
        raise RuntimeError("unknown target CPU")

    played(("NVIDIA CUDA", "NVIDIA H200"))
    monkeypatch.setattr(devices, "prove_opencl", broken)
    with pytest.raises(devices.DeviceError, match=r"can run a kernel \(NVIDIA H200 .*: unknown target CPU\)"):
        devices.opencl_device()


def test_gpus_come_first_and_a_platform_that_fails_is_passed_over(monkeypatch):
    import pyopencl as cl

    def listed(name, kind, platform="a platform"):
        one = SimpleNamespace(name=name, type=kind, platform=SimpleNamespace(name=platform), driver_version=2)
        one.max_work_group_size, one.local_mem_size, one.max_compute_units = 3, 4, 5
        one.native_vector_width_float = 8
        return one

    def broken():
        raise cl.RuntimeError("clGetDeviceIDs failed: OUT_OF_HOST_MEMORY")

    gpu, cpu = cl.device_type.GPU, cl.device_type.CPU
    handles = [listed("pthread", cpu, "Portable Computing Language"), listed("EPYC", cpu | gpu), listed(" H200 ", gpu)]
    platforms = {"one": broken, "two": lambda: handles, "Oclgrind": lambda: [listed("H200", gpu)]}
    platforms = [SimpleNamespace(name=name, get_devices=get) for name, get in platforms.items()]
    monkeypatch.setattr(cl, "get_platforms", lambda: platforms)
    found = devices.opencl_devices.__wrapped__()
    assert [(one.name, one.kind, one.vector_width) for one in found] == [
        ("H200", "GPU", 1),
        ("EPYC", "CPU", 8),
        ("pthread", "CPU (PoCL)", 8),
    ]
    assert (found[0].driver, found[0].max_threads, found[0].shared_bytes, found[0].units) == ("a platform 2", 3, 4, 5)


def test_numbas_simulator_is_left_alone_and_refused_where_it_was_loaded_before():
    out, err = python("import os, helpers; print(os.environ.get('NUMBA_ENABLE_CUDASIM'))", NUMBA_ENABLE_CUDASIM="1")
    assert out == "None", err
    _, err = python("from numba import cuda; import helpers", NUMBA_ENABLE_CUDASIM="1")
    assert "Unset it, and start Python anew" in err


@pytest.mark.parametrize("problem, compiled_only", [(None, False), ("no compiler", True)])
def test_a_gpu_counts_once_numba_has_run_a_kernel_there(problem, compiled_only, monkeypatch):
    monkeypatch.setattr(devices, "nvidia_driver", lambda: (13, 0))
    monkeypatch.setattr(devices, "cuda_problem", lambda: problem)
    monkeypatch.delenv(devices.CUDA_OF_CHILD)
    assert devices.compiling() is compiled_only


@pytest.mark.parametrize("failed, newest", [(0, (12, 9)), (100, None)])
def test_nvidias_driver_says_which_cuda_it_serves_unless_it_has_no_gpu(failed, newest, monkeypatch):
    def version(number):
        number._obj.value = 12090

    driver = SimpleNamespace(cuInit=lambda flags: failed, cuDriverGetVersion=version)
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: driver)
    assert devices.nvidia_driver.__wrapped__() == newest
