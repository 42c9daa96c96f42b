"""Count what the ladder's CUDA kernels ask of a GPU, and keep it in helpers/instruments/counts.json.

    python tools/counts.py
    python tools/counts.py FOLDER    a checkout of siboehm/SGEMM_CUDA: count its kernels, for `gpu_model`

It compiles each for each architecture of `ARCHS`, with no GPU, at a GPU's parameters, at the published ladders' and at
those that a page tries. It takes some minutes. The code that counters.toml is about is older: `gpu_model` keeps it.
`tests/instruments/test_counts.py` compares the file with the compiler that is installed.
"""

import json
import sys
from pathlib import Path

import numpy as np

import gpu_model
import ptx_machine
from gpu_model.counting import SHORT, count_text
from gpu_model.counts import to_row
from gpu_model.gpus import ARCHS
from gpu_model.published import SIZES
from helpers import cuda_kernel, ladder
from helpers.instruments.prediction import KEPT, TRIED, as_step, count

PUBLISHED = Path(gpu_model.__file__).with_name("published_counts.json")
THEIRS = {  # step: (file, kernel with SGEMM_CUDA's own sizes, threads of a block, tile of C and its depth)
    "naive": ("1_naive", "sgemm_naive", (32, 32), (32, 32, 8)),
    "coalesced": ("2_kernel_global_mem_coalesce", "sgemm_global_mem_coalesce<32>", (1024, 1), (32, 32, 8)),
    "tiled": ("3_kernel_shared_mem_blocking", "sgemm_shared_mem_block<32>", (1024, 1), (32, 32, 32)),
    "register_1d": ("4_kernel_1D_blocktiling", "sgemm1DBlocktiling<64,64,8,8>", (512, 1), (64, 64, 8)),
    "register_2d": ("5_kernel_2D_blocktiling", "sgemm2DBlocktiling<128,128,8,8,8>", (256, 1), (128, 128, 8)),
    "vectorized": ("6_kernel_vectorize", "sgemmVectorize<128,128,8,8,8>", (256, 1), (128, 128, 8)),
    "linearize": (
        "7_kernel_resolve_bank_conflicts", "sgemmResolveBankConflicts<128,128,8,8,8>", (256, 1), (128, 128, 8)
    ),
    "offset": ("8_kernel_bank_extra_col", "sgemmResolveBankExtraCol<128,128,8,8,8>", (256, 1), (128, 128, 8)),
    "prefetched": (
        "10_kernel_warptiling", "sgemmWarptiling<128,128,16,64,64,4,8,4,128>", (128, 1), (128, 128, 16)
    ),
}  # fmt: skip


def count_theirs(folder, step, arch):
    """The `Counts` of SGEMM_CUDA's kernel for that step."""
    file, kernel, block, side = THEIRS[step]
    source = Path(folder, "src", "kernels", f"{file}.cuh")
    ptx, names = ptx_machine.from_cuda(source, *[kernel] * ("<" in kernel), target=arch)

    def run(K):
        A, B = np.ones((side[0], K), np.float32), np.ones((K, max(side[1], SHORT)), np.float32)
        C = np.zeros((side[0], B.shape[1]), np.float32)
        args = [*C.shape, K, np.float32(1), A, B, np.float32(0), C]
        return ptx_machine.run(ptx, (1,), block, args, names[kernel])

    return count_text(step, ptx, arch, block, side, run)


def kernels():
    """(kernel, architectures) that are counted: the ladder's, and for each type of input those less exact than it."""
    for name in ladder.steps("CUDA"):
        for parameters in (ladder.step(name).defaults["GPU"], SIZES.get(name), TRIED.get(name)):
            if parameters is not None:
                yield cuda_kernel(name, **parameters), tuple(ARCHS)
    for name, step in ladder.STEPS.items():
        for of in step.inputs:
            archs = (arch for arch in ARCHS if (int(arch[3:-1]), int(arch[-1])) >= step.capability)
            yield cuda_kernel(name, **step.defaults["GPU"] | {"INPUT": of}), tuple(archs)


def write(path, rows):
    """Write rows of counts, one a line."""
    path.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")


def main(folder=None):
    """Count, and write the file."""
    if folder:
        rows = [to_row(count_theirs(folder, step, arch)) for step in THEIRS for arch in ARCHS]
        return write(PUBLISHED, rows)
    rows, done = [], set()
    for k, archs in kernels():
        archs = [arch for arch in archs if (as_step(k), arch) not in done]
        done |= {(as_step(k), arch) for arch in archs}
        rows += [to_row(count(k, arch)) for arch in archs]
        print(as_step(k))
    write(KEPT, rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
