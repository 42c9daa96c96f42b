"""WebGPU: the ladder in WGSL is right at any shape, on whatever adapter there is, be it one in software."""

import os
import re
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import devices, ladder, measure, webgpu_kernel
from helpers.clock import measure_ladder
from helpers.instruments import coalescing, compiler_report, run_ptx, trace, traffic
from helpers.judge import wrong_elements
from helpers.launch import KernelError, draw
from helpers.launch.dialects import dialects
from helpers.launch.operands import GUARD
from helpers.launch.webgpu import compiler_says
from helpers.pictures import ladder_chart

adapter = pytest.mark.skipif(not devices.webgpu_adapters(), reason="no WebGPU adapter: wgpu and a Vulkan driver")
STEPS = ladder.steps("WebGPU")
# Sizes that divide nothing, where a mix-up of two of them shows.
ODD = {
    "naive": dict(BM=3, BN=5),
    "coalesced": dict(BM=3, BN=5),
    "tiled": dict(TILE=5),
    "register_1d": dict(BM=12, BN=5, BK=7, TM=3),
    "register_2d": dict(BM=12, BN=10, BK=7, TM=3, TN=5),
    "vectorized": dict(BM=16, BN=32, BK=8, TM=4, TN=8),
    "prefetched": dict(BM=32, BN=64, BK=16, TM=4, TN=8, WM=16, WN=32),
}


THIN = [(1, 1, 1), (1, 150, 3), (150, 1, 3), (1, 1, 150), (2, 3, 131), (131, 2, 3), (128, 128, 128)]


@adapter
@pytest.mark.parametrize("sizes", ["default", "odd"])
@pytest.mark.parametrize("step", STEPS)
def test_a_rung_is_right_at_ragged_shapes(step, sizes):
    k = webgpu_kernel(step, **(ODD[step] if sizes == "odd" else {}))
    for shape in [*THIN, *np.random.default_rng().integers(1, 150, (8, 3)).tolist()]:
        pair = draw(*shape)
        assert not wrong_elements(k(*pair), *pair).any(), shape


@adapter
def test_the_small_sizes_are_right_too():
    for step in ("vectorized", "prefetched"):
        k = webgpu_kernel(step, **ladder.STEPS[step].defaults["small GPU"])
        pair = draw(131, 70, 45)
        assert not wrong_elements(k(*pair), *pair).any()


@adapter
def test_in_software_no_k_is_taken_at_which_loops_may_end():
    """Mesa ends the loops of an invocation after 65,535 rounds together; the greatest K that is taken must be right."""
    if devices.webgpu_device().kind != "GPU in software":
        pytest.skip("no GPU in software: Mesa's llvmpipe")
    for step in STEPS:
        for sizes in ({}, ODD[step], ladder.STEPS[step].small):
            k, pair = webgpu_kernel(step, **sizes), draw(3, 5, 4096)
            assert not wrong_elements(k(*pair), *pair).any(), (step, sizes)
    with pytest.raises(ValueError, match=r"K = 4097 is more than .*Stay at K <= 4096"):
        webgpu_kernel("tiled")(*draw(1, 1, 4097))


@adapter
def test_where_webgpu_alone_reaches_a_gpu_the_pages_draw_it_too(monkeypatch):
    assert [one.name for one in dialects(None)] == ["CUDA", "OpenCL"]
    found = devices.webgpu_device()
    monkeypatch.setattr(devices, "webgpu_kind", lambda adapter: "GPU")
    monkeypatch.setattr(devices, "webgpu_device", lambda name=None: replace(found, kind="GPU"))
    assert [one.name for one in dialects(None)] == ["CUDA", "OpenCL", "WebGPU"]
    timings = measure_ladder("naive", size=64)
    assert any(timing.dialect == "WebGPU" for timing in timings)
    assert "naive (WebGPU)" in str(ladder_chart(timings))


