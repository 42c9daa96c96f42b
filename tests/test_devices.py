"""Devices are proved before they count, and what is missing is named. Each case in a process of its own."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import devices, drivers, needs, packages
from helpers.instruments import run_triton
from helpers.language import ENGLISH, spelled

doctor = importlib.import_module("helpers.doctor")  # `helpers.doctor` is the function


def python(code, **environment):
    """Run code in a fresh process without the choices this one has made; returns (stdout, stderr)."""
    made_here = ("OCL_ICD_VENDORS", "NUMBA_ENABLE_CUDASIM", "HELPERS_OPENCL_DEVICE")
    clean = {k: v for k, v in os.environ.items() if k not in made_here}
    clean.update(environment, PYTHONPATH=devices.python_path())
    done = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, text=True, timeout=120)
    return done.stdout.strip(), done.stderr


def test_pips_runtime_does_not_hide_the_systems_drivers(monkeypatch):
    system = [icd.name for icd in drivers.system_drivers()]
    if drivers.pip_cpu_runtime() is None or not system:
        pytest.skip("needs pip's intel-opencl-rt and a system OpenCL driver, such as Debian's pocl-opencl-icd")
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    devices.find_opencl_drivers()
    assert set(system) < set(os.listdir(os.environ["OCL_ICD_VENDORS"]))


def test_pips_runtime_is_visible():
    if drivers.pip_cpu_runtime() is None:
        pytest.skip("pip's intel-opencl-rt is not installed; it has wheels for x86-64 Linux and Windows")
    assert [devices.problem_of(one) for one in devices.opencl_devices() if "Intel" in one.driver] == [None]


def with_space(tmp_path):
    """The files of pip's CPU runtime in a folder with a space. Returns the runtime there."""
    runtime = drivers.pip_cpu_runtime()
    if runtime is None or sys.platform != "linux":
        pytest.skip("needs pip's intel-opencl-rt, on Linux")
    folder = tmp_path / "First Last ü空 it's"
    folder.mkdir()
    for file in filter(Path.is_file, runtime.parent.iterdir()):
        shutil.copy(file, folder)
    return folder / runtime.name


@pytest.mark.bulk
def test_pips_runtime_works_where_its_path_has_a_space(tmp_path):
    code = (
        "import os; from pathlib import Path; from helpers import devices; del os.environ['OCL_ICD_VENDORS']\n"
        f"devices.drivers.pip_cpu_runtime = lambda: Path({str(with_space(tmp_path))!r})\n"
        "devices.find_opencl_drivers()\n"
        "print([devices.problem_of(one) for one in devices.opencl_devices() if 'Intel' in one.driver])"
    )
    out, err = python(code, PYOPENCL_NO_CACHE="1")
    assert out == "[None]", err


@pytest.mark.parametrize("home, library", [("First Last", None), ("home", "other/libtbb.so.12")])
def test_a_runtime_that_would_miss_its_parts_gets_a_second_one_beside_links_to_them(
    home, library, tmp_path, monkeypatch
):
    """Where its path has a space, or pip has put its libraries into another folder."""
    home, plain = tmp_path / home, tmp_path / "plain"
    for place in (home, plain):
        place.mkdir()
    for name in ("libintelocl.so", "cl.cfg"):
        (home / name).write_text(name)
    monkeypatch.setattr(drivers, "installed_files", lambda *_: [tmp_path / library] if library else [])
    second = drivers.usable_runtime(home / "libintelocl.so", plain)
    assert second == plain / "libintelocl.so" and not second.is_symlink() and second.read_text() == second.name
    assert (plain / "cl.cfg").resolve() == home / "cl.cfg"
    assert not library or (plain / "libtbb.so.12").readlink() == tmp_path / library
    monkeypatch.setattr(drivers, "installed_files", lambda *_: [])
    assert drivers.usable_runtime(second, plain) == second
    (tmp_path / "link").symlink_to(home)
    assert drivers.has_space(tmp_path / "link") == (library is None)  # Intel's runtime sees where it leads


