"""What the PTX beside this file was made from, by Triton 3.9.0: `python product.py`; it needs no GPU."""

import re
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SIZES = {"BM": "constexpr", "BN": "constexpr", "BK": "constexpr", "PRECISION": "constexpr"}
POINTERS, ALL = range(3), range(6)  # which arguments are promised to be multiples of 16


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


def write(name, element, precision, aligned, size, stages, capability=80):
    """Write NAME.ptx, without what it says for debuggers."""
    signature = {"a_at": element, "b_at": element, "c_at": "*fp32", "M": "i32", "N": "i32", "K": "i32", **SIZES}
    source = ASTSource(
        fn=product,
        signature=signature,
        constexprs={"BM": size, "BN": size, "BK": 32, "PRECISION": precision},
        attrs={(argument,): [["tt.divisibility", 16]] for argument in aligned},
    )
    options = {"num_warps": 4, "num_stages": stages}
    made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
    text = re.sub(r"^\s*\.section\b[^{]*\{[^}]*\}\n?|^\s*\.loc\b.*\n|^\s*\.file\b.*\n", "", made.asm["ptx"], flags=re.M)
    settings = f"{size} x {size} x 32 a tile, {stages} stages, 4 warps, {made.metadata.shared} bytes of shared memory"
    head = f"// product.py by Triton {triton.__version__}, {element} {precision}, {settings}\n"
    (Path(__file__).parent / f"{name}.ptx").write_text(head + text.rstrip() + "\n")


if __name__ == "__main__":
    write("f32", "*fp32", "ieee", POINTERS, 32, 2)
    write("tf32", "*fp32", "tf32", POINTERS, 32, 2)
    write("bf16", "*bf16", "tf32", POINTERS, 32, 2)
    write("f16_copied", "*fp16", "tf32", ALL, 64, 3)
    write("f16_sm90", "*fp16", "tf32", ALL, 64, 3, 90)
    write("tf32_sm90", "*fp32", "tf32", ALL, 64, 3, 90)
