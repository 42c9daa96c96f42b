"""Count what the ladder's CUDA kernels ask of a GPU, and keep it in helpers/instruments/counts.json.

    python tools/counts.py

It compiles each for each architecture of `GPUS`, with no GPU, at a GPU's parameters, at the published ladders' and at
those that a page tries. It takes some minutes. `tests/instruments/test_counts.py` compares the file with
the compiler that is installed.
"""

import json

from helpers import cuda_kernel, ladder
from helpers.instruments.counts import KEPT, TRIED, count, to_row
from helpers.instruments.gpus import ARCHS
from helpers.instruments.published import SIZES


def kernels():
    """The ladder's CUDA kernels with the parameters that are counted."""
    for name in ladder.steps("CUDA"):
        yield cuda_kernel(name, **ladder.step(name).defaults["GPU"])
        if name in SIZES:
            yield cuda_kernel(name, **SIZES[name])
        if name in TRIED:
            yield cuda_kernel(name, **TRIED[name])


def main():
    """Count, and write the file."""
    rows = []
    for k in kernels():
        rows += [to_row(count(k, arch)) for arch in ARCHS]
        print(f"{k} with {ladder.spell(k.parameters)}")
    KEPT.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
