"""Files are written whole or not at all. Full disks and locked folders are played."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from helpers import devices, files


@pytest.fixture
def full(monkeypatch):
    """A disk that has no room left once the text is on its way: `full("fsync")`, or while it is written."""

    def make(moment):
        def no_room(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        if moment == "fsync":
            monkeypatch.setattr(files.os, "fsync", no_room)
            return
        opened = files.open_beside

        def open_beside(path):
            part, file = opened(path)
            file.write("half of")
            file.flush()
            return part, Wrapped(file, no_room)

        monkeypatch.setattr(files, "open_beside", open_beside)

    return make


class Wrapped:
    """An open file whose `write` fails."""

    def __init__(self, file, write):
        self.file, self.write = file, write

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


@pytest.mark.parametrize("moment", ["fsync", "write"])
@pytest.mark.parametrize("before", ["good", None])
def test_a_full_disk_leaves_what_was_there(full, tmp_path, moment, before):
    path = tmp_path / "some.json"
    if before:
        path.write_text(before)
    full(moment)
    with pytest.raises(OSError, match=r"some\.json cannot be written \(No space left on device\)") as error:
        files.replace_text(path, "new")
    assert "Make room" in str(error.value)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == ([("some.json", before)] if before else [])


def test_an_interrupt_leaves_what_was_there(monkeypatch, tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    (tmp_path / "some.json").write_text("good")
    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.replace_text(tmp_path / "some.json", "new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("some.json", "good")]


def test_a_file_keeps_its_permissions_and_a_link_its_place(tmp_path):
    path, link = tmp_path / "some.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    files.replace_text(path, "new ✓")
    assert path.read_text(encoding="utf-8") == "new ✓"
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        link.symlink_to(path)
        files.replace_text(link, "newer")
        assert link.is_symlink() and path.read_text() == "newer"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"  # it stands for /dev/stdout, too, which no test should put at risk
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        files.try_writing(pipe)
        files.replace_text(pipe, "gone")
        assert stat.S_ISFIFO(pipe.stat().st_mode) and os.read(reader, 100) == b"gone"
    finally:
        os.close(reader)


def test_what_cannot_be_written_is_found_out_beforehand(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("good")
    for path in (tmp_path / "file" / "x.json", tmp_path / "none" / "x.json", tmp_path):
        with pytest.raises(OSError, match="cannot be written"):
            files.try_writing(path)
    files.try_writing(tmp_path / "made" / "x.json", make_folder=True)
    files.try_writing(tmp_path / "file")
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "made"]
    assert (tmp_path / "file").read_text() == "good"
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)  # root may write everywhere
    for act in (files.try_writing, lambda path: files.replace_text(path, "new")):
        with pytest.raises(OSError, match="the file is read-only"):
            act(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "good"


def test_damaged_files_are_set_aside_each_under_its_own_name(tmp_path):
    for text in ("one", "two"):
        (tmp_path / "some.json").write_text(text)
        files.set_aside(tmp_path / "some.json")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {
        "some.json.damaged": "one",
        "some.json.damaged-2": "two",
    }


def test_a_lock_keeps_others_out(tmp_path):
    (tmp_path / "count").write_text("0")
    code = (
        "import sys, time, pathlib; from helpers import files; folder = pathlib.Path(sys.argv[1])\n"
        "for _ in range(20):\n"
        "    with files.locked(folder):\n"
        "        number = int((folder / 'count').read_text()); time.sleep(0.002)\n"
        "        (folder / 'count').write_text(str(number + 1))\n"
    )
    environment = dict(os.environ, PYTHONPATH=devices.python_path())
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=environment) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert (tmp_path / "count").read_text() == "40"
