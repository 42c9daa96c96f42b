"""What does a product in Triton or in cuTile compute, count and cost, with no GPU?

README.md shows how. Triton and cuTile are loaded when they are first asked for.
"""

from .cutile_product import cutile_code, run_cutile
from .product_run import BlockError, side_by_side
from .triton_product import BlockRun, predict_triton, run_triton

__all__ = ["BlockError", "BlockRun", "cutile_code", "predict_triton", "run_cutile", "run_triton", "side_by_side"]
