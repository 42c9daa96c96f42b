"""What does a Triton product compute, count and cost, with no GPU?

`run_triton` and `predict_triton` are what one calls; README.md shows how. Triton is loaded when it is first asked for.
"""

from .product_run import side_by_side
from .triton_product import BlockError, BlockRun, predict_triton, run_triton

__all__ = ["BlockError", "BlockRun", "predict_triton", "run_triton", "side_by_side"]