def test_new_folders_have_no_space(tmp_path, monkeypatch):
    spaced = tmp_path / "First Last"
    spaced.mkdir()
    monkeypatch.setattr(drivers.tempfile, "tempdir", str(spaced))
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    assert drivers.new_folder("test-").parent == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no folder stands in for the user's")
@pytest.mark.parametrize("home", ["a file", "none"])
def test_a_home_that_cannot_be_written_is_replaced_while_the_process_runs(home, tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "HELPERS_CACHE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    if home == "none":  # a user without a name has none
        monkeypatch.setattr(devices.os.path, "expanduser", lambda path: path.replace("~", os.environ.get("HOME", "~")))
    else:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("HOME", str(tmp_path / "file"))
    devices.find_home()
    assert devices.TEMPORARY_CACHE in str(devices.cache_folder())
    devices.files.try_writing(devices.cache_folder() / "any", make_folder=True)


def test_opencl_works_where_the_home_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    code = "from helpers import devices; print(devices.opencl_device().kind)"
    out, err = python(code, HOME=str(tmp_path / "file"), XDG_CACHE_HOME="")
    assert out.startswith(devices.KINDS[:3]), err


def test_a_verdict_is_printed_on_any_terminal():
    code = "import sys, helpers; print('✓ k is right'); print('✗', file=sys.stderr)"
    assert python(code, PYTHONIOENCODING="ascii") == ("✓ k is right", "✗\n")


def recorded(site_packages, **packages):
    """A stand-in for importlib.metadata.files: {package: names} relative to that site-packages."""

    def file(name):
        return SimpleNamespace(name=Path(name).name, locate=lambda: Path(site_packages) / name)

    return lambda package: [file(name) for name in packages.get(package.replace("-", "_"), [])] or None


@pytest.mark.parametrize(
    "site_packages, library",
    [
        ("venv/lib/python3.11/site-packages", "../../libintelocl.so"),
        ("usr/local/lib/python3.11/dist-packages", "../../../lib/libintelocl.so"),  # Debian and Colab
        ("home/.local/lib/python3.11/site-packages", "../../libintelocl.so"),  # --user
        ("Lib/site-packages", "../../Library/bin/intelocl64.dll"),  # Windows
    ],
)
def test_pips_runtime_is_found_wherever_pip_has_put_it(site_packages, library, tmp_path, monkeypatch):
    folder = tmp_path / site_packages
    folder.mkdir(parents=True)
    names = ["../../../etc/OpenCL/vendors/intel-cpu.icd", f"{library}-gdb.py", library]
    monkeypatch.setattr(packages, "version", lambda package: "1")
    monkeypatch.setattr(packages.importlib.metadata, "files", recorded(folder, intel_opencl_rt=names))
    assert drivers.pip_cpu_runtime() is None  # the record alone is no library
    place = (folder / library).resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("")
    assert drivers.pip_cpu_runtime() == place


def test_what_mends_a_runtime_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(drivers, "pip_cpu_runtime", lambda: tmp_path / "libintelocl.so")
    monkeypatch.setattr(devices, "repair", lambda *packages: f"mend {' '.join(packages)}")
    monkeypatch.setattr(devices, "version", lambda package: "1")
    faults = ["it answers with the error -6"]
    monkeypatch.setattr(drivers, "fault_of", lambda library: faults[-1])
    assert (
        spelled(ENGLISH, *devices.opencl_remedy())
        == "To mend pip's CPU runtime: mend intel-opencl-rt intel-cmplr-lib-rt"
    )
    faults.append(f"it gives no answer within 20 s; {drivers.BUSY}")
    assert spelled(ENGLISH, *devices.opencl_remedy()) == "Try again."
    faults.append(None)
    monkeypatch.setattr(drivers, "visible_cpu_runtime", lambda: None)
    assert "installed but hidden: unset OCL_ICD_VENDORS" in spelled(ENGLISH, *devices.opencl_remedy())
    monkeypatch.setattr(drivers, "visible_cpu_runtime", lambda: tmp_path / "second" / "libintelocl.so")
    assert spelled(ENGLISH, *devices.opencl_remedy()).startswith("pip's CPU runtime fails here. To add another: ")
    monkeypatch.setattr(drivers, "pip_cpu_runtime", lambda: None)
    assert "To mend" in spelled(ENGLISH, *devices.opencl_remedy())


def test_drivers_that_were_listed_before_helpers_was_imported_are_not_called_broken(monkeypatch, tmp_path):
    monkeypatch.setattr(drivers, "visible_cpu_runtime", lambda: tmp_path / "libintelocl.so")
    monkeypatch.setattr(devices, "version", lambda package: None)
    monkeypatch.setattr(drivers, "PYOPENCL_FIRST", True)
    monkeypatch.setattr(devices, "opencl_devices", tuple)
    assert spelled(ENGLISH, *devices.opencl_remedy()).endswith("Restart Python, and import helpers first.")


def test_nvidias_driver_is_named_where_no_icd_file_does(monkeypatch, tmp_path):
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)
    monkeypatch.setattr(drivers.ctypes, "CDLL", lambda name: None)  # as if it were installed
    monkeypatch.setattr(drivers, "system_drivers", dict)
    monkeypatch.setattr(drivers.sys, "platform", "linux")
    drivers.show_drivers()
    assert "libnvidia-opencl.so.1\n" in {icd.read_text() for icd in drivers.folder_of_loader().glob("*.icd")}
    monkeypatch.setattr(drivers, "system_drivers", lambda: {tmp_path / "nvidia.icd": "libnvidia-opencl.so.1"})
    assert drivers.unnamed_nvidia_driver() is None


