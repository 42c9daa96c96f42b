"""Programs in Triton that are no products, against NumPy: right and clean, on the targets sm_80 and sm_90.

Six are kept as PTX; where Triton is installed, the bulk tests compile and run all. `from_triton/programs.py` has them.
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
    return Case(
        "softmax_kernel",
        {"x": x, "y": np.zeros_like(x), "n": 781},
        {"BLOCK": 1024},
        (5,),
        {1: e / e.sum(1, keepdims=True)},
    )


def layer_norm():
    x, w, b = normal(4, 300), normal(300), normal(300)
    m, s = x.mean(1, keepdims=True), x.std(1, keepdims=True)
    args = {
        "x": x,
        "y": np.zeros_like(x),
        "w": w,
        "b": b,
        "mean": np.zeros(4, np.float32),
        "rstd": np.zeros(4, np.float32),
        "n": 300,
        "eps": 0.0,
    }
    return Case("layer_norm_kernel", args, {"BLOCK": 128}, (4,), {1: (x - m) / s * w + b, 4: m[:, 0], 5: 1 / s[:, 0]})


def rms_norm():
    x, w = normal(3, 200).astype(np.float16), normal(200)
    wide = x.astype(np.float64)
    y = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * w
    return Case(
        "rms_norm_kernel", {"x": x, "y": np.zeros_like(x), "w": w, "n": 200}, {"BLOCK": 256}, (3,), {1: y}, 1e-3
    )


def sort():
    x = normal(3, 256)
    return Case("sort_kernel", {"x": x, "y": np.zeros_like(x)}, {"N": 256}, (3,), {1: np.sort(x)}, 0.0 + 1e-30)


def topk():
    x = normal(3, 128)
    return Case(
        "topk_kernel",
        {"x": x, "y": np.zeros((3, 8), np.float32)},
        {"N": 128, "K": 8},
        (3,),
        {1: -np.sort(-x)[:, :8]},
        1e-30,
    )


def cumsum():
    x = normal(8, 256)
    return Case(
        "cumsum_kernel",
        {"x": x, "y": np.zeros_like(x)},
        {"R": 4, "N": 256},
        (2,),
        {1: np.cumsum(x.astype(np.float64), 1)},
        1e-4,
    )


def associative_scan():
    a, b = RNG.uniform(0.5, 1, (2, 512)).astype(np.float32), normal(2, 512)
    h, expected = np.zeros(2), []
    for k in range(512):
        h = a[:, k] * h + b[:, k]
        expected.append(h)
    return Case(
        "scan_kernel", {"a": a, "b": b, "y": np.zeros_like(a)}, {"N": 512}, (2,), {2: np.stack(expected, 1)}, 1e-4
    )


def histogram():
    x = RNG.integers(0, 15, 1000).astype(np.int32)
    counts = np.bincount(x, minlength=16)
    counts[15] += 24
    return Case(
        "histogram_kernel",
        {"x": x, "y": np.zeros(16, np.int32), "n": 1000},
        {"BLOCK": 256, "BINS": 16},
        (4,),
        {1: counts},
    )


def attention(causal=False):
    q, k, v = (normal(2, 70, 32).astype(np.float16) for _ in range(3))
    s = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) * 0.17
    if causal:
        s = np.where(np.tril(np.ones((70, 70))), s, -1e30)
    p = np.exp(s - s.max(2, keepdims=True))
    o = p / p.sum(2, keepdims=True) @ v.astype(np.float64)
    return Case(
        "attention_kernel",
        {"q": q, "k": k, "v": v, "o": np.zeros_like(q), "n": 70, "scale": 0.17},
        {"BM": 32, "BN": 32, "D": 32, "CAUSAL": causal},
        (3, 2),
        {3: o},
        3e-3,
    )


def causal_attention():
    return attention(True)


def philox(seed, offset):
    """Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3": Philox 4x32, ten rounds; its first word."""
    c, key = [offset.astype(np.uint64)] + [np.zeros(offset.size, np.uint64)] * 3, [seed, 0]
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]),
            b & low,
            (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]),
            a & low,
        ]
        key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
    return c[0].astype(np.uint32)


def dropout():
    x, bits = normal(700), philox(77, np.arange(700))
    signed = bits.view(np.int32).astype(np.int64)
    uniform = np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10
    y = np.where(uniform > 0.4, x / 0.6, 0)
    return Case(
        "dropout_kernel",
        {"x": x, "y": np.zeros_like(x), "kept": np.zeros(700, np.uint32), "n": 700, "p": 0.4, "seed": 77},
        {"BLOCK": 256},
        (3,),
        {1: y, 2: bits},
    )


def gather():
    x, index = normal(4, 64), RNG.integers(0, 64, (4, 32)).astype(np.int32)
    return Case(
        "gather_kernel",
        {"x": x, "index": index, "y": np.zeros((4, 32), np.float32)},
        {"N": 64, "M": 32},
        (1,),
        {2: np.take_along_axis(x, index, 1)},
    )


