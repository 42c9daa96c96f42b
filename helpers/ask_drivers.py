"""Asks OpenCL drivers for their devices, as OpenCL's loader does: python ask_drivers.py LIBRARY [LIBRARY ...]

A driver may end its process, or never answer, so `drivers` runs this as a process of its own. It needs nothing but
Python. The exit status is 1, and the last line says why, where a driver cannot be loaded or answers with an error.
"""

import ctypes
import sys
from ctypes import POINTER, byref, c_int, c_uint, c_ulonglong, c_void_p

GET_PLATFORMS = ctypes.CFUNCTYPE(c_int, c_uint, c_void_p, c_void_p)
GET_DEVICES = ctypes.CFUNCTYPE(c_int, c_void_p, c_ulonglong, c_uint, c_void_p, c_void_p)
OF_ANY_KIND, MOST = 0xFFFFFFFF, 16
NO_ERROR = 0, -1, -1001  # the last two say that there is no device, and no platform


def ask(library):
    """Load a driver, and ask each of its platforms for its devices. Raises OSError or AttributeError if that fails."""
    driver = ctypes.CDLL(library)
    find = driver.clGetExtensionFunctionAddress
    find.restype = c_void_p
    platforms, devices, count = (c_void_p * MOST)(), (c_void_p * MOST)(), c_uint()
    answers = [GET_PLATFORMS(find(b"clIcdGetPlatformIDsKHR"))(MOST, platforms, byref(count))]
    for platform in platforms[: count.value]:
        functions = ctypes.cast(platform, POINTER(POINTER(c_void_p)))[0]  # in OpenCL's order
        answers.append(GET_DEVICES(functions[2])(platform, OF_ANY_KIND, MOST, devices, byref(count)))
    if wrong := set(answers).difference(NO_ERROR):
        raise OSError(f"it answers with the error {wrong.pop()}")


if __name__ == "__main__":
    try:
        for each in sys.argv[1:]:
            ask(each)
    except (OSError, AttributeError) as reason:
        sys.exit(str(reason))
