"""What the reader finds in OpenCL source, and what it refuses. What launches touch: test_launches.py."""

from collections import Counter

import pytest

from opencl_trace import TraceError, annotate

# The lines are counted below.
OWN = """// a comment with As[ unclosed
#define WIDE (TILE + 1)
__kernel void own(const int M, const int N, const int K,
                  __global const float *A, __global const float *B, __global float *C) {
    __local float As[TILE][WIDE], one[TILE * TILE];
    __local float4 four[2];
    const int i = get_local_id(0), j = get_local_id(1);
    As[i][j] = A[i * K]; one[i] = B[0];
    four[0] = (float4)(1.0f);
    if (i < M && j < N)
        barrier(CLK_LOCAL_MEM_FENCE);
    if (i < M && j < N) { C[i * N + j] = 0.0f; C[i * N + j] += As[i][j] + one[(int)As[0][0] * 0]; }
}
"""


def test_notes_reach_every_kind_of_access_and_keep_the_lines():
    noted = annotate(OWN, {"TILE": 2})
    assert noted.local == {"As": (2, 3), "one": (4,), "four": (8,)}
    seen = Counter((s.space, s.reads, s.writes, s.line, s.width) for s in noted.sites)
    assert seen == {
        ("local", False, True, 8, 1): 2,
        ("global", True, False, 8, 1): 2,
        ("local", False, True, 9, 4): 1,
        ("global", False, True, 12, 1): 1,
        ("global", True, True, 12, 1): 1,
        ("local", True, False, 12, 1): 3,
    }
    assert noted.text.split("#line 1\n")[1].count("\n") == OWN.count("\n")
    text = annotate("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#pragma unroll\n" + OWN, {"TILE": 2}).text
    assert "#pragma OPENCL EXTENSION cl_khr_fp64" in text and "unroll" not in text


# It is one line, so that what follows begins on line 2.
HEAD = (
    "__kernel void own(const int M, const int N, const int K, "
    "__global const float *A, __global const float *B, __global float *C) {"
)


REFUSED = {
    "atomic_inc((__global int *)C);": "line 2: atomic_inc takes a pointer to global memory",
    "__local float t[4];\nasync_work_group_copy(t, A, 4, 0);": (
        "line 3: async_work_group_copy takes a pointer to local memory"
    ),
    "float whole; C[0] = fract(A[0], &whole) + modf(A[1], C);": "line 2: modf takes a pointer to global memory",
    "((__global uchar4 *)C)[0].y = 1;": "line 2: 'uchar4' lies in memory",
    "__local double d[4]; d[0] = 1;": "line 2: 'double' lies in memory, and only numbers of 4 bytes",
    "__global float3 *p = (__global float3 *)C; p[1] = (float3)(1.0f);": "line 2: 'float3' lies in memory",
    "__global half *p = (__global half *)C; vstore_half(1.0f, 0, p);": (
        "line 2: vstore_half takes a pointer to global memory"
    ),
    "struct pair { float x, y; }; struct pair p; p.x = A[0];": "line 2: 'struct pair .* is not understood",
    "__local float4 v[4];\nv[1].xy = (float2)(1.0f);": r"line 3: 'v\[1\].xy' is some numbers of a vector in memory",
    "__local float4 v[4]; v[0][M] = 1;": r"line 2: it is not known what 'v\[0\]' points to",
    "C[0] = (M ? A : (__global const int *)B)[0];": "line 2: .* may point to things of two types",
    "C[0] = 1[A];": "line 2: it is not known what '1' points to",
    "float4 (*p)[2] = 0;": "line 2: .* is not understood",
    "C[0] = A[M ?: 0];": "line 2: 'M .: 0' is not understood",
    "__local int t[sizeof(float)];": r"the size of a local array, 'sizeof\(float\)', is not known",
    "C[0] = A[0]": "cannot be read as C",
    "#ifdef __OPENCL_VERSION__\nC[0] = A[0];\n#endif": (
        "line 2: __OPENCL_VERSION__ is a macro that only the driver knows"
    ),
    "#if cl_khr_fp64 > 0\nC[0] = A[0];\n#endif": "line 2: cl_khr_fp64 is a macro that only the driver knows",
    '#include "more.h"': "line 2: #include is not followed",
}


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_understood_is_refused_by_its_line(body):
    with pytest.raises(TraceError, match=REFUSED[body]):
        annotate(f"{HEAD}\n{body}\n}}\n", {})


def test_constant_memory_and_variables_outside_a_kernel_are_refused():
    for source, says in (
        (HEAD.replace("__global const float *B", "__constant float *B") + "}", "line 1: B lies in constant memory"),
        ("__global float x;\n" + HEAD + "}", "line 1: x is a variable in global memory outside the kernel"),
        (
            "float f(float x) { return x; }\nint f(int x) { return x; }\n" + HEAD + "}",
            "line 2: there are two functions f",
        ),
    ):
        with pytest.raises(TraceError, match=says):
            annotate(source, {})
