# What this room exports, and where it stands. lazy_loader reads it, and so do editors and mypy.

from .contest import Board as Board
from .contest import NotEntered as NotEntered
from .contest import board as board
from .contest import enter as enter
from .exercises import EXERCISES as EXERCISES
from .standing import ClassTable as ClassTable
from .standing import progress as progress
