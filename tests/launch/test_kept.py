"""What was tuned is kept, a file for each step and device: whole, for one version of the kernel and of the driver."""

import dataclasses
import errno
import json
import re
import warnings

import pytest

from helpers import devices, forget_tuned, ladder, opencl_kernel
from helpers.launch import DIALECTS, kept

DEVICE = devices.opencl_device()
TILED = ladder.STEPS["tiled"]


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("HELPERS_CACHE", str(tmp_path))
    kept.ignored.cache_clear()
    return tmp_path


@pytest.mark.parametrize(
    "damage, says",
    [
        (lambda text: text[: len(text) // 2], "the file is damaged"),
        (lambda text: "[]", "the file is damaged"),
        (lambda text: "[" * 100_000, "the file is damaged"),
        (lambda text: text + " " * kept.LARGEST, "the file is damaged"),
        (lambda text: text.replace('"TILE": 8', '"TILE": "__import__(\'os\')"'), "must be a whole number"),
        (lambda text: text.replace('"TILE": 8', '"\\u001b[2J": 8'), "has no parameter '\\\\x1b[2J'"),
        (lambda text: text.replace('"parameters"', '"other"'), "the file is damaged"),
        (lambda text: text.replace('"TILE": 8', '"TILE": 4096'), "needs a block of 4096 x 4096"),
        (lambda text: text.replace('"size"', '"other"'), "None is no size"),
        (lambda text: re.sub(r"\[[^]]*\]", "[48, 48]", text), "[48, 48] is no size"),
    ],
    ids=[
        "cut off",
        "no dict",
        "deep",
        "huge",
        "code for a value",
        "a terminal's code",
        "no parameters",
        "too large",
        "no size",
        "two sizes",
    ],
)
def test_a_damaged_or_foreign_cache_is_ignored_said_once_and_rebuilt(damage, says, own_cache):
    source = DIALECTS["OpenCL"].source_of("tiled")
    kept.remember(TILED, DEVICE, source, {"TILE": 8}, size=[48, 48, 48], date="2026-01-01")
    assert kept.entry(TILED, DEVICE, source)["parameters"] == {"TILE": 8}
    [file] = own_cache.glob("tuned-*.json")
    file.write_text(damage(file.read_text()))
    with pytest.warns(UserWarning, match=re.escape(says)) as said:
        assert [kept.entry(TILED, DEVICE, source) for _ in range(2)] == [{}, {}]
    assert sum("tuned parameters" in str(warning.message) for warning in said) == 1
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="tuned parameters")
        kept.remember(TILED, DEVICE, source, {"TILE": 16}, size=[48, 48, 48], date="2026-01-01")
        assert opencl_kernel("tiled", parameters="tuned").parameters == {"TILE": 16}
    assert json.loads(file.read_text())["parameters"] == {"TILE": 16}
    assert [path.name for path in own_cache.iterdir()] == [file.name]


def test_a_file_that_cannot_be_read_is_ignored_and_said_so(monkeypatch, own_cache):
    source = DIALECTS["OpenCL"].source_of("tiled")
    kept.remember(TILED, DEVICE, source, {"TILE": 8}, (48, 48, 48))
    [file] = own_cache.glob("tuned-*.json")
    before = file.read_text()

    def locked(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as now:
        now.setattr(kept.files, "read_others", locked)
        with pytest.warns(UserWarning, match="the file cannot be read \\(Permission denied\\). Tune again"):
            assert kept.entry(TILED, DEVICE, source) == {}
    assert file.read_text() == before


def test_where_there_can_be_no_file_there_is_none(monkeypatch, own_cache):
    (own_cache / "file").write_text("")
    monkeypatch.setenv("HELPERS_CACHE", str(own_cache / "file" / "cache"))
    assert kept.read(kept.path_of(TILED, DEVICE)) == {}


def test_the_way_back_of_one_step_leaves_the_others(own_cache):
    for name in ("tiled", "naive"):
        kept.path_of(ladder.STEPS[name], DEVICE).write_text("{")
    assert forget_tuned("coalesced") == 0 and forget_tuned("naive") == 1
    assert [file.name for file in own_cache.iterdir()] == [kept.path_of(TILED, DEVICE).name]
    assert forget_tuned() == 1 and list(own_cache.iterdir()) == []


def test_two_equal_gpus_have_a_file_each():
    first, second = (devices.Device("OpenCL", name, "GPU", "d", 1024, 49152, None) for name in ("H200", "H200#1"))
    source = DIALECTS["OpenCL"].source_of("tiled")
    kept.remember(TILED, first, source, {"TILE": 8}, (48, 48, 48))
    kept.remember(TILED, second, source, {"TILE": 16}, (48, 48, 48))
    assert [kept.entry(TILED, one, source)["parameters"]["TILE"] for one in (first, second)] == [8, 16]


def test_what_was_tuned_with_another_driver_does_not_count():
    source, newer = DIALECTS["OpenCL"].source_of("tiled"), dataclasses.replace(DEVICE, driver="a newer one")
    kept.remember(TILED, DEVICE, source, {"TILE": 8}, (48, 48, 48))
    assert kept.entry(TILED, DEVICE, source)["parameters"] == {"TILE": 8}
    with pytest.warns(UserWarning, match="another version of the kernel or of the driver"):
        assert kept.entry(TILED, newer, source) == {}


def test_where_nothing_beat_the_defaults_the_sizes_still_follow_from_the_shape():
    packed, size = ladder.STEPS["packed"], (40, 2000, 3000)
    default, source = packed.defaults_for(DEVICE), DIALECTS["OpenCL"].source_of("packed")
    fitted = packed.fitted(default, DEVICE, *size)  # what a search begins with, and keeps if nothing beats it
    assert fitted != default
    kept.remember(packed, DEVICE, source, fitted, size)
    assert opencl_kernel("packed", parameters="tuned").by_shape
    assert not opencl_kernel("packed", parameters="tuned", BM=default["BM"]).by_shape
    kept.remember(packed, DEVICE, source, fitted | dict(BM=fitted["TM"]), size)
    assert not opencl_kernel("packed", parameters="tuned").by_shape
