"""Asks OpenCL drivers for their devices, as OpenCL's loader does: python ask_drivers.py LIBRARY [LIBRARY ...]

A driver may end its process, or never answer, so `drivers` runs this as a process of its own. It needs nothing but
Python. The exit status is 1, and the last line says why, where a driver cannot be loaded or answers with an error.
"""

import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

GET_PLATFORMS = ctypes.CFUNCTYPE(c_int, c_uint, c_void_p, c_void_p)
GET_DEVICES = ctypes.CFUNCTYPE(c_int, c_void_p, c_ulonglong, c_uint, c_void_p, c_void_p)
OF_ANY_KIND, MOST = 0xFFFFFFFF, 16
NO_ERROR = 0, -1, -1001  # the last two say that there is no device, and no platform
KERNEL = c_char_p(b"__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }")


def ask(library, runs=True):
    """Load a driver, ask for its devices and, if it `runs`, try one. Raises OSError or AttributeError if that fails."""
    driver = ctypes.CDLL(library)
    find = driver.clGetExtensionFunctionAddress
    find.restype = c_void_p
    platforms, count = (c_void_p * MOST)(), c_uint()
    answers = [GET_PLATFORMS(find(b"clIcdGetPlatformIDsKHR"))(MOST, platforms, byref(count))]
    for platform in platforms[: count.value]:
        functions, devices = ctypes.cast(platform, POINTER(POINTER(c_void_p)))[0], (c_void_p * MOST)()
        answers.append(GET_DEVICES(functions[2])(platform, OF_ANY_KIND, MOST, devices, byref(count)))
        if runs and devices[0]:
            run_kernel(functions, c_void_p(devices[0]))
    if wrong := set(answers).difference(NO_ERROR):
        raise OSError(f"it answers with the error {wrong.pop()}")


def run_kernel(functions, device):
    """Build and run a small kernel by a platform's `functions`; no answer is looked at, since the process may end."""

    def made(number, *given):
        return c_void_p(ctypes.CFUNCTYPE(c_void_p)(functions[number])(*given, None))

    def done(number, *given):
        return ctypes.CFUNCTYPE(c_int)(functions[number])(*given) == 0

    context = made(4, None, 1, byref(device), None, None)
    program = context and made(26, context, 1, byref(KERNEL), None)
    if program and done(30, program, 1, byref(device), None, None, None):
        queue, x = made(9, context, device, c_ulonglong(0)), made(14, context, c_ulonglong(1), c_size_t(16), None)
        kernel = made(34, program, b"twice")
        if queue and kernel and done(38, kernel, 0, c_size_t(8), byref(x)):
            done(59, queue, kernel, 1, None, byref(c_size_t(4)), None, 0, None, None)
            done(47, queue)


if __name__ == "__main__":
    try:
        for each in sys.argv[1:]:
            ask(each, runs=each == sys.argv[-1])  # the others have run theirs
    except (OSError, AttributeError) as reason:
        sys.exit(str(reason))
    os._exit(0)  # what a driver does as its process ends costs nobody a number