def atomics():
    x = RNG.integers(-100, 100, 500).astype(np.int32)
    by = [x[k::8] for k in range(8)]
    args = {
        "x": x,
        "low": np.zeros(8, np.int32),
        "high": np.zeros(8, np.int32),
        "total": np.zeros(1, np.int32),
        "lock": np.zeros(1, np.int32),
        "out": np.zeros(1, np.int32),
        "n": 500,
    }
    return Case(
        "atomics_kernel",
        args,
        {"BLOCK": 128},
        (4,),
        {1: [min(b) for b in by], 2: [max(b) for b in by], 3: x.sum(), 5: x.sum()},
    )


def argmax():
    x = RNG.integers(0, 50, (6, 333)).astype(np.float32)
    return Case(
        "argmax_kernel",
        {"x": x, "y": np.zeros(6, np.int32), "z": np.zeros(6, np.int32), "n": 333},
        {"BLOCK": 512},
        (6,),
        {1: x.argmax(1), 2: x.argmin(1)},
    )


def transpose():
    x = normal(45, 70)
    return Case(
        "transpose_kernel", {"x": x, "y": np.zeros((70, 45), np.float32), "M": 45, "N": 70}, {"B": 32}, (2, 3), {1: x.T}
    )


def embedding():
    ids, table = RNG.integers(0, 30, 9).astype(np.int64), normal(30, 100)
    return Case(
        "embedding_kernel",
        {"ids": ids, "table": table, "y": np.zeros((9, 100), np.float32), "d": 100},
        {"BLOCK": 128},
        (9,),
        {2: table[ids]},
    )


def cross_entropy():
    x, label = normal(7, 500), RNG.integers(0, 500, 7).astype(np.int32)
    wide = x.astype(np.float64)
    p = np.exp(wide) / np.exp(wide).sum(1, keepdims=True)
    loss = -np.log(p[np.arange(7), label])
    args = {"x": x, "label": label, "loss": np.zeros(7, np.float32), "grad": np.zeros_like(x), "n": 500}
    return Case("cross_entropy_kernel", args, {"BLOCK": 512}, (7,), {2: loss, 3: p - np.eye(500)[label]})


def tensor_descriptor():
    x = normal(40, 72)
    return Case(
        "descriptor_kernel",
        {"x": x, "y": np.zeros_like(x), "M": 40, "N": 72},
        {"BM": 16, "BN": 32},
        (3, 3),
        {1: 2 * x + 1},
    )


def conv1d():
    x, w = normal(600), normal(5)
    return Case(
        "conv_kernel",
        {"x": x, "w": w, "y": np.zeros_like(x), "n": 600},
        {"K": 5, "BLOCK": 256},
        (3,),
        {2: np.convolve(x, w[::-1], "same")},
    )


def welford_variance():
    x = normal(5, 400) + 10
    return Case(
        "welford_kernel",
        {"x": x, "mean": np.zeros(5, np.float32), "variance": np.zeros(5, np.float32), "n": 400},
        {"BLOCK": 512},
        (5,),
        {1: x.mean(1), 2: x.var(1)},
        1e-4,
    )


def batched_vectors():
    a, x = normal(3, 50, 90), normal(3, 90)
    return Case(
        "batched_kernel",
        {"a": a, "x": x, "y": np.zeros((3, 50), np.float32), "m": 50, "n": 90},
        {"BM": 32, "BN": 32},
        (2, 3),
        {2: np.einsum("bmn,bn->bm", a, x)},
        1e-4,
    )


def reshape_join_split_flip():
    x = normal(256)
    return Case(
        "split_kernel",
        {"x": x, "y": np.zeros_like(x)},
        {"N": 256},
        (1,),
        {1: np.stack([x[1::2], x[::2][::-1]], 1).reshape(-1)},
    )


CASES = [
    softmax,
    layer_norm,
    rms_norm,
    sort,
    topk,
    cumsum,
    associative_scan,
    histogram,
    attention,
    causal_attention,
    dropout,
    gather,
    atomics,
    argmax,
    transpose,
    embedding,
    cross_entropy,
    tensor_descriptor,
    conv1d,
    welford_variance,
    batched_vectors,
    reshape_join_split_flip,
]


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
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("make", CASES)
def test_all_programs(make, target, programs):
    case = make()
    ptx, shared, threads = programs.compiled(*case.how, target)
    refused = {tensor_descriptor: "tensormap"}.get(make) if target == "sm_90" else None
    if refused:  # TMA
        with pytest.raises(ptx_machine.PTXError, match=refused):
            case.check(ptx, shared, threads)
    else:
        case.check(ptx, shared, threads)


@pytest.mark.bulk
def test_what_is_kept_is_what_triton_makes(programs, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "__file__", str(tmp_path / "programs.py"))
    for name in KEPT:
        programs.keep(name, *globals()[name]().how)
        assert (tmp_path / f"{name}.ptx").read_text() == (FOLDER / f"{name}.ptx").read_text()
