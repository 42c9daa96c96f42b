"""One kernel in five vocabularies, as a table."""

COLUMNS = ("HSA", "CUDA", "OpenCL", "WGSL", "HIP")
# What one says, and the word for it in HSA's, CUDA's and OpenCL's kernel; HIP's words are CUDA's under another name.
IDEAS = {
    "this is a kernel": ("roc.jit", "cuda.jit", "__kernel"),
    "where I am, or my group": ("roc.get_global_id", "cuda.blockIdx", "get_group_id"),
    "my place in the group": ("roc.get_local_id", "cuda.threadIdx", "get_local_id"),
    "memory that the group shares": ("roc.shared.array", "cuda.shared.array", "__local"),
    "wait for the group": ("roc.barrier", "cuda.syncthreads", "barrier"),
}
# The same in the order of IDEAS, as lines of `tiled` in WGSL.
WGSL = (
    "@compute @workgroup_size(TILE, TILE)",
    "@builtin(workgroup_id) group: vec3<u32>)",
    "fn tiled(@builtin(local_invocation_id) id: vec3<u32>,",
    "var<workgroup> As: array<array<f32, TILE>, TILE>;",
    "workgroupBarrier();",
)


def vocabulary(hsa: str, cuda: str, opencl: str) -> str:
    """A table of the lines that say the same in five dialects: Markdown.

    `hsa`, `cuda`, `opencl`: the sources of three tiled kernels: under @roc.jit, under @cuda.jit, and in OpenCL C. HIP's
    lines are CUDA's with `hip` for `cuda`, as numba-hip has it. Raises ValueError when a word is not in its kernel.
    """
    rows = ["| what one says | in | line |", "|---|---|---|"]
    for (idea, words), wgsl in zip(IDEAS.items(), WGSL, strict=True):
        lines = [line_with(word, source) for word, source in zip(words, (hsa, cuda, opencl), strict=True)]
        lines += [wgsl, lines[1].replace("cuda.", "hip.")]
        rows += [
            f"| {f'**{idea}**' if dialect == COLUMNS[0] else ''} | {dialect} | `{line}` |"
            for dialect, line in zip(COLUMNS, lines, strict=True)
        ]
    return "\n".join(rows)


def line_with(word: str, source: str) -> str:
    """The first line of code with that word; comments do not count. Raises ValueError if there is none."""
    for line in source.splitlines():
        code = line.strip()
        if word in code and not code.startswith(("#", "//")):
            return code
    raise ValueError(f"{word} is not in the kernel; the table has no line for it.")
