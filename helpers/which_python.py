"""Says in one line which Python has the course, to another one. Any Python 3 can read this file."""

import importlib.util
import os
import sys

LOADED_FIRST = "tomllib", "lazy_loader", "platformdirs"  # the first is Python's own, since 3.11


class OtherPython(ImportError):
    """This Python lacks what the course needs. Its text is one line: which Python has it."""

    def _render_traceback_(self):
        """What a notebook shows in place of a traceback, as IPython asks for it."""
        return [str(self)]


def refuse_another():
    """In a Python without what helpers loads first, end a command in one line, or raise OtherPython at an import."""
    if all(map(importlib.util.find_spec, LOADED_FIRST)):
        return
    course = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    venv = os.path.join(course, ".venv")
    python = os.path.join(venv, "Scripts" if os.name == "nt" else "bin", "python")
    line = f"This Python, {sys.executable}, lacks what the course needs. "
    if sys.prefix == venv or not os.path.isdir(venv):
        line += f"Run `make lab` in {course} first. "
    line += f"Choose the course's Python: {python}"
    if sys.argv[:1] == ["-m"]:  # what Python puts there until the command begins
        sys.exit("error: " + line)
    raise OtherPython(line)
