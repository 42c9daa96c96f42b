"""What `printf` writes in a kernel, against C's own."""

import ctypes

import numpy as np
import pytest

import ptx_machine
from ptx_machine.printing import formatted

C = ctypes.CDLL(None)
# Formats and values, as C++ passes them: what is smaller than an int as an int, a float as a double.
CASES = [
    ("plain, and 100 %%\n", ()),
    ("%d %i %u", (ctypes.c_int(-7), ctypes.c_int(1 << 30), ctypes.c_uint(4294967295))),
    ("%lld|%ld|%llu", (ctypes.c_longlong(-(1 << 60)), ctypes.c_long(-5), ctypes.c_ulonglong((1 << 64) - 1))),
    ("%d %lld %d", (ctypes.c_int(1), ctypes.c_longlong(2), ctypes.c_int(3))),  # the second one is aligned to 8 bytes
    ("%x %X %o %#x", (ctypes.c_uint(48879), ctypes.c_uint(48879), ctypes.c_uint(8), ctypes.c_uint(255))),
    ("%f %e %g %.3f %8.2f|%-8.1f|", tuple(map(ctypes.c_double, (0.5, 1e9, 1e-7, 2 / 3, 3.14159, 2.5)))),
    ("%5d|%-5d|%05d|%+d", tuple(map(ctypes.c_int, (42, 42, 42, 42)))),
    ("%c%c %s", (ctypes.c_int(65), ctypes.c_int(66), b"words")),
    ("%g %g %g", tuple(map(ctypes.c_double, (float("inf"), -0.0, float("nan"))))),
]


@pytest.mark.parametrize("text, values", CASES, ids=[text.strip() for text, _ in CASES])
def test_it_is_what_c_writes(text, values):
    packed, strings = b"", {}
    for value in values:
        if isinstance(value, bytes):
            strings[1000 + len(packed)] = value.decode()
            value = ctypes.c_ulonglong(1000 + len(packed))
        size = ctypes.sizeof(value)
        packed += bytes(-len(packed) % size) + bytes(value)
    buffer = ctypes.create_string_buffer(256)
    C.snprintf(buffer, ctypes.c_size_t(256), text.encode(), *values)
    held = lambda offset, size: packed[offset : offset + size]  # noqa: E731
    assert formatted(text, held, lambda address: next(iter(strings.values()))) == buffer.value.decode()


HELLO = """.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 back) vprintf (.param .b64 text, .param .b64 given);
.global .align 1 .b8 text[20] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 32, 111, 102, 32, 37, 115, 10, 0};
.global .align 1 .b8 name[4] = {97, 98, 99, 0};
.visible .entry hello(.param .u64 o) {
    .local .align 8 .b8 packed[16];
    .reg .b32 %i, %many; .reg .b64 %at, %local, %text, %name, %o, %offset; .reg .pred %p;
    mov.u32 %i, %tid.x; setp.eq.u32 %p, %i, 1; @%p bra END;
    mov.u64 %local, packed; cvta.local.u64 %at, %local;
    st.local.u32 [%local], %i;
    mov.u64 %name, name; cvta.global.u64 %name, %name; st.local.u64 [%local+8], %name;
    mov.u64 %text, text; cvta.global.u64 %text, %text;
    { .param .b64 param0; .param .b64 param1; .param .b32 retval0;
      st.param.b64 [param0], %text; st.param.b64 [param1], %at;
      call.uni (retval0), vprintf, (param0, param1);
      ld.param.b32 %many, [retval0]; }
    mul.wide.u32 %offset, %i, 4; ld.param.u64 %o, [o]; add.u64 %o, %o, %offset; st.global.u32 [%o], %many;
END: ret;
}"""


def test_each_thread_prints_what_is_its_own():
    run = ptx_machine.run(HELLO, (2,), (3,), [np.zeros(3, np.int32)])
    assert run and sorted(run.printed.splitlines()) == ["thread 0 of abc"] * 2 + ["thread 2 of abc"] * 2
    assert run.arrays[0].tolist() == [2, 0, 2]  # as the CUDA guide says: how many arguments were printed
