"""What does an OpenCL kernel touch? Each access to global and local memory, by its line, its array and its index.

`trace` is what one calls; README.md shows how. `annotate` needs no device.
"""

from .macros import TraceError
from .notes import Annotated, Trace, annotate, trace
from .reader import Access

__all__ = ["Access", "Annotated", "Trace", "TraceError", "annotate", "trace"]
