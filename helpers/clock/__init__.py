"""How long did it take? Times that are hard to fool, contests in turns, a machine's limits, tuning, and records."""

from .scoreboards import Limits, MachineResults, Scoreboard, machine_limits, read_results, record, scoreboard
from .timing import Comparison, Timing, Tuning, compare, contest, measure, measure_ladder, tune