@pytest.mark.parametrize("lacks, remedy", [("wgpu", 'pip install -e ".[lab]"'), ("Vulkan", "mesa-vulkan-drivers")])
def test_without_webgpu_all_else_works_and_doctor_says_what_would_add_it(tmp_path, lacks, remedy):
    """As after `pip install -e .`, without wgpu; and as on a Linux that has no graphics library at all."""
    if lacks == "Vulkan" and sys.platform != "linux":
        pytest.skip("a system's graphics is a part of it: macOS, Windows")
    code = """
        import sys
        from helpers import check, devices, opencl_kernel, webgpu_kernel
        from helpers.doctor import report
        if sys.argv[1] == "wgpu":
            sys.modules["wgpu"] = None
            found = devices.version
            devices.version = lambda package: None if package == "wgpu" else found(package)
        assert check(opencl_kernel("naive"), [(5, 6, 7)]) and devices.webgpu_adapters() == ()
        try:
            webgpu_kernel("naive")
        except devices.DeviceError as error:
            print(error)
        from helpers.exercises.other_dialects import judge_wgsl
        print(judge_wgsl("acc += 1.0;"))
        report()
    """
    environment = dict(os.environ)
    if lacks == "Vulkan":
        for library in ("libvulkan.so", "libvulkan.so.1", "libEGL.so", "libEGL.so.1"):
            (tmp_path / library).write_text("no library")  # found first, and not to be loaded
        environment["LD_LIBRARY_PATH"] = str(tmp_path)
    command = [sys.executable, "-c", textwrap.dedent(code), lacks]
    child = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert child.returncode == 0, child.stderr
    assert "no WebGPU adapter can run a kernel (none at all)" in child.stdout
    assert "your kernel (WGSL): not yet. Nothing here can run it: no WebGPU adapter" in child.stdout
    assert remedy in child.stdout and "Ready for class" in child.stdout


@adapter
@pytest.mark.parametrize("features, told", [({"timestamp-query"}, ""), (set(), ", launching included")])
def test_a_time_tells_whether_it_holds_the_launching(monkeypatch, features, told):
    """A GPU without a clock of its own is timed by the wall, which is said."""
    k = webgpu_kernel("naive")
    if not features <= set(k.device.handle.features):
        pytest.skip("the adapter has no timestamp queries")
    monkeypatch.setattr(type(k.device.handle), "features", features)
    timing = measure(k, 64, seconds=0.01)
    assert timing.launching == bool(told) and timing.seconds > 0
    assert f"{told})," in repr(timing) and repr(timing).count("launching") == bool(told)


@adapter
@pytest.mark.parametrize("follow", [traffic, trace, coalescing, compiler_report, run_ptx])
def test_what_nothing_here_follows_is_refused(follow):
    k = webgpu_kernel("tiled", TILE=4)
    with pytest.raises(ValueError, match=r"interprets WGSL|inside its WebGPU driver"):
        follow(k, 4, 4, 4) if follow is not compiler_report else follow(k)


class Info(dict):
    """What wgpu tells of an adapter: by key, and by name."""

    __getattr__ = dict.__getitem__


def listed(device, adapter_type="DiscreteGPU", backend_type="Vulkan"):
    """An adapter that is in a list only."""
    return SimpleNamespace(info=Info(device=device, adapter_type=adapter_type, backend_type=backend_type))


@adapter
def test_each_adapter_counts_once_by_its_best_interface_and_hardware_first(monkeypatch):
    import wgpu

    found = [listed("llvm", "CPU"), listed("Arc", backend_type="OpenGL"), listed("Arc"), listed("M9", "IntegratedGPU")]
    monkeypatch.setattr(wgpu.gpu, "enumerate_adapters_sync", lambda: found)
    assert devices.webgpu_adapters.__wrapped__() == (found[2], found[3], found[0])
    assert [*map(devices.webgpu_kind, found)] == ["GPU in software", "GPU", "GPU", "GPU"]


def test_a_part_of_a_name_in_any_case_finds_the_first_adapter_that_works(monkeypatch):
    def proved(one):
        if "bad" in one.info.device:
            raise RuntimeError("lost\nand gone")
        return one

    found = (listed("Bad bad Arc"), listed("Arc 380"), listed("Arc 770"))
    monkeypatch.setattr(devices, "webgpu_adapters", lambda: found)
    monkeypatch.setattr(devices, "proved_adapter", proved)
    find = devices.first_adapter.__wrapped__
    assert [find(name) for name in (None, "arc", "c 77")] == [found[1], found[1], found[2]]
    with pytest.raises(devices.DeviceError, match=r"called 'bad' can run a kernel \(Bad bad Arc: lost\)\. "):
        find("bad")
    with pytest.raises(
        devices.DeviceError, match=r"no WebGPU adapter is called 'Arc 3800'; there are: Bad bad Arc, Arc 380, "
    ):
        find("Arc 3800")


