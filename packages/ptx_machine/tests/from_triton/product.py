"""What the PTX beside this file was made from, by Triton 3.9.0: `python product.py`; it needs no GPU."""

import re
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIZES = {"BM": "constexpr", "BN": "constexpr", "BK": "constexpr", "PRECISION": "constexpr"}


@triton.jit
def product(a_at, b_at, c_at, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    """C = A @ B, a tile of BM x BN a block; sums are float32."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    columns = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        across, down = (k + inner)[None, :], (k + inner)[:, None]
        a = tl.load(a_at + rows * K + across, mask=(rows < M) & (across < K), other=0.0)
        b = tl.load(b_at + down * N + columns, mask=(down < K) & (columns < N), other=0.0)
        total = tl.dot(a, b, total, input_precision=PRECISION)
    tl.store(c_at + rows * N + columns, total, mask=(rows < M) & (columns < N))


def write(name, capability):
    """Write NAME.ptx, of float16 and for promised multiples of 16, without what it says for debuggers."""
    source = ASTSource(
        fn=product,
        signature={"a_at": "*fp16", "b_at": "*fp16", "c_at": "*fp32", "M": "i32", "N": "i32", "K": "i32", **SIZES},
        constexprs={"BM": 64, "BN": 64, "BK": 32, "PRECISION": "tf32"},
        attrs={(argument,): [["tt.divisibility", 16]] for argument in range(6)},
    )
    options = {"num_warps": 4, "num_stages": 3}
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    text = re.sub(r"^\s*\.section\b[^{]*\{[^}]*\}\n?|^\s*\.loc\b.*\n|^\s*\.file\b.*\n", "", made.asm["ptx"], flags=re.M)
    settings = f"64 x 64 x 32 a tile, 3 stages, 4 warps, {made.metadata.shared} bytes of shared memory"
    head = f"// product.py by Triton {triton.__version__}, *fp16 tf32, {settings}\n"
    (Path(__file__).parent / f"{name}.ptx").write_text(head + text.rstrip() + "\n")


if __name__ == "__main__":
    write("f16_copied", 80)
    write("f16_sm90", 90)
