"""Devices are proved before they count, and what is missing is named. Each case in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

from helpers import devices


def python(code, **environment):
    """Run code in a fresh process without the choices this one has made; returns (stdout, stderr)."""
    made_here = ("OCL_ICD_VENDORS", "NUMBA_ENABLE_CUDASIM", "HELPERS_OPENCL_DEVICE", "PYOPENCL_CTX")
    clean = {k: v for k, v in os.environ.items() if k not in made_here}
    clean.update(environment, PYTHONPATH=devices.python_path())
    done = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, timeout=120)
    return done.stdout.strip(), done.stderr


def test_a_device_is_found_with_no_variable_set():
    out, err = python("from helpers import devices; d = devices.opencl_device(); print(d.kind, d.name)")
    assert out, err
    assert out.startswith(devices.KINDS[:3])


def test_pips_runtime_does_not_hide_the_systems_drivers():
    system = [icd.name for icd in devices.system_icd_files()]
    if devices.pip_cpu_runtime() is None or not system:
        pytest.skip("needs pip's intel-opencl-rt and a system OpenCL driver, such as Debian's pocl-opencl-icd")
    out, _ = python("import helpers, os; print(*os.listdir(os.environ['OCL_ICD_VENDORS']))")
    assert set(system) < set(out.split())


def test_pips_runtime_is_visible():
    if devices.pip_cpu_runtime() is None:
        pytest.skip("pip's intel-opencl-rt is not installed; it has wheels for x86-64 Linux and Windows")
    out, err = python(
        "from helpers import devices; print([c.problem for c in devices.opencl_candidates() if 'Intel' in c.platform])"
    )
    assert out == "[None]", err


def test_nvidias_driver_is_named_where_no_icd_file_does(monkeypatch, tmp_path):
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.setattr(devices.ctypes, "CDLL", lambda name: None)  # as if it were installed
    monkeypatch.setattr(devices, "system_icd_files", lambda: [])
    monkeypatch.setattr(devices.sys, "platform", "linux")
    devices.find_opencl_drivers()
    folder = devices.Path(devices.os.environ["OCL_ICD_VENDORS"])
    assert "libnvidia-opencl.so.1\n" in {icd.read_text() for icd in folder.glob("*.icd")}
    (tmp_path / "nvidia.icd").write_text("libnvidia-opencl.so.1")
    monkeypatch.setattr(devices, "system_icd_files", lambda: [tmp_path / "nvidia.icd"])
    assert devices.unnamed_nvidia_driver() is None


def test_a_folder_the_user_named_is_left_alone(tmp_path):
    out, _ = python(
        "import helpers, os; from helpers import devices; print(os.environ['OCL_ICD_VENDORS'])\n"
        "try: devices.opencl_device()\nexcept devices.DeviceError as e: print(e)",
        OCL_ICD_VENDORS=str(tmp_path),
    )
    folder, message = out.split("\n")
    assert folder == str(tmp_path)
    assert "no driver is installed" in message and devices.opencl_remedy() in message


@pytest.mark.parametrize(
    "system, machine, command",
    [
        ("linux", "x86_64", "pip install intel-opencl-rt intel-cmplr-lib-rt"),
        ("win32", "AMD64", "pip install intel-opencl-rt intel-cmplr-lib-rt"),
        ("linux", "aarch64", "sudo apt-get install pocl-opencl-icd"),
        ("darwin", "arm64", "conda install -c conda-forge pocl pyopencl"),
    ],
)
def test_where_nothing_is_installed_one_command_is_named(monkeypatch, system, machine, command):
    monkeypatch.setattr(devices, "pip_cpu_runtime", lambda: None)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert devices.opencl_remedy().endswith(command)


def test_a_device_that_fails_its_proof_does_not_count():
    out, _ = python(
        "from helpers import devices\n"
        "def broken(handle): raise RuntimeError('unknown target CPU')\n"
        "devices.prove_opencl = broken\n"
        "try: devices.opencl_device()\nexcept devices.DeviceError as e: print(e)"
    )
    assert "can run a kernel" in out and "unknown target CPU" in out


def test_a_device_is_chosen_by_part_of_its_name():
    listed = [c for c in devices.opencl_candidates() if c.problem is None]
    for candidate in listed:
        out, err = python(
            "from helpers import devices; print(devices.opencl_device().driver)",
            HELPERS_OPENCL_DEVICE=candidate.platform[:8].upper(),
        )
        assert out.startswith(candidate.platform[:8]), err


def test_a_name_that_fits_nothing_lists_what_there_is():
    out, _ = python(
        "from helpers import devices\ntry: devices.opencl_device('abacus')\nexcept devices.DeviceError as e: print(e)"
    )
    assert "no OpenCL device is called 'abacus'; found: " in out


def test_pyopencls_own_variable_is_honoured():
    out, err = python(
        "from helpers import devices; import pyopencl as cl; last = len(cl.get_platforms()) - 1\n"
        "import os; os.environ['PYOPENCL_CTX'] = str(last)\n"
        "print(devices.opencl_device().handle.platform == cl.get_platforms()[last])"
    )
    assert out == "True", err


@pytest.mark.parametrize(
    "variable, value, words",
    [
        ("PYOPENCL_CTX", "99", "PYOPENCL_CTX='99' names no device"),
        ("NUMBA_ENABLE_CUDASIM", "0", "Unset it to use Numba's simulator"),
    ],
)
def test_a_variable_that_asks_for_what_is_not_there_is_named(variable, value, words):
    if variable.startswith("NUMBA") and devices.nvidia_gpus():
        pytest.skip("there is an NVIDIA GPU")
    out, err = python(
        "import helpers; from helpers import devices\n"
        "try: print(devices.opencl_device() and devices.cuda_device())\n"
        "except devices.DeviceError as e: print(e)",
        **{variable: value},
    )
    assert words in out, err


def test_oclgrind_is_a_tool_and_no_device():
    assert not any("Oclgrind" in c.platform for c in devices.opencl_candidates())


def test_the_simulator_is_chosen_without_a_gpu():
    out, _ = python("import helpers, os; print(os.environ['NUMBA_ENABLE_CUDASIM'])")
    assert out == ("0" if devices.nvidia_gpus() and devices.cuda_works_in_a_child() is None else "1")


def test_numba_imported_too_early_is_named():
    if devices.nvidia_gpus():
        pytest.skip("with an NVIDIA GPU the order does not matter")
    _, err = python("import numba, helpers")
    assert "Numba was imported before helpers" in err and "Restart the kernel" in err


def test_doctor_tells_what_is_used_and_why():
    out, err = python(
        "import sys; sys.argv = ['helpers', 'doctor', '--json']; from helpers.__main__ import main; main()"
    )
    rows = json.loads(out)
    assert {"what", "found", "used", "why"} == set(rows[0])
    assert any(r["what"].startswith("OpenCL") and r["used"] for r in rows), err
    assert sum(r["used"] for r in rows if r["what"] in ("NVIDIA GPU", "CUDA simulator")) == 1


def test_the_proof_of_cuda_is_kept_until_driver_gpu_or_a_package_changes(monkeypatch, tmp_path):
    proofs, driver, gpus = [], [13, 0], ["NVIDIA H100"]
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path / "new"))
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(devices, "nvidia_gpus", lambda: gpus)
    monkeypatch.setattr(devices, "nvidia_driver_cuda", lambda: tuple(driver))

    def prove(*command, **options):
        proofs.append(0)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(devices.subprocess, "run", prove)
    for change, count in ((lambda: None, 1), (lambda: None, 1), (lambda: driver.append(1), 2), (gpus.clear, 2)):
        change()
        devices.cuda_works_in_a_child.cache_clear()
        devices.choose_cuda_target()
        assert len(proofs) == count and os.environ.pop("NUMBA_ENABLE_CUDASIM") == ("0" if gpus else "1")
    gpus.append("NVIDIA T4")
    (tmp_path / "new" / devices.PROVED).write_text("[]")
    devices.cuda_works_in_a_child.cache_clear()
    devices.choose_cuda_target()
    assert len(proofs) == 3
    devices.cuda_works_in_a_child.cache_clear()


def test_a_proof_that_failed_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    failed = subprocess.CompletedProcess([], 1, "", "no compiler")
    monkeypatch.setattr(devices.subprocess, "run", lambda *command, **options: failed)
    devices.cuda_works_in_a_child.cache_clear()
    assert devices.cuda_works_in_a_child() == "no compiler" and not devices.proved_before()
    devices.cuda_works_in_a_child.cache_clear()


def test_importing_the_helpers_loads_neither_numba_nor_matplotlib():
    out, err = python("import helpers, sys; print({'numba', 'matplotlib', 'pyopencl', 'numpy'} & set(sys.modules))")
    assert out == "set()", err
