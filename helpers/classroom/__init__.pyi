# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .exercises import EXERCISES as EXERCISES
from .standing import ClassTable as ClassTable
from .standing import progress as progress
