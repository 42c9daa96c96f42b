"""Programs in Triton that are no products: softmax, sort, attention and others, each for what it asks of the machine.

`python programs.py` writes those that are kept as PTX beside this file; it needs Triton, and no GPU.
"""

import re
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax_kernel(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + column, e / tl.sum(e, axis=0), mask=column < n)


@triton.jit
def sort_kernel(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + at, tl.sort(tl.load(x + at)))


@triton.jit
def topk_kernel(x, y, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(y + row * K + tl.arange(0, K), tl.topk(tl.load(x + row * N + tl.arange(0, N)), K))


@triton.jit
def linear(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def scan_kernel(a, b, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    _, h = tl.associative_scan((tl.load(a + at), tl.load(b + at)), axis=0, combine_fn=linear)
    tl.store(y + at, h)


@triton.jit
def histogram_kernel(x, y, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=BINS - 1)
    tl.atomic_add(y + tl.arange(0, BINS), tl.histogram(v, BINS))


@triton.jit
def attention_kernel(q, k, v, o, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rows, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    head = tl.program_id(1) * n * D
    at = head + rows[:, None] * D + d[None, :]
    query = tl.load(q + at, mask=rows[:, None] < n, other=0.0)
    most, size = tl.full([BM], -float("inf"), tl.float32), tl.zeros([BM], tl.float32)
    total = tl.zeros([BM, D], tl.float32)
    for start in range(0, n, BN):
        columns = start + tl.arange(0, BN)
        keys = tl.load(k + head + columns[None, :] * D + d[:, None], mask=columns[None, :] < n, other=0.0)
        s = tl.dot(query, keys) * scale
        seen = columns[None, :] < n
        if CAUSAL:
            seen = seen & (columns[None, :] <= rows[:, None])
        s = tl.where(seen, s, -1e30)
        now = tl.maximum(most, tl.max(s, 1))
        p = tl.exp(s - now[:, None])
        fade = tl.exp(most - now)
        size = size * fade + tl.sum(p, 1)
        values = tl.load(v + head + columns[:, None] * D + d[None, :], mask=columns[:, None] < n, other=0.0)
        total = total * fade[:, None] + tl.dot(p.to(values.dtype), values)
        most = now
    tl.store(o + at, (total / size[:, None]).to(tl.float16), mask=rows[:, None] < n)


@triton.jit
def dropout_kernel(x, y, kept, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, at) > p
    v = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.where(keep, v / (1 - p), 0.0), mask=at < n)
    tl.store(kept + at, tl.randint(seed, at), mask=at < n)


@triton.jit
def atomics_kernel(x, low, high, total, lock, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_min(low + at % 8, v, mask=at < n)
    tl.atomic_max(high + at % 8, v, mask=at < n)
    part = tl.sum(v, axis=0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.atomic_xchg(total, tl.atomic_add(total, 0) + part)
    tl.atomic_xchg(lock, 0)
    tl.atomic_add(out, part)


@triton.jit
def descriptor_kernel(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tl.make_tensor_descriptor(y, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    r, c = tl.program_id(0) * BM, tl.program_id(1) * BN
    target.store([r, c], source.load([r, c]) * 2 + 1)


@triton.jit
def welford(m1, s1, n1, m2, s2, n2):
    d, n = m2 - m1, n1 + n2
    size = tl.maximum(n, 1.0)
    return (n1 * m1 + n2 * m2) / size, s1 + s2 + d * d * (n1 * n2 / size), n  # the same from either side


@triton.jit
def welford_kernel(x, mean, variance, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + c, mask=c < n, other=0.0)
    one = tl.where(c < n, 1.0, 0.0)
    m, s, many = tl.reduce((v, tl.zeros([BLOCK], tl.float32), one), 0, welford)
    tl.store(mean + row, m)
    tl.store(variance + row, s / many)


def compiled(kernel, types, constants, warps, target):
    """(PTX, bytes of shared memory, threads of a block) of the kernel of that name.

    types      {parameter: its type in Triton's words, such as "*fp32"}
    constants  {parameter: what it is when the kernel is compiled}
    warps      of a block
    target     such as "sm_80"
    """
    function = globals()[kernel]
    signature = dict.fromkeys(function.arg_names, "constexpr") | types
    source = ASTSource(fn=function, signature=signature, constexprs=constants)
    made = triton.compile(
        source, target=GPUTarget("cuda", int(target[3:]), 32), options={"num_warps": warps, "enable_fp_fusion": False}
    )
    return made.asm["ptx"], made.metadata.shared, 32 * made.metadata.num_warps


def keep(name, *how):
    """Write NAME.ptx, without what it says for debuggers, and with what a launch must know in its first line."""
    ptx, shared, threads = compiled(*how, "sm_80")
    text = re.sub(r"^\s*\.section\b[^{]*\{[^}]*\}\n?|^\s*\.loc\b.*\n|^\s*\.file\b.*\n", "", ptx, flags=re.M)
    head = f"// programs.py by Triton {triton.__version__}: {threads} threads, {shared} bytes of shared memory\n"
    (Path(__file__).parent / f"{name}.ptx").write_text(head + text.rstrip() + "\n")
