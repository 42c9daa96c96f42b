"""Files are written whole or not at all. Full disks and locked folders are played."""

import errno
import os
import stat
import subprocess
import sys

import pytest

from helpers import devices, files


@pytest.mark.parametrize("before", ["good", None])
def test_a_full_disk_leaves_what_was_there(monkeypatch, tmp_path, before):
    def no_room(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "some.json"
    if before:
        path.write_text(before)
    monkeypatch.setattr(files.os, "fsync", no_room)
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
    monkeypatch.setattr(files.os, "access", lambda path, mode: mode != os.W_OK)  # root may write everywhere
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


LINKS = pytest.mark.skipif(os.name == "nt", reason="to make a link takes rights here")


def read(path, below=None):
    return files.read_others(path, 10, "make it short", below)


def test_a_file_of_others_is_read_as_long_as_it_is_short(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    assert read(path) == read(path, tmp_path.parent) == b"0123456789"
    path.write_bytes(b"0123456789a")
    with open(path, "wb") as file:
        file.truncate(2_000_000_000)  # a hole, which takes no room on the disk
    with pytest.raises(files.Refused, match=r"^a file of 2000 MB: make it short$"):
        read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "b")


@LINKS
def test_no_link_leads_to_a_file_of_others(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "bob" / "in").mkdir(parents=True)
    (tmp_path / "ada" / "own").write_text("ada's")
    (tmp_path / "bob" / "own").symlink_to("../ada/own")
    (tmp_path / "bob" / "passwd").symlink_to("/etc/passwd")
    (tmp_path / "bob" / "nothing").symlink_to("nowhere")
    (tmp_path / "bob" / "in" / "all").symlink_to("../../ada")
    for name in ("own", "passwd", "nothing", "in/all/own", "../ada/own"):
        with pytest.raises(files.Refused, match=r"^it is a symbolic link, which is not followed"):
            read(tmp_path / "bob" / name, tmp_path / "bob")
    (tmp_path / "linked").symlink_to(tmp_path / "ada")  # the folder itself is the reader's own word
    assert read(tmp_path / "linked" / "own", tmp_path / "linked") == b"ada's"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(files.Refused, match=r"^it is no file, but a folder, a pipe or a device"):
            read(path)


def test_json_that_is_too_deep_is_none(tmp_path):
    for text in ("[" * 100_000, '{"a":' * 100_000, "1" * 5000, "{"):
        (tmp_path / "deep").write_text(text)
        with pytest.raises(ValueError, match=r"deep|digits|Expecting"):
            files.read_json(tmp_path / "deep", 10**6, "")


def test_text_of_others_steers_no_terminal():
    said = "\x1b]0;gone\x07\x9b31m\r\n\t\u202eevil\u2066\u200b\u2028\udce9\0"
    assert files.plain(said) == r"\x1b]0;gone\x07\x9b31m\r\n\t\u202eevil\u2066\u200b\u2028\udce9\x00"
    assert files.plain("王小明 größer, ✓ = 1") == "王小明 größer, ✓ = 1"
    assert files.plain({"\n": ["\x1b", 1.5, None]}) == {"\\n": ["\\x1b", 1.5, None]}
    assert len(files.plain("x" * 10**6)) == files.LONGEST and files.plain("x" * 2000).endswith("x…")
