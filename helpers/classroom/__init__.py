"""Who is how far? The verdicts in a class's pages, as a table."""

from .exercises import EXERCISES
from .standing import ClassTable, progress

__all__ = ["EXERCISES", "ClassTable", "progress"]