def test_a_folder_the_user_named_is_left_alone(tmp_path):
    out, _ = python(
        "import helpers, os; from helpers import devices; print(os.environ['OCL_ICD_VENDORS'])\n"
        "try: devices.opencl_device()\nexcept devices.DeviceError as e: print(e)",
        OCL_ICD_VENDORS=str(tmp_path),
    )
    folder, message = out.split("\n")
    assert folder == str(tmp_path)
    assert "no driver is installed" in message
    assert drivers.pip_cpu_runtime() is None or "installed but hidden: unset OCL_ICD_VENDORS" in message


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
    monkeypatch.setattr(drivers, "pip_cpu_runtime", lambda: None)
    monkeypatch.setattr(devices, "version", lambda package: None)
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert spelled(ENGLISH, *devices.opencl_remedy()).endswith(command)


@pytest.fixture
def played(monkeypatch):
    """OpenCL devices by name: `played(("a platform", "a name"), ...)`. All of them work, and are GPUs."""

    def play(*names):
        found = []
        for platform, model in names:
            number = sum(one.name.startswith(model) for one in found)
            handle = SimpleNamespace(platform=SimpleNamespace(name=platform))
            name = devices.numbered(model, number)
            found.append(devices.Device("OpenCL", name, "GPU", f"{platform} 1", 1024, 49152, 1 << 30, handle))
        monkeypatch.setattr(devices, "opencl_devices", lambda: tuple(found))
        monkeypatch.setattr(devices, "prove_opencl", lambda handle: None)
        monkeypatch.delenv("HELPERS_OPENCL_DEVICE", raising=False)
        forget()
        return [device.handle for device in found]

    def forget():
        devices.proved_device.cache_clear()
        devices.problem_of.cache_clear()

    yield play
    monkeypatch.undo()
    forget()


def test_equal_gpus_are_told_apart_by_a_number(played):
    first, second, other = played(("NVIDIA CUDA", "NVIDIA H200"), ("NVIDIA CUDA", "NVIDIA H200"), ("ROCm", "MI300"))
    for asked, name, handle in (
        (None, "NVIDIA H200", first),
        ("h200", "NVIDIA H200", first),
        ("H200#0", "NVIDIA H200", first),
        ("H200#1", "NVIDIA H200#1", second),
        ("NVIDIA H200#1", "NVIDIA H200#1", second),  # as it calls itself: so a child process asks for it
        ("mi300", "MI300", other),
        ("rocm", "MI300", other),
    ):
        found = devices.opencl_device(asked)
        assert found.name == name and found.handle is handle, asked
    assert devices.opencl_device("H200#0") != devices.opencl_device("H200#1")
    with pytest.raises(devices.DeviceError, match=r"'H200#2'; found: NVIDIA H200 .*, NVIDIA H200#1 .*, MI300"):
        devices.opencl_device("H200#2")


def test_a_device_that_fails_its_proof_does_not_count(played, monkeypatch):
    def broken(handle):
        raise RuntimeError("unknown target CPU")

    played(("NVIDIA CUDA", "NVIDIA H200"))
    monkeypatch.setattr(devices, "prove_opencl", broken)
    with pytest.raises(devices.DeviceError, match=r"can run a kernel \(NVIDIA H200: unknown target CPU\)"):
        devices.opencl_device()


def test_the_variable_counts_as_it_is_now(played, monkeypatch):
    first, second = played(("NVIDIA CUDA", "NVIDIA H200"), ("ROCm", "MI300"))
    for value, handle in ((None, first), ("MI300", second), ("H200", first), ("", first)):
        if value is not None:
            monkeypatch.setenv("HELPERS_OPENCL_DEVICE", value)
        assert devices.opencl_device().handle is handle
        assert devices.opencl_device(None, ("GPU",)).handle is handle
    monkeypatch.setenv("HELPERS_OPENCL_DEVICE", "abacus")
    with pytest.raises(devices.DeviceError, match="no OpenCL device is called 'abacus'"):
        devices.opencl_device()


