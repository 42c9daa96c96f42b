"""What a GPU would not launch, and what a launch's arguments may be."""

import numpy as np
import pytest

import ptx_machine

KERNEL = """.version 8.0
.target {target}
.address_size 64
.extern .shared .align 4 .b8 s[];
.visible .entry k(.param .u64 a, .param .u64 o)
{more}
{{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<3>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1;
ret;
}}
"""


def ran(args, grid=(1,), block=(4,), target="sm_80", more="", **options):
    return ptx_machine.run(KERNEL.format(target=target, more=more), grid, block, args, **options)


@pytest.mark.parametrize(
    "launch, words",
    [
        ({"shared": 166_913}, "k takes 166,913 bytes of shared memory a block; GPUs of its target, sm_80, have 166"),
        ({"shared": 65_537, "target": "sm_75"}, "sm_75, have 65,536 at most"),
        ({"more": ".maxntid 128, 1, 1", "block": (129,)}, r"129 threads; k takes 128 at most: its text says .maxntid"),
        ({"more": ".reqntid 32", "block": (16,)}, r"k takes blocks of \(32, 1, 1\) only"),
        ({"grid": (1, 70_000)}, "has 70,000 along y; a GPU takes 65,535 there"),
        ({"grid": (1, 1, 65_536)}, "along z"),
        ({"grid": (2**31,)}, "has 2,147,483,648 along x"),
        ({"block": (1, 1, 65)}, "has 65 along z; a GPU takes 64"),
    ],
)
def test_what_no_gpu_launches_is_refused(launch, words):
    with pytest.raises(ValueError, match=words):
        ran([np.zeros(4, np.float32), np.zeros(4, np.float32)], **launch)


@pytest.mark.parametrize(
    "space, bytes_, words",
    [
        (".local", 524_289, "k takes 524,289 bytes of local memory a thread; a GPU gives 524,288 at most"),
        (".shared", 49_153, "k takes 49,153 bytes of shared memory a block by its text; a GPU gives 49,152 at most"),
        (".const", 65_537, "k takes 65,537 bytes of constant memory; a GPU gives 65,536 at most"),
    ],
)
def test_more_memory_than_the_linker_gives_is_refused(space, bytes_, words):
    def declared(size):
        text = KERNEL.format(target="sm_90", more="")
        before = "" if space == ".local" else ".extern"
        text = text.replace("ret;", "mov.u64 %rd8, big; ret;")
        return text.replace(before or ".reg .b32", f"{space} .align 4 .b8 big[{size}]; {before or '.reg .b32'}", 1)

    arrays = [np.zeros(4, np.float32)] * 2
    assert ptx_machine.run(declared(bytes_ - 1), (1,), (4,), arrays)
    with pytest.raises(ValueError, match=words):
        ptx_machine.run(declared(bytes_), (1,), (4,), arrays)


def test_views_are_pointers_into_their_array():
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    for view in (whole[1:], whole.T, whole[:, ::2], whole[1, 1:]):
        run = ran([view, np.zeros(4, np.float32)])
        first = int(view.flat[0])
        assert run and run.arrays[1].tolist() == list(range(first, first + 4))
        assert run.arrays[0].shape == view.shape and np.array_equal(run.arrays[0], view)
    run = ran([whole[0], whole[2]])
    assert run and run.arrays[1].tolist() == [0, 1, 2, 3] and run.stores[1].tolist() == [1] * 4 and whole[2, 0] == 8
    columns = np.asfortranarray(whole)
    run = ran([columns, columns[:, 2:]])
    assert run and run.arrays[1].T.tolist() == [[0, 4, 8], [1, 7, 11]] == run.arrays[0].T[2:].tolist(), "one memory"
    race, *_ = ran([whole[2], whole[2, 1:]], block=(3,)).findings
    assert race.kind == "race" and "writes argument 0[9]" in race.message, "of the array that holds both"
    (finding,) = ran([whole[2, 2:], np.zeros(4, np.float32)]).findings
    assert finding.kind == "out of bounds" and "0 bytes past the end of argument 0" in finding.message


def test_an_access_that_begins_inside_and_none_for_an_array_are_said_plainly():
    with pytest.raises(TypeError, match=r"argument 1 \(o\) is None; the kernel takes a pointer there"):
        ran([np.zeros(4, np.float32), None])
    run = ran([np.zeros(14, np.uint8), np.zeros(4, np.float32)])
    assert "the last 2 of them lie past the end of argument 0" in run.findings[0].message


def test_a_trace_says_who_touched_what_in_order():
    a, o = np.ones(4, np.float32), np.zeros(4, np.float32)
    load, store = ran([a, o], trace=True, names={0: "A"}).trace
    assert (load.memory, load.act, load.arrays, load.bytes) == ("global", "load", ("A",), 4) and load.line == 11
    assert load.threads.tolist() == [0, 1, 2, 3] and load.offsets.tolist() == [0, 4, 8, 12] and not load.blocks.any()
    assert store.act == "store" and store.arrays == ("argument 1",) and not store.phases.any()
    assert [len(ran([a, o], trace=most).trace) for most in (0, 7, 8)] == [0, 1, 2]
