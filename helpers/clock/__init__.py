"""How long did it take? Times that are hard to fool, contests in turns, a machine's limits, tuning, and records."""

from .contests import Comparison, compare, contest, measure_ladder
from .libraries import Missing, peers
from .limits import Limits, machine_limits
from .recording import record
from .results import MachineResults, read_results, write_results
from .scoreboards import Scoreboard, scoreboard
from .timing import Timing, measure
from .tuning import Tuning, tune

__all__ = [
    "Comparison",
    "Limits",
    "MachineResults",
    "Missing",
    "Scoreboard",
    "Timing",
    "Tuning",
    "compare",
    "contest",
    "machine_limits",
    "measure",
    "measure_ladder",
    "peers",
    "read_results",
    "record",
    "scoreboard",
    "tune",
    "write_results",
]