def test_equal_devices_are_numbered_as_they_are_listed_and_a_platform_that_fails_is_passed_over(monkeypatch):
    import pyopencl as cl

    def listed(name, kind):
        one = SimpleNamespace(name=name, type=kind, platform=SimpleNamespace(name="a platform"))
        one.driver_version = one.max_work_group_size = one.max_compute_units = one.native_vector_width_float = 1
        one.local_mem_size = one.global_mem_size = 1
        return one

    def broken():
        raise cl.RuntimeError("clGetDeviceIDs failed: OUT_OF_HOST_MEMORY")

    gpu, cpu = cl.device_type.GPU, cl.device_type.CPU
    handles = [listed("EPYC", cpu), listed(" H200 ", gpu), listed("H200", gpu), listed("EPYC", cpu)]
    handles.insert(0, SimpleNamespace(name="H200", type=gpu, platform=SimpleNamespace(name="Oclgrind")))
    platforms = [SimpleNamespace(get_devices=broken), SimpleNamespace(get_devices=lambda: handles)]
    monkeypatch.setattr(cl, "get_platforms", lambda: platforms)
    found = devices.opencl_devices.__wrapped__()
    assert [one.name for one in found] == ["H200", "H200#1", "EPYC", "EPYC#1"]


def test_a_proof_that_cannot_be_kept_costs_nothing(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(devices.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 0, "", ""))
    assert devices.cuda_problem.__wrapped__() is None and not devices.proof().exists()


def test_numbas_simulator_is_left_alone_and_refused_where_it_was_loaded_before():
    out, err = python("import os, helpers; print(os.environ.get('NUMBA_ENABLE_CUDASIM'))", NUMBA_ENABLE_CUDASIM="1")
    assert out == "None", err
    _, err = python("from numba import cuda; import helpers", NUMBA_ENABLE_CUDASIM="1")
    assert "Unset it, and start Python anew" in err


def test_numbas_simulator_that_is_asked_for_later_changes_nothing():
    """Numba reads the variable when it loads, and again whenever it compiles."""
    late = "os.environ['NUMBA_ENABLE_CUDASIM'] = '1'"
    code = f"import os, helpers; {late}; from numba import cuda, njit; {late}; njit(lambda: 1)()\n"
    out, err = python(code + "print(type(cuda.jit(lambda x: None)).__name__)")
    assert out == "CUDADispatcher", err


def test_doctor_tells_what_is_used_and_why_and_loads_none_of_it():
    """A package that is broken may end the process that loads it."""
    code = "import json, sys; from helpers.doctor import diagnosis; print(json.dumps(diagnosis()))\n"
    code += "print(*{'numpy', 'numba', 'pyopencl'} & set(sys.modules))"
    rows, _, loaded = python(code)[0].partition("\n")
    rows = json.loads(rows)
    assert doctor.missing(rows) == [] and loaded == ""
    assert any(r["what"].startswith("OpenCL ") and r["used"] for r in rows)
    assert sum(r["used"] for r in rows if r["what"] in ("NVIDIA GPU", "PTX machine")) == 1


def test_what_a_class_needs_and_is_missing_is_named():
    rows = [doctor.row("numpy", "2", True, ""), doctor.row("numba", "0", False, "", "CUDA")]
    assert doctor.missing(rows) == ["CUDA"] and spelled(ENGLISH, *doctor.verdict(rows)).startswith(
        "Not ready. Missing: CUDA."
    )


def test_an_engine_that_lacks_something_is_not_used_and_is_told_with_its_remedy(monkeypatch):
    monkeypatch.setattr(devices, "engines", lambda: {"MPI": "mpiexec", "Dask": None})
    mpi, dask = doctor.engines()
    assert (mpi["used"], mpi["found"]) == (False, "no mpiexec") and needs.remedy("many") in mpi["why"]
    assert (dask["used"], dask["found"]) == (True, "found") and "pip" not in dask["why"]


def test_the_block_languages_have_one_line_and_its_remedy(monkeypatch):
    monkeypatch.setattr(devices, "block_languages", lambda: {"Triton": "3.9.0", "Warp": None})
    row = doctor.blocks()
    assert (row["used"], row["found"]) == (False, "Triton 3.9.0") and needs.remedy("blocks") in row["why"]
    monkeypatch.setattr(devices, "block_languages", lambda: {"Triton": "3.9.0", "Warp": "1.19.0"})
    row = doctor.blocks()
    assert (row["used"], row["found"]) == (True, "Triton 3.9.0, Warp 1.19.0") and "pip" not in row["why"]


