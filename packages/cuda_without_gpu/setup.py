"""Puts `at_start.pth` where Python reads it as it starts, so that child processes know of CUDA_WITHOUT_GPU."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithStart(build_py):
    """Builds the package, and lays the file beside it."""

    def run(self):
        """Do both."""
        super().run()
        self.copy_file("at_start.pth", str(Path(self.build_lib) / "cuda_without_gpu.pth"))


setup(cmdclass={"build_py": BuildWithStart})
