"""How long did it take? Times that are hard to fool, contests in turns, a machine's limits, tuning, and records."""

import lazy_loader

# Loaded when first asked for: who times a kernel need not wait for what records a machine.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "contests": ["Comparison", "compare", "contest", "measure_ladder"],
        "libraries": ["Missing", "peers"],
        "limits": ["Limits", "machine_limits"],
        "recording": ["record"],
        "results": ["MachineResults", "read_results", "write_results"],
        "scoreboards": ["Scoreboard", "scoreboard"],
        "timing": ["Timing", "measure"],
        "tuning": ["Tuning", "tune"],
    },
)
