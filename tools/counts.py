"""Count what the ladder's CUDA kernels ask of a GPU, and keep it in helpers/instruments/counts.json.

    python tools/counts.py

It compiles each for each architecture of `GPUS`, with no GPU, at a GPU's parameters, at the published ladders' and at
those that a page tries, and what counters.toml has for that GPU. It takes some minutes.
`tests/instruments/test_counts.py` compares the file with the compiler that is installed.
"""

import json

from helpers import cuda_kernel, ladder
from helpers.instruments.counts import KEPT, TRIED, count, title, to_row
from helpers.instruments.gpus import ARCHS, GPUS
from helpers.instruments.published import COUNTERS, SIZES


def kernels():
    """(kernel, architectures) that are counted: the ladder's, and for each type of input those less exact than it."""
    for name in ladder.steps("CUDA"):
        yield cuda_kernel(name, **ladder.step(name).defaults["GPU"]), tuple(ARCHS)
        if name in SIZES:
            yield cuda_kernel(name, **SIZES[name]), tuple(ARCHS)
        if name in TRIED:
            yield cuda_kernel(name, **TRIED[name]), tuple(ARCHS)
    for name, step in ladder.STEPS.items():
        for of in step.inputs:
            archs = (arch for arch in ARCHS if (int(arch[3:-1]), int(arch[-1])) >= step.capability)
            yield cuda_kernel(name, **step.defaults["GPU"] | {"INPUT": of}), tuple(archs)

    for row in COUNTERS["kernel"]:
        yield cuda_kernel(row["step"], **row["parameters"]), (GPUS[COUNTERS["gpu"]].arch,)


def main():
    """Count, and write the file."""
    rows, done = [], set()
    for k, archs in kernels():
        archs = [arch for arch in archs if (title(k), arch) not in done]
        done |= {(title(k), arch) for arch in archs}
        rows += [to_row(count(k, arch)) for arch in archs]
        print(title(k))
    KEPT.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