@adapter
def test_a_device_is_proved_and_has_all_that_its_adapter_has(monkeypatch):
    one = devices.webgpu_adapters()[0]
    found = devices.proved_adapter(one)
    assert {name: found.handle.limits[name] for name in devices.LIMITS} == {n: one.limits[n] for n in devices.LIMITS}
    assert found.max_threads == one.limits["max-compute-invocations-per-workgroup"]
    assert found.shared_bytes == one.limits["max-compute-workgroup-storage-size"]
    assert ("timestamp-query" in found.handle.features) == ("timestamp-query" in one.features)
    asked = []
    without = SimpleNamespace(features=set(), limits=one.limits, info=one.info)
    without.request_device_sync = lambda **kw: asked.append(kw["required_features"]) or one.request_device_sync(**kw)
    assert devices.proved_adapter(without) and asked == [[]]
    monkeypatch.setattr(np, "frombuffer", lambda *_: np.zeros(4))
    with pytest.raises(devices.DeviceError, match="wrong numbers"):
        devices.proved_adapter(one)


@adapter
def test_the_bounds_of_a_size_are_exact():
    k = webgpu_kernel("naive", BM=32, BN=8)
    room = 4 * (100 + GUARD + 3)
    limits = {"max-storage-buffer-binding-size": room, "max-buffer-size": 2 * room}
    k.device = replace(
        k.device, kind="GPU", handle=SimpleNamespace(limits=limits | {"max-compute-workgroups-per-dimension": 2})
    )
    k.refuse_size(10, 10, 10)
    for too_large in ((10, 1, 11), (1, 10, 11), (11, 10, 1)):  # of A, of B, of C
        with pytest.raises(MemoryError, match="binds at once"):
            k.refuse_size(*too_large)
    k.refuse_size(64, 1, 1)
    k.refuse_size(1, 16, 1)
    for too_many in ((65, 1, 1), (1, 17, 1)):
        with pytest.raises(ValueError, match=r"needs 3 workgroups along one side .* allows 2"):
            k.refuse_size(*too_many)
    k.device.handle.limits["max-storage-buffer-binding-size"] = 8 * room
    k.device.handle.limits["max-buffer-size"] = 8 * room
    k.refuse_size(1, 1, 5000)  # of its own speed no K is too large
    k.device = replace(k.device, memory_bytes=1)
    with pytest.raises(MemoryError, match="GB"):
        k.refuse_size(1, 1, 1)


@adapter
def test_a_time_is_of_one_launch_and_waits(monkeypatch):
    adds = webgpu_kernel("naive").source.replace("= acc;", "+= acc;")
    k, (A, B) = webgpu_kernel(adds, like="naive"), draw(5, 6, 7)
    work = k.upload(A, B, 0)
    begin = time.perf_counter()
    assert 0 < work.timed(3) <= time.perf_counter() - begin
    np.testing.assert_allclose(work.download(), 3 * (A @ B), atol=1e-4)
    assert len(work.memory()) == 3

    def stamps(_):
        time.sleep(0.02)
        return np.array([1000, 5000], np.uint64).tobytes()

    monkeypatch.setattr(type(work.on.gpu.queue), "read_buffer", lambda self, d_X, *others: stamps(d_X))
    work.on.launching = True
    assert work.timed(2) >= 0.01
    if "timestamp-query" in work.on.gpu.features:
        work.on.launching = False
        assert work.timed(2) == pytest.approx(2e-6)


@adapter
@pytest.mark.parametrize("place", ["M * N", f"M * N + {GUARD - 1}", "arrayLength(&C) - 1"])
def test_a_store_past_the_end_is_seen(place):
    source = webgpu_kernel("naive").source.replace("= acc;", f"= acc; C[{place}] = 3.0;")
    work = webgpu_kernel(source, like="naive").upload(*draw(1, 1, 3))
    work.launch()
    with pytest.raises(KernelError, match="wrote 1 elements past the end"):
        work.download()


@adapter
def test_what_is_placed_is_taken_and_replaced():
    k, (A, B) = webgpu_kernel("tiled"), draw(5, 6, 7)
    d_A = k.place(np.zeros_like(A))
    k.place(A, over=d_A)
    work = k.upload(d_A, B)
    work.launch()
    C = work.download()
    assert not wrong_elements(C, A, B).any() and C.flags.writeable
    with pytest.raises(devices.DeviceError, match="is no name"):
        webgpu_kernel("tiled", devices.opencl_device())


