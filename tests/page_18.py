"""The product in Triton, as page 18 counts it: its text, which needs no Triton."""

import inspect
import textwrap

from helpers.exercises.block_compilers import triton_product

_, AT, TEXT = inspect.getsource(triton_product).partition("    @triton.jit\n")
PAGE_18 = textwrap.dedent(AT + TEXT.rpartition("    return product")[0]).strip() + "\n"