def test_where_triton_is_missing_it_says_what_adds_it(monkeypatch):
    monkeypatch.setattr(devices, "version", lambda package: None)
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(needs.Missing, match=re.escape(needs.remedy("blocks"))):
        run_triton("def product(): pass", 16, 16, 16, BM=16, BN=16, BK=16)


def test_warp_is_loaded_without_a_word():
    if not devices.version("warp-lang"):
        pytest.skip("Warp is not installed: python3 tools/install.py blocks")
    out, err = python("from helpers import devices; print(devices.load_warp().__version__)")
    assert out == devices.version("warp-lang") and not err


def test_the_proof_of_cuda_is_kept_until_driver_gpu_or_a_package_changes(monkeypatch, tmp_path):
    proofs, driver, gpus = [], [13, 0], ["NVIDIA H100"]
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path / "new"))
    monkeypatch.setattr(devices, "nvidia_gpus", lambda: gpus)
    monkeypatch.setattr(devices, "nvidia_driver_cuda", lambda: tuple(driver))

    def prove(*command, **options):
        proofs.append(0)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(devices.subprocess, "run", prove)
    for change, count in ((lambda: None, 1), (lambda: None, 1), (lambda: driver.append(1), 2), (gpus.clear, 2)):
        change()
        devices.cuda_problem.cache_clear()
        assert devices.compiling.__wrapped__() == (not gpus) and len(proofs) == count
    gpus.append("NVIDIA T4")
    devices.cuda_problem.cache_clear()
    devices.compiling.__wrapped__()
    assert len(proofs) == 3
    devices.cuda_problem.cache_clear()


def test_a_proof_that_failed_is_not_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    failed = subprocess.CompletedProcess([], 1, "", "no compiler")
    monkeypatch.setattr(devices.subprocess, "run", lambda *command, **options: failed)
    devices.cuda_problem.cache_clear()
    assert devices.cuda_problem() == "no compiler" and not devices.proof().exists()
    devices.cuda_problem.cache_clear()


def test_importing_the_helpers_loads_neither_numba_nor_matplotlib():
    out, err = python("import helpers, sys; print({'numba', 'matplotlib', 'pyopencl', 'numpy'} & set(sys.modules))")
    assert out == "set()", err


def test_a_kernel_that_another_processor_left_in_pyopencls_cache_is_built_anew(tmp_path):
    """Intel's runtime refuses machine code of another processor, and machines may share a home."""
    if not any(one.kind == "CPU" for one in devices.opencl_devices()):
        pytest.skip("Intel's OpenCL runtime: pip install intel-opencl-rt intel-cmplr-lib-rt")
    proof = "from helpers import devices; one = next(one for one in devices.opencl_devices() if one.kind == 'CPU')"
    proof += "; print(devices.prove_opencl(one.handle))"
    assert python(proof, XDG_CACHE_HOME=str(tmp_path)) == ("None", "")
    (kept,) = tmp_path.glob("pyopencl/*/*/binary")
    kept.write_bytes(kept.read_bytes()[:200])
    assert python(proof, XDG_CACHE_HOME=str(tmp_path)) == ("None", "")


def test_the_blas_is_named_and_one_that_was_forced_is_said(monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    assert devices.numpy_blas() and "forces" not in devices.numpy_blas()
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    if "OpenBLAS" in devices.numpy_blas():
        assert devices.numpy_blas().endswith("(OPENBLAS_CORETYPE forces it)")
        _, row = doctor.try_numpy()
        assert not row["used"] and "unset OPENBLAS_CORETYPE" in row["why"]


@pytest.mark.parametrize(
    "text, model",
    [
        ("model name\t: AMD EPYC\ncpu family\t: 26\nmodel\t\t: 17\n\n", "AMD EPYC, family 26, model 17"),
        ("model name : Intel(R) Xeon(R) Gold 6338\ncpu family : 6\n", "Intel(R) Xeon(R) Gold 6338, family 6"),
        ("CPU implementer : 0x41\nCPU part : 0xd0c\n", "an Arm, implementer 0x41, part 0xd0c"),
        (None, "an Arm"),
    ],
    ids=["a hidden name", "a full name", "Arm", "no Linux"],
)
def test_a_cpu_is_called_after_its_model_and_cores(text, model, monkeypatch):
    def read_text(path, *_, **__):
        if text is None:
            raise FileNotFoundError
        return text

    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(devices, "usable_cores", lambda: 2)
    monkeypatch.setattr(devices.platform, "processor", lambda: "an Arm")
    assert devices.cpu_model() == f"{model}, 2 cores"
