"""The device on which the tests launch kernels."""

import pytest


@pytest.fixture(scope="session")
def context():
    cl = pytest.importorskip("pyopencl")
    # Oclgrind brings an LLVM of its own, which ends a process that has Numba's.
    platforms = [platform for platform in cl.get_platforms() if platform.name != "Oclgrind"]
    if not platforms:
        pytest.skip("no OpenCL driver")
    return cl.Context(platforms[0].get_devices()[:1])  # Intel's runtime forgets one that nobody keeps


@pytest.fixture(scope="session")
def queue(context):
    return pytest.importorskip("pyopencl").CommandQueue(context)
