"""Ladders of matrix products that others measured and published, each with its source: published.toml has them.

Most are of one set of kernels, SGEMM_CUDA's; an H200's is of the course's kernels of 2026-11-26. What they ask of a GPU
was counted from their code; published_counts.json keeps the numbers, not the code.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from .counts import read_counts
from .gpus import GPU, arch_of, known, read_toml
from .prediction import Prediction, predict

PUBLISHED = read_toml("published.toml")
SIZE = PUBLISHED["size"]  # M = N = K of all of them
SIZES = PUBLISHED["sizes"]  # the parameters of each step's kernel there


@dataclass(frozen=True)
class Ladder:
    """What somebody measured on a GPU: `rates`, {step: GFLOP/s}; `library`, cuBLAS there; `note`, what is odd.

    Its products are float32, with M = N = K = `SIZE`. `fitted`: whether the model's one number was chosen by it, too.
    `tried`: {change: GFLOP/s}, of its vectorized kernel with other places in shared memory. `at`: cycles a second of
    a locked clock. `ran`: {step: name in published_counts.json} of the kernels that ran, where SGEMM_CUDA's did not.
    """

    gpu: str
    source: str
    rates: dict
    library: float | None = None
    note: str = ""
    fitted: bool = False
    tried: dict = field(default_factory=dict)
    at: float | None = None
    ran: dict = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """Whether the code that ran there was counted; else SGEMM_CUDA's stands for it."""
        return not any(of in self.note for of in ("other kernels", "its own kernels"))

    def predicted(self, step: str, gpu: GPU | str | None = None) -> Prediction:
        """The `Prediction` for the kernel that ran there, on that GPU; on the ladder's own where none is given."""
        gpu = known(gpu or self.gpu)
        gpu = replace(gpu, clock=self.at) if self.at else gpu
        return predict(theirs()[self.ran.get(step, step), arch_of(gpu)], gpu, SIZE, SIZE, SIZE, by_rows=step == "naive")

    def clock(self) -> float | None:
        """Cycles a second at which its naive rung is predicted as it was measured; None without such a rung."""
        clock = known(self.gpu).clock
        return ("naive" in self.rates and clock * self.rates["naive"] / self.predicted("naive").gflops) or None


LADDERS = tuple(Ladder(**one) for one in PUBLISHED["ladder"])
LOCKED = tuple(Ladder(**one) for one in PUBLISHED["locked"])  # what others measured with a locked clock
OURS = read_toml("counters.toml")  # what an H200's said of the course's kernels, and how long they took
MEASURED = (*LADDERS, Ladder(**OURS["ladder"]))


def as_it_ran(row: dict) -> Prediction:
    """What the model says of a kernel of counters.toml, `row`, as it was when the GPU ran it."""
    name = f"{row['step']} with {', '.join(f'{name}={value}' for name, value in row['parameters'].items())}"
    return Ladder(OURS["gpu"], "", {}, ran={row["step"]: name}).predicted(row["step"])


@cache
def theirs():
    """The `Counts` of what ran: {(step, arch): Counts}; of the course's kernels, such as "tiled with TILE=16"."""
    return read_counts(Path(__file__).with_name("published_counts.json"))
