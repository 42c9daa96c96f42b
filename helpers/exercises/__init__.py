"""What must an answer do? What several pages share; what only one needs stands in a file called like that page."""

from .answers import ask
from .loads import check_loads
from .parts import with_part

__all__ = ["ask", "check_loads", "with_part"]
