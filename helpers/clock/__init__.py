"""How long did it take? Times that are hard to fool, contests in turns, a machine's limits, tuning, and records."""

import lazy_loader

# Loaded when first asked for: who times a kernel need not wait for what records a machine.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
