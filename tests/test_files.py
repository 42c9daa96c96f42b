"""Files are written whole or not at all. Full disks and locked folders are played."""

import errno
import re

import pytest

from helpers import files


def test_a_full_disk_leaves_what_was_there(monkeypatch, tmp_path):
    def no_room(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "some.json"
    path.write_text("good")
    monkeypatch.setattr(files.os, "replace", no_room)
    with pytest.raises(OSError, match="No space left on device"):
        files.replace_text(path, "new")
    assert path.read_text() == "good"


def test_what_cannot_be_written_is_found_out_beforehand(tmp_path):
    (tmp_path / "file").write_text("good")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        files.try_writing(tmp_path / "file" / "x.json")
    files.try_writing(tmp_path / "made" / "x.json")
    files.try_writing(tmp_path / "file")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "made"]
    assert (tmp_path / "file").read_text() == "good"


def test_a_file_of_others_is_read_as_long_as_it_is_short(tmp_path):
    path = tmp_path / "a"
    path.write_text("[1, 2]")
    assert files.read_json(path, 6, "make it short") == [1, 2]
    with open(path, "wb") as file:
        file.truncate(2_000_000_000)  # a hole, which takes no room on the disk
    with pytest.raises(files.Refused, match=r"^a file of 2000 MB: make it short$"):
        files.read_json(path, 6, "make it short")


def test_text_of_others_steers_no_terminal():
    said = "\x1b]0;gone\x07\x9b31m\r\n\t\u202eevil\u2066\u200b\u2028\udce9\0"
    assert files.plain(said) == r"\x1b]0;gone\x07\x9b31m\r\n\t\u202eevil\u2066\u200b\u2028\udce9\x00"
    assert files.plain("王小明 größer, ✓ = 1") == "王小明 größer, ✓ = 1"
    assert len(files.plain("x" * 10**6)) == files.LONGEST and files.plain("x" * 2000).endswith("x…")
