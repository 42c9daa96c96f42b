"""How is a product computed that is too large for one device, or for one machine?"""

from .sharing import Together, together
from .streaming import Plan, Streamed, plan, streamed

__all__ = ["Plan", "Streamed", "Together", "plan", "streamed", "together"]
