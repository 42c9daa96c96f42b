"""python -m helpers doctor: what this machine has. python -m helpers bench: the ladder, timed."""

import argparse
import json
import sys

from . import devices, ladder
from .doctor import doctor
from .kernel import KernelError
from .timing import measure_ladder, spell_seconds


def bench(arguments):
    """Time the ladder beside NumPy; print a table, write JSON rows."""
    from tqdm import tqdm

    size = tuple(arguments.shape) if arguments.shape else arguments.size
    dialects = [arguments.dialect] if arguments.dialect else ["CUDA", "OpenCL"]
    steps = arguments.steps or list(ladder.STEPS)
    for name in arguments.steps or []:
        ladder.step(name, arguments.dialect)
    total = 1 + sum(name in ladder.steps(dialect) for name in steps for dialect in dialects)
    file = open(arguments.json, "w") if arguments.json else None  # before the work, so that a wrong path costs nothing
    with tqdm(total=total, leave=False, file=sys.stderr) as progress:
        def each(k):
            progress.set_description("NumPy" if k.dialect == "Python" else str(k))
            progress.update()

        timings = measure_ladder(size=size, dialects=dialects, steps=arguments.steps, each=each)
    host = timings[0].gflops
    print(f"{'M x N x K = %d x %d x %d' % (timings[0].M, timings[0].N, timings[0].K):32}"
          f"{'time':>10}  {'GFLOP/s':>9}  {'of NumPy':>9}   device")
    for t in timings:
        label = "NumPy" if t.dialect == "Python" else t.label
        if t.simulated:
            print(f"{label:32}{'simulated':>10}  {'–':>9}  {'–':>9}   {t.device}")
        else:
            print(f"{label:32}{spell_seconds(t.seconds):>10}  {t.gflops:9.1f}  {t.gflops / host:8.2f}x   {t.device}")
    if file:
        with file:
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
    except (ValueError, MemoryError, OSError, KernelError, devices.DeviceError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
