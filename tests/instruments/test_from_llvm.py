"""Counts from LLVM's code: each rule by hand, and how far off the rungs are beside the counts of NVIDIA's compiler."""

import re

import numpy as np
import pytest

import gpu_model
from helpers import cuda_kernel, devices, ladder
from helpers.instruments import GPUS, predict, predict_beside
from helpers.instruments.counts import count_from_llvm, kept, title
from helpers.instruments.from_llvm import NOTE, Code, round_trips
from helpers.launch import KernelError

NAMES = {"sm_75": "T4", "sm_80": "A100", "sm_86": "A6000", "sm_89": "RTX 4090", "sm_90": "H100"}


def by_rule(ptx):
    """{instruction: its share}, of those that run, without their registers."""
    code = Code(ptx)
    return [
        (text.split()[0], float(share)) for (text, _), share in zip(code.lines, code.share, strict=True) if share > 0
    ]


def loads(base, *offsets):
    return "\n".join(f"ld.shared.b32 %f{n}, [{base}+{offset}];" for n, offset in enumerate(offsets))


@pytest.mark.parametrize(
    "ptx, made",
    [
        ("mov.b64 %a, tile;\n" + loads("%a", 0, 4, 8, 12), ["LDS.128"]),
        ("mov.b64 %a, tile;\n" + loads("%a", 12, 0, 8, 4, 16), ["LDS.128", "LDS"]),
        ("mov.b64 %a, tile;\n" + loads("%a", 4, 8, 12, 16), ["LDS", "LDS.64", "LDS"]),
        ("mov.b64 %a, tile;\nbar.sync 0;\n" + loads("%a", 0, 4), ["BAR.SYNC", "LDS.64"]),
        ("mov.b64 %a, tile;\n" + loads("%a", 0) + "\nst.shared.b32 [%a+4], %f9;\n" + loads("%a", 4), "LDS STS LDS"),
        ("mul.lo.s32 %a, %i, 68;\n" + loads("%a", 0, 4, 8, 12), ["IMAD", *4 * ["LDS"]]),  # rows of 17 numbers
        ("mul.lo.s32 %a, %i, 72;\n" + loads("%a", 0, 4, 8, 12), ["IMAD", *2 * ["LDS.64"]]),
        ("shl.b32 %a, %i, 4;\n" + loads("%a", 0, 4, 8, 12), ["IMAD", "LDS.128"]),
        ("add.s64 %a, %b, %c;\nsetp.lt.s64 %p1, %a, 8;", ["IMAD", "IMAD", "ISETP", "ISETP"]),
        ("ld.param.b64 %a, [A];\ncvta.to.global.u64 %b, %a;\nld.global.b32 %c, [%b];", ["LDG"]),
        ("@%p1 bra $L__BB0_1;\nfma.rn.f32 %a, %b, %c, %d;\nret;", ["@P0", "FFMA", "EXIT"]),
    ],
)
def test_what_comes_of_lines(ptx, made):
    assert [name for name, _ in by_rule(ptx)] == (made.split() if isinstance(made, str) else made)


def test_a_loop_over_shared_memory_is_written_out_so_that_loads_of_four_rounds_become_one():
    loop = (
        "$L__BB0_1:\nld.shared.b32 %f1, [%a];\nld.shared.b32 %f2, [%b];\nfma.rn.f32 %f3, %f1, %f2, %f3;\n"
        "add.s32 %a, %a, 4;\nadd.s32 %b, %b, 64;\nsetp.lt.s32 %p1, %a, 64;\n@%p1 bra $L__BB0_1;"
    )
    quarter = ("IMAD", 0.25)
    assert by_rule(loop) == [
        ("LDS.128", 0.25), ("LDS", 1), ("FFMA", 1), quarter, quarter, ("ISETP", 0.25), ("@P0", 0.25)
    ]  # fmt: skip
    staged = loop.replace("ld.shared.b32 %f1, [%a]", "ld.global.b32 %f1, [%a]")
    assert {share for _, share in by_rule(staged)} == {1}


def test_several_numbers_are_asked_for_before_the_first_is_needed_but_three_behind_guards():
    plain = "\n".join(f"ld.global.b32 %f{n}, [%a+{4 * n}];\nadd.f32 %s, %s, %f{n};" for n in range(9))
    guarded = "@%p1 bra $L__BB0_1;\n" + plain.replace("\nld", "\n@%p1 bra $L__BB0_1;\nld")
    wide = re.sub(r"b32 (%f\d)", r"v4.b32 {\1, %x, %y, %z}", guarded)
    for ptx, trips in ((plain, 2), (guarded, 3), (wide, 9)):
        code = Code(ptx).lines
        assert sum(round_trips(code, range(len(code))).values()) == trips


def test_as_many_registers_are_alive_as_hold_what_is_needed_later():
    sums = "\n".join(f"add.f32 %s{n}, %x, %y;" for n in range(8))
    used = "\n".join(f"add.f32 %t{n}, %s{n}, %s{n};" for n in range(8))
    assert 8 <= Code(f"{sums}\n{used}").most_alive() <= 11
    assert (
        Code("\n".join(f"{a}\n{b}" for a, b in zip(sums.split("\n"), used.split("\n"), strict=True))).most_alive() < 5
    )


def test_a_copy_is_in_the_register_of_what_it_copies():
    (first, _), (second, _) = Code("add.f32 %s, %x, %y;\nmov.b32 %t, %s;\nadd.f32 %u, %t, %x;").lines
    assert second.split(", ")[1] == first.split(", ")[0].removeprefix("FADD ")


def test_how_far_off_the_rungs_are_is_what_a_prediction_says():
    ratios = []
    for step in ladder.steps("CUDA"):
        k = cuda_kernel(step, **ladder.STEPS[step].defaults["GPU"])
        ours = count_from_llvm(k, "sm_80")
        for arch, gpu in NAMES.items():
            rates = [
                gpu_model.predict(one, gpu, 4096, 4096, 4096, by_rows=ladder.STEPS[step].x_along == "rows").gflops
                for one in (ours, kept()[title(k), arch])
            ]
            ratios.append(rates[0] / rates[1])
    assert np.median(np.abs(np.array(ratios) - 1)) < 0.01 and "half of them within 1%" in NOTE
    assert f"{min(ratios):.2f} to {max(ratios):.2f} times" in NOTE, ratios


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setattr(devices, "has_compiler", lambda: False)


def test_without_the_compiler_a_kernel_of_ones_own_is_predicted_and_the_prediction_says_how(no_compiler, capsys):
    text = cuda_kernel("tiled").source
    mine = cuda_kernel(text, like="tiled", TILE=16)
    p = predict(mine, "A6000", 512, 512, 512)
    assert p.note == NOTE and repr(p).splitlines()[-1] == f"  {NOTE}"
    assert predict("tiled", "A6000", 512, 512, 512).note == ""  # the course has counted it
    predict_beside(mine, "tiled", "A6000", 512)
    first, second, note = capsys.readouterr().out.splitlines()
    assert note == NOTE and re.findall(r"\d+ GFLOP", first) == re.findall(r"\d+ GFLOP", second)  # both from LLVM's code
    units = cuda_kernel("matrix_units", **ladder.STEPS["matrix_units"].defaults["GPU"] | {"BM": 64})
    with pytest.raises(KernelError, match="is not installed"):
        predict(units, "A100", 512, 512, 512)


def test_all_architectures_that_are_counted_are_held_against_it():
    assert set(NAMES) == {arch for _, arch in kept()} and set(NAMES.values()) <= set(GPUS)
