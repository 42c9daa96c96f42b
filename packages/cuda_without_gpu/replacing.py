"""Values in the place of what Numba has, by name."""

from importlib.metadata import version

TESTED = 'pip install "numba>=0.60,<=0.68.1" "numba-cuda>=0.15,<=0.30.4" "numba-cuda-mlir>=0.6,<=0.6.0"'


def replace(owner, **values) -> None:
    """Put values in the place of what Numba, or its successor, has in one of its modules or classes, by name.

    Raises RuntimeError where it has no such name: this Numba is another than those that the package knows.
    """
    for name, value in values.items():
        if not hasattr(owner, name):
            module = owner.__module__ if isinstance(owner, type) else owner.__name__
            package = "numba-cuda-mlir" if module.startswith("numba_cuda_mlir.") else "Numba"
            raise RuntimeError(
                f"{package} {version(package)} has no {owner.__name__}.{name}, "
                f"which is replaced where there is no GPU. Install a version that this was tested with: {TESTED}"
            )
        setattr(owner, name, value)