@adapter
def test_the_constants_go_where_wgsl_lets_them():
    """After the directives; and what a source declares itself, it keeps."""
    source = (
        "/* so */ diagnostic(off, derivative_uniformity); //" + 99 * "/ " + "\nconst TILE = 8; /*\nconst BK = 1; */\n"
    )
    k, pair = webgpu_kernel(source + webgpu_kernel("tiled").source, like="tiled", TILE=8), draw(9, 10, 11)
    work = k.upload(*pair)
    work.launch()
    assert not wrong_elements(work.download(), *pair).any()
    with pytest.raises(KernelError, match=r"line 2: .*`acc`\n    fn f"):
        webgpu_kernel(
            source.split("\n")[0] + "\nfn f() { acc = 1; }\n@compute @workgroup_size(1) fn g() {}", like="tiled"
        )
    for odd in ("\0", "\udc80"):
        with pytest.raises(KernelError, match="no text of WGSL"):
            webgpu_kernel(webgpu_kernel("tiled").source + odd, like="tiled")
    for source, many in (("@compute fn f() {}\n@compute fn g() {}", 2), ("fn nothing() {}", 0)):
        with pytest.raises(KernelError, match=f"exactly one @compute entry point, not {many}"):
            webgpu_kernel(source, like="tiled")


def test_each_mistake_is_told_once_and_an_unknown_log_whole():
    log = "error: no such\n  ┌─ wgsl:1:1\n"
    assert compiler_says(log + log, "x = 1;").count("no such") == 1
    assert compiler_says(" device lost\n", "x = 1;") == "device lost"


@adapter
def test_workgroup_memory_beyond_the_device_s_is_refused_with_both_numbers():
    """pygfx/wgpu-py#724: some drivers take any, and the arrays overlap."""
    most = devices.webgpu_device().shared_bytes
    edge = f"var<workgroup> edge: array<u32, {(most - 2 * 4 * 4 * 4) // 4} + MORE>;\n"
    source = edge + webgpu_kernel("tiled", TILE=4).source.replace("var acc", "edge[0] = 1; var acc")
    webgpu_kernel("const MORE = 0;\n" + source, like="tiled", TILE=4)
    with pytest.raises(KernelError, match=rf"{most + 16} bytes of workgroup memory.* allows a workgroup {most}\."):
        webgpu_kernel("const MORE = 1;\n" + source, like="tiled", TILE=4)


@adapter
@pytest.mark.parametrize(
    "old, new, said",
    [  # gpuweb/gpuweb#4577 and gfx-rs/wgpu#1976 (bindings), naga#1655 and wgpu#7373 (types), WebFundamentals#9386
        ("var<storage, read> A", "var<storage, read_write> A", "line 3: binding 0 is A, and must .*<storage, read>"),
        ("var<uniform>", "var<storage, read>", "line 6: binding 3 is M, N, K, and must be declared var<uniform>"),
        ("@binding(1)", "@binding(7)", "line 4: group 0 has no binding 7"),
        ("sizes: vec3<u32>", "sizes: vec3<f32>", "M, N and K, binding 3, as f32.* as vec3<u32>"),
        ("(BN, BM)", "(2048)", r"line 8: @workgroup_size\(2048, 1, 1\) asks for 2048 invocations in a workgroup"),
        ("k = 0u", "k = 0", "line 15: < takes two numbers of one type; these are i32 and u32: write 0u"),
        ("read_write> C", "read> C", r"line 18: nothing can be stored here: .*\n    C\[row"),
        ("read_write> C", "write> C", "line 5: .* write var<storage, read_write>"),
        ("var acc", "let acc", "line 14: .*declaring `acc` with `var`"),
    ],
)
def test_what_a_driver_says_raw_names_the_value_and_the_remedy(old, new, said):
    source = webgpu_kernel("coalesced", BM=4, BN=4).source
    assert old in source
    source = source.replace(old, new)
    if "f32>;  // M" in source:
        source = re.sub(r"= (sizes\.\w)", r"= u32(\1)", source)
    with pytest.raises(KernelError, match=said) as error:
        webgpu_kernel(source, like="coalesced", BM=4, BN=4)
    assert "Validation" not in str(error.value)


@adapter
@pytest.mark.parametrize("comment", ["// @compute fn old() {}\n", "/* @compute fn old() {} /* @compute fn f */ */"])
def test_an_older_version_in_a_comment_is_no_entry_point(comment):
    webgpu_kernel(comment + webgpu_kernel("naive").source, like="naive")
