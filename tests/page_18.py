"""The product in Triton, as page 18 has it."""

import notebooks

[PATH] = notebooks.notebook_paths(["18"])
[PAGE_18] = [cell.source for cell in notebooks.read(PATH).cells if cell.source.startswith("@triton.jit")]
