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
