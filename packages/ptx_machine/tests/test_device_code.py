"""What of a `.cu` file is for the GPU: files as people write them, with host code and headers, compiled and run."""

import numpy as np
import pytest

import ptx_machine
from ptx_machine import PTXError, from_cuda
from ptx_machine.device_code import Source
from ptx_machine.names import plain_name

HELPER = r"""
#ifndef HELPER_H
#define HELPER_H
#include <stdio.h>
#include <string>
template <typename T> void check(T result, char const *const call, const char *const file, int const line) {
  if (result) { fprintf(stderr, "%s:%d %s { \n", file, line, call); exit(1); }
}
#define checkErrors(val) check((val), #val, __FILE__, __LINE__)
struct Timer { cudaEvent_t start; float stop() { return 0; } };
#include "detail/twice.cuh"
#endif
"""
TWICE = """#pragma once
__constant__ float factor = 2.0f;
#define ON_GPU __device__ __forceinline__
ON_GPU float twice(float x) { return factor * x; }
static float on_host(float x) { return std::pow(x, 2); }
"""
FILE = r"""/* A "sample" { of what people write */
#include <assert.h>
#include <float.h>
#include <stdio.h>
#include <cuda_runtime.h>
#include <cublas_v2.h>
#include <vector>
#include <thrust/device_vector.h>
#include "helper.h"
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define KERNEL(T) __global__ void fill_##T(T *out) { out[threadIdx.x] = T(threadIdx.x); }
cudaEvent_t event;
std::vector<float> on_host_only = {1.f, 2.f};
const int WIDTH = 4;
typedef struct { std::string name; int n; } Options;
enum Method { FAST, SLOW };
template <class T> struct Shared {
  __device__ inline operator T *() { extern __shared__ int bytes[]; return (T *)bytes; }
};
struct Params { float *data; int n; float scale; void print() const { std::cout << n; } };
constexpr int ilog2(int n) { return n <= 1 ? 0 : 1 + ilog2(n / 2); }
KERNEL(float)
KERNEL(int)
void reference(float *in, float &out, int n) { for (int i = 0; i < n; i++) { out += in[i] + '{'; } }
template <typename T, int SIZE = 64>
__global__ void __launch_bounds__(SIZE) reduce(const T *__restrict__ given, T *total, unsigned int n) {
  T *data = Shared<T>();
  unsigned int tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  data[tid] = (i < n) ? given[i] : -FLT_MAX;
  __syncthreads();
  for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (tid < s) data[tid] = max(data[tid], data[tid + s]);
    __syncthreads();
  }
  if (tid == 0) total[blockIdx.x] = data[0];
}
namespace mine {
void launch_all();
__global__ void scale(Params p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(p.n > 0);
  if (i < p.n) p.data[i] = twice(p.data[i]) * p.scale + ilog2(WIDTH);
}
}  // namespace mine
extern "C" __global__ void beyond(float *row, int n) {
  row[n + threadIdx.x] = 1;
}
void mine::launch_all() { Params p; scale<<<CEIL_DIV(p.n, 64), 64>>>(p); }
int main(int argc, char **argv) {
  float *d;
  checkErrors(cudaMalloc(&d, 4));
  reduce<float><<<1, 64, 256>>>(d, d, 1);
  std::vector<float> v(3);
  return [&](int a) { return a; }(0);
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    pytest.importorskip("cuda.bindings.nvrtc")
    folder = tmp_path_factory.mktemp("cu")
    (folder / "detail").mkdir()
    (folder / "sample.cu").write_text(FILE)
    (folder / "helper.h").write_text(HELPER)
    (folder / "detail" / "twice.cuh").write_text(TWICE)
    return from_cuda(folder / "sample.cu", "reduce<float>", "reduce<int, 32>")


def test_a_file_with_host_code_gives_its_kernels(compiled):
    names = compiled[1]
    assert {"beyond", "mine::scale", "fill_float", "fill_int", "reduce<float>", "reduce<int, 32>"} <= set(names)
    assert "reduce" not in names  # of two, none


def test_a_template_of_the_file_runs(compiled):
    ptx, names = compiled
    given = np.arange(200, dtype=np.float32)
    run = ptx_machine.run(ptx, (4,), (64,), [given, np.zeros(4, np.float32), 200], names["reduce<float>"], shared=256)
    assert run and run.arrays[1].tolist() == [63, 127, 191, 199]


def test_kernels_that_a_macro_makes_run(compiled):
    ptx, names = compiled
    run = ptx_machine.run(ptx, (1,), (32,), [np.zeros(32, np.int32)], names["fill_int"])
    assert run and (run.arrays[0] == np.arange(32)).all()


def test_a_finding_has_the_line_of_the_file(compiled):
    ptx, names = compiled
    run = ptx_machine.run(ptx, (1,), (32,), [np.zeros(32, np.float32), 3], names["beyond"])
    (found,) = run.findings
    assert FILE.splitlines()[found.source - 1] == "  row[n + threadIdx.x] = 1;"


def test_parameters_have_their_names_in_the_source(compiled):
    ptx, names = compiled
    for kernel in ("reduce<float>", "reduce<int, 32>"):
        head = ptx[ptx.index(f"{names[kernel]}(") :]
        words = [word.split()[-1].strip(",") for word in head[: head.index("\n)")].splitlines()[1:]]
        assert words == ["given", "total", "n"]


def test_an_error_in_a_kernel_is_said_with_its_line_and_what_was_not_found():
    pytest.importorskip("cuda.bindings.nvrtc")
    source = '#include "none.h"\nint main() { return nothing; }\n__global__ void f(float *a) { a[0] = of_none(1); }\n'
    with pytest.raises(PTXError, match=r'source.cu\(3\): error: identifier "of_none"(.*\n)*Not found, .*: none.h\.'):
        from_cuda(source)


def test_no_such_file(tmp_path):
    pytest.importorskip("cuda.bindings.nvrtc")
    with pytest.raises(FileNotFoundError):
        from_cuda(tmp_path / "none.cu")


SHAPES = {  # a declaration, and whether it is a function of the host's
    "int main() { return 0; }": True,
    "static inline void f(int a, float *b) { }": True,
    "template <typename T, int N = (3 > 2)> void f(T (&a)[N]) { }": True,
    "std::vector<float> f(const std::map<int, float> &m) { return {}; }": True,
    "void A::f() const noexcept { }": True,
    "auto f(int a) -> decltype(a) { return a; }": True,
    "A::A(int a) : x{a}, y(a) { }": True,
    "__host__ void f() { }": True,
    "void f(int);": True,
    "__global__ void f(int *a) { }": False,
    "__global__ void __launch_bounds__(256, 2) f(int *a) { }": False,
    "template <int N> __device__ __forceinline__ float f(float a) { return a; }": False,
    "__host__ __device__ int f(int a) { return a; }": False,
    "constexpr int f(int a) { return a; }": False,
    "struct __align__(16) A { float x[4]; };": False,
    "struct A { void f() { } } a;": False,
    "using F = void (*)(int);": False,
    "typedef void (*F)(int);": False,
    "const float a[] = {1, 2, (3)};": False,
    "static_assert(sizeof(int) == 4, \"}\");": False,
    "#define main() {\nint x;": False,
    "// int main() {\nint x;": False,
    "const char *s = R\"x(int main() { )\" )x\";": False,
}  # fmt: skip


@pytest.mark.parametrize("declaration", SHAPES)
def test_which_declarations_are_functions_of_the_host(declaration):
    source = Source(f"int before;\n{declaration}\nint behind;\n")
    gone = source.without(source.host_functions())
    assert len(gone) == len(source.text) and gone.count("\n") == source.text.count("\n")
    assert "int before;" in gone and "int behind;" in gone
    assert (declaration in gone) != SHAPES[declaration]


@pytest.mark.parametrize(
    "mangled, plain",
    [
        ("_Z3addPf", "add"),
        ("_Z5scaleIfLi4EEvPKT_PS0_S0_i", "scale"),
        ("_ZN2ns3addIfLi4EEEvPT_", "ns::add"),
        ("_ZN12_GLOBAL__N_13addEPf", "add"),
        ("_ZL4done", "done"),
        ("_ZZ7productILi16EEvPKfS1_PfiiiE1a", "a"),
        ("_ZZ3addPfE4tile_0", "tile"),
        ("add", "add"),
    ],
)
def test_names_of_cpp(mangled, plain):
    """The right ones are what binutils' c++filt gives, without parameters and arguments of templates."""
    assert plain_name(mangled) == plain


@pytest.mark.bulk
def test_headers_of_thrust_that_kernels_use():
    pytest.importorskip("cuda.bindings.nvrtc")
    source = """
        #include <thrust/device_vector.h>
        #include <thrust/pair.h>
        __global__ void turn(thrust::pair<float, float>* a) {
            a[threadIdx.x] = thrust::make_pair(a[threadIdx.x].second, a[threadIdx.x].first);
        }
        int main() { thrust::device_vector<float> v(3); return v.size(); }"""
    ptx, names = from_cuda(source)
    given = np.arange(6, dtype=np.float32).reshape(3, 2)
    run = ptx_machine.run(ptx, (1,), (3,), [given], names["turn"])
    assert run and np.array_equal(run.arrays[0], given[:, ::-1])
