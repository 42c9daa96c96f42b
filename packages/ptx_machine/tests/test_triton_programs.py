"""Programs in Triton that are no products, against NumPy: right and clean, on the targets sm_80 and sm_90.

Six are kept as PTX; where Triton is installed, the bulk tests compile and run four more. Their source is
`from_triton/programs.py`.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import ptx_machine

FOLDER = Path(__file__).parent / "from_triton"
TYPES = {"float32": "fp32", "float16": "fp16", "int32": "i32", "int64": "i64", "uint32": "u32"}
KEPT = ("softmax", "sort", "associative_scan", "causal_attention", "dropout", "welford_variance")
RNG = np.random.default_rng(44)


@dataclass
class Case:
    """A kernel and one launch of it.

    kernel     its name in programs.py
    args       {parameter: array or number}
    constants  {parameter: what it is when the kernel is compiled}
    grid       programs along x, y and z
    expected   {position of an array among the arrays: what it holds afterwards}
    within     how far a number may be from that, as a part of 1 + its size
    """

    kernel: str
    args: dict
    constants: dict
    grid: tuple
    expected: dict
    within: float = 1e-5

    @property
    def how(self):
        """What `programs.compiled` takes, but for the target."""
        types = {
            name: f"*{TYPES[value.dtype.name]}" if isinstance(value, np.ndarray) else TYPES[type_of(value)]
            for name, value in self.args.items()
        }
        return self.kernel, types, self.constants, 4

    def check(self, ptx, shared, threads):
        """Run it: what comes out is right, and nothing is found."""
        run = ptx_machine.run(ptx, self.grid, (threads,), [*self.args.values(), 0, 0], shared=shared)
        assert run, run
        for position, expected in self.expected.items():
            got = run.arrays[position].astype(np.float64)
            assert (np.abs(got - expected) <= self.within * (1 + np.abs(expected))).all(), position


def type_of(number):
    return "int32" if isinstance(number, int) else "float32"


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def softmax():
    x = normal(5, 781)
    e = np.exp(x - x.max(1, keepdims=True))
    args = {"x": x, "y": np.zeros_like(x), "n": 781}
    return Case("softmax_kernel", args, {"BLOCK": 1024}, (5,), {1: e / e.sum(1, keepdims=True)})


def sort():
    x = normal(3, 256)
    return Case("sort_kernel", {"x": x, "y": np.zeros_like(x)}, {"N": 256}, (3,), {1: np.sort(x)}, 1e-30)


def topk():
    x = normal(3, 128)
    args = {"x": x, "y": np.zeros((3, 8), np.float32)}
    return Case("topk_kernel", args, {"N": 128, "K": 8}, (3,), {1: -np.sort(-x)[:, :8]}, 1e-30)


def associative_scan():
    a, b = RNG.uniform(0.5, 1, (2, 512)).astype(np.float32), normal(2, 512)
    h, expected = np.zeros(2), []
    for k in range(512):
        h = a[:, k] * h + b[:, k]
        expected.append(h)
    args = {"a": a, "b": b, "y": np.zeros_like(a)}
    return Case("scan_kernel", args, {"N": 512}, (2,), {2: np.stack(expected, 1)}, 1e-4)


def histogram():
    x = RNG.integers(0, 15, 1000).astype(np.int32)
    counts = np.bincount(x, minlength=16)
    counts[15] += 24
    args = {"x": x, "y": np.zeros(16, np.int32), "n": 1000}
    return Case("histogram_kernel", args, {"BLOCK": 256, "BINS": 16}, (4,), {1: counts})


def causal_attention():
    q, k, v = (normal(2, 70, 32).astype(np.float16) for _ in range(3))
    s = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * 0.17
    s = np.where(np.tril(np.ones((70, 70))), s, -1e30)
    p = np.exp(s - s.max(2, keepdims=True))
    o = p / p.sum(2, keepdims=True) @ v.astype(np.float64)
    args = {"q": q, "k": k, "v": v, "o": np.zeros_like(q), "n": 70, "scale": 0.17}
    return Case("attention_kernel", args, {"BM": 32, "BN": 32, "D": 32, "CAUSAL": True}, (3, 2), {3: o}, 3e-3)


def philox(seed, offset):
    """Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3": Philox 4x32, ten rounds; its first word."""
    c, key = [offset.astype(np.uint64)] + [np.zeros(offset.size, np.uint64)] * 3, [seed, 0]
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [b >> half ^ c[1] ^ np.uint64(key[0]), b & low, a >> half ^ c[3] ^ np.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return c[0].astype(np.uint32)


def dropout():
    x, bits = normal(700), philox(77, np.arange(700))
    signed = bits.view(np.int32).astype(np.int64)
    uniform = np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10
    args = {"x": x, "y": np.zeros_like(x), "kept": np.zeros(700, np.uint32), "n": 700, "p": 0.4, "seed": 77}
    return Case("dropout_kernel", args, {"BLOCK": 256}, (3,), {1: np.where(uniform > 0.4, x / 0.6, 0), 2: bits})


def atomics():
    x = RNG.integers(-100, 100, 500).astype(np.int32)
    low, high = ([way(x[k::8]) for k in range(8)] for way in (min, max))
    args = {"x": x, "low": np.zeros(8, np.int32), "high": np.zeros(8, np.int32)}
    args |= {name: np.zeros(1, np.int32) for name in ("total", "lock", "out")}
    return Case("atomics_kernel", args | {"n": 500}, {"BLOCK": 128}, (4,), {1: low, 2: high, 3: x.sum(), 5: x.sum()})


def tensor_descriptor():
    x = normal(40, 72)
    args = {"x": x, "y": np.zeros_like(x), "M": 40, "N": 72}
    return Case("descriptor_kernel", args, {"BM": 16, "BN": 32}, (3, 3), {1: 2 * x + 1})


def welford_variance():
    x = normal(5, 400) + 10
    args = {"x": x, "mean": np.zeros(5, np.float32), "variance": np.zeros(5, np.float32), "n": 400}
    return Case("welford_kernel", args, {"BLOCK": 512}, (5,), {1: x.mean(1), 2: x.var(1)}, 1e-4)


MORE = ("topk", "histogram", "atomics", "tensor_descriptor")  # each asks for instructions that no other one does


@pytest.fixture(scope="module")
def programs():
    pytest.importorskip("triton")
    sys.path.insert(0, str(FOLDER))
    try:
        import programs
    finally:
        sys.path.remove(str(FOLDER))
    return programs


@pytest.mark.parametrize("name", KEPT)
def test_programs_kept_as_ptx(name):
    text = (FOLDER / f"{name}.ptx").read_text()
    threads, shared = map(int, re.match(r"// .*: (\d+) threads, (\d+) bytes", text).groups())
    globals()[name]().check(text, shared, threads)


@pytest.mark.bulk
@pytest.mark.parametrize(
    "name, target", [*((name, "sm_90") for name in KEPT + MORE[:-1]), *((name, "sm_80") for name in MORE)]
)
def test_programs_compiled_anew(name, target, programs):
    case = globals()[name]()
    case.check(*programs.compiled(*case.how, target))


@pytest.mark.bulk
def test_a_program_that_asks_for_the_tensor_memory_accelerator_is_refused(programs):
    case = tensor_descriptor()
    with pytest.raises(ptx_machine.PTXError, match="tensormap"):
        case.check(*programs.compiled(*case.how, "sm_90"))


@pytest.mark.bulk
def test_what_is_kept_is_what_triton_makes(programs, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "__file__", str(tmp_path / "programs.py"))
    for name in KEPT:
        programs.keep(name, *globals()[name]().how)
        assert (tmp_path / f"{name}.ptx").read_text() == (FOLDER / f"{name}.ptx").read_text()
