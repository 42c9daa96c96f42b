"""What `mpirun` starts on each rank: as `python -m mpi4py`, but what ended the rank also goes to a file.

mpiexec ends all ranks as soon as one has failed. What that one said last may then be lost.
"""

import os
import sys
import traceback
from pathlib import Path


def keep(kind, error, trace):
    """Say what no one caught, as Python does, and keep it in the folder that RANK_ERRORS names."""
    said = "".join(traceback.format_exception(kind, error, trace))
    Path(os.environ["RANK_ERRORS"], f"{os.getpid()}.txt").write_text(said, encoding="utf-8")
    sys.__excepthook__(kind, error, trace)


if __name__ == "__main__":
    from mpi4py.run import main

    sys.excepthook = keep
    main()
