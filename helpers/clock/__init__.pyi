# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .contests import Comparison as Comparison
from .contests import compare as compare
from .contests import contest as contest
from .contests import measure_ladder as measure_ladder
from .libraries import Missing as Missing
from .libraries import libraries as libraries
from .limits import Limits as Limits
from .limits import machine_limits as machine_limits
from .results import MachineResults as MachineResults
from .results import read_results as read_results
from .results import record as record
from .scoreboards import Scoreboard as Scoreboard
from .scoreboards import scoreboard as scoreboard
from .timing import Timing as Timing
from .timing import measure as measure
from .tuning import Tuning as Tuning
from .tuning import tune as tune
