# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .scoreboards import Limits as Limits
from .scoreboards import MachineResults as MachineResults
from .scoreboards import Scoreboard as Scoreboard
from .scoreboards import machine_limits as machine_limits
from .scoreboards import read_results as read_results
from .scoreboards import record as record
from .scoreboards import scoreboard as scoreboard
from .timing import Comparison as Comparison
from .timing import Timing as Timing
from .timing import Tuning as Tuning
from .timing import compare as compare
from .timing import contest as contest
from .timing import measure as measure
from .timing import measure_ladder as measure_ladder
from .timing import tune as tune
