"""What a hostile answer or entry tries: nothing happens outside of its jail, and honest ones beside it get their ✓."""

import functools
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from helpers import jail
from helpers.classroom import board, entries, progress
from helpers.classroom.homework import judge_source
from helpers.sandbox import process

HONEST = "def multiply_adds(M, N, K):\n    return M * N * K\n"
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(bool(jail.lacking()), reason=f"no jail here: {jail.lacking()}")

# What an answer does; `place` is a folder of the teacher's, with `kept` in it. Signal 0 asks for the right to send one,
# and ends nobody where the jail is broken.
REFUSED = {
    "writes into the home": "open(home + '/mine', 'w').write('x')",
    "writes beside the hand-ins": "open(place + '/mine', 'w').write('x')",
    "appends": "open(place + '/kept', 'a').write('x')",
    "empties": "open(place + '/kept', 'w').close()",
    "cuts off": "os.truncate(place + '/kept', 0)",
    "deletes": "os.remove(place + '/kept')",
    "renames": "os.rename(place + '/kept', place + '/gone')",
    "takes away": "os.rename(place + '/kept', 'kept')",
    "makes a folder": "os.mkdir(place + '/new')",
    "changes the mode": "os.chmod(place + '/kept', 0o777)",
    "changes the date": "os.utime(place + '/kept', (0, 0))",
    "gives away": "os.chown(place + '/kept', 1, 1)",
    "marks": "os.setxattr(place + '/kept', 'user.mine', b'x')",
    "links to it": "os.link(place + '/kept', 'kept')",
    "links by name": "os.symlink(place + '/kept', 'kept')",
    "reads another hand-in": "open(place + '/kept').read()",
    "lists the hand-ins": "os.listdir(place)",
    "lists the home": "os.listdir(home)",
    "reads the solutions": f"open({str(ROOT / 'notebooks/00_start_here.ipynb')!r}).read()",
    "reads the shadow": "open('/etc/shadow').read()",
    "calls out": "socket.create_connection(('192.0.2.1', 80), 1)",
    "calls localhost": "socket.create_connection(('127.0.0.1', port), 1)",
    "asks for a name": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "calls the servers": "socket.socket(socket.AF_UNIX).connect(server)",
    "signals the teacher": "os.kill(teacher, 0)",
    "signals everybody": "os.kill(-1, 0)",
    "signals by handle": "signal.pidfd_send_signal(os.pidfd_open(teacher), 0)",
    "reads the teacher's variables": "open(f'/proc/{teacher}/environ').read()",
    "reads the teacher's command": "open(f'/proc/{teacher}/cmdline').read()",
    "reads the teacher's memory": "open(f'/proc/{teacher}/mem', 'rb').read(1)",
    "leaves its group": "os.setsid()",
    "mounts": "libc('mount', b'none', b'/mnt', b'tmpfs', 0, None)",
    "takes a namespace": "libc('unshare', 0x10000000)",
    "traces": "libc('ptrace', 16, teacher, 0, 0)",
    "slows the teacher down": "os.setpriority(os.PRIO_PROCESS, teacher, 19)",
    "limits the teacher": "resource.prlimit(teacher, resource.RLIMIT_NOFILE, (1, 1))",
    "shares memory": "libc('shmget', 4711, 4096, 0o1600)",
    "asks by a ring": "libc('syscall', 425, 8, 0)",
    "signals by a socket": "fcntl.fcntl(socket.socketpair()[0], fcntl.F_SETOWN, teacher)",
    "signals by a pipe": "fcntl.fcntl(os.pipe()[0], 15, struct.pack('ii', 1, teacher))",
    "sends out of a pair": "socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', letters)",
    "sends out of a raw pair": "socket.socketpair(type=socket.SOCK_RAW)[0].sendto(b'x', letters)",
    "connects one of a pair": "socket.socketpair()[0].connect(letters)",
    "signals by a queue": "libc('sigqueue', teacher, 0, None)",
    "signals a thread": "libc('tgkill', teacher, teacher, 0)",
    "signals as a socket's owner": "fcntl.ioctl(socket.socketpair()[0], 0x8902, struct.pack('i', teacher))",
    "asks for an address": "fcntl.ioctl(socket.socketpair()[0], 0x8915, bytes(40))",
    "watches the hand-ins": "libc('inotify_add_watch', libc('inotify_init1', 0), place.encode(), 0xfff)",
    "leaves a pipe": "os.mkfifo('pipe')",
    "leaves messages": "libc('msgget', 4711, 0o1600)",
    "leaves semaphores": "libc('semget', 4711, 1, 0o1600)",
    "puts the teacher last": "os.sched_setscheduler(teacher, os.SCHED_IDLE, os.sched_param(0))",
    "pins the teacher": "os.sched_setaffinity(teacher, {0})",
    "makes a process of another's": "libc('syscall', {'x86_64': 56}.get(os.uname().machine, 220), 0x8011, 0, 0, 0, 0)",
    "writes into shared memory": "open('/dev/shm/mine', 'w')",
    "changes its mode, newly": "libc('syscall', 452, -100, (place + '/kept').encode(), 0o777, 0)",
}
BEGIN = """
import ctypes, fcntl, os, resource, signal, socket, struct, sys
home, place, teacher, port, server, letters = {about!r}
done = []
def libc(name, *said):
    library = ctypes.CDLL(None, use_errno=True)
    if (given := getattr(library, name)(*said)) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return given
"""


@functools.cache
def letters():
    """A socket of the machine's, in no folder, to which anybody may send."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    found.bind("")  # the system gives it a name
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of the teacher's with something in it, and what a test may find changed."""
    folder = tmp_path_factory.mktemp("teacher")
    (folder / "kept").write_text("kept")
    return folder


def state_of(folder):
    """All that may change about a folder's files."""
    found = {path: (path.read_text(), path.stat()) for path in folder.iterdir()}
    return {path.name: (text, s.st_mode, s.st_uid, s.st_mtime, s.st_nlink) for path, (text, s) in found.items()}


def tried(place, what):
    """What became of it: an answer that says it by a wrong number's message."""
    server = next((str(path) for path in Path(os.environ.get(process.FOLDER, "/nowhere")).glob("*")), "/nowhere")
    about = os.path.expanduser("~"), str(place), os.getpid(), 80, server, letters().getsockname().decode()
    source = BEGIN.format(about=about) + f"def act():\n    {what}\n"
    source += "def multiply_adds(M, N, K):\n    if not done:\n        done.append(act())\n    return M * N * K\n"
    return judge_source("00.1", source)


def test_an_answer_may_use_its_own_folder_and_programs_and_is_right(place):
    inside = (
        "os.makedirs('a/b'); open('a/b/c', 'w').write('x'); assert open('a/b/c').read() == 'x'; os.remove('a/b/c'); "
        "os.removedirs('a/b'); import subprocess; assert subprocess.run(['echo', 'x'], capture_output=True).stdout; "
        "open('/etc/passwd').read(); np.ones((99, 99)) @ np.ones((99, 99))"
    )
    assert tried(place, inside)


@pytest.mark.parametrize("what", REFUSED.values(), ids=REFUSED)
def test_what_reaches_outside_of_the_jail_is_refused(place, what):
    before = state_of(place)
    report = tried(place, what)
    [finding] = report.findings
    assert finding.kind == "error" and re.search("Permission|not permitted|cross-device", finding.message), report
    assert state_of(place) == before


def test_no_variable_of_the_teachers_goes_in(place, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    monkeypatch.setenv(process.FOLDER, tempfile.mkdtemp())  # so that a server begins that might know it
    seen = (
        tried(place, "raise ValueError(repr(dict(os.environ)) + open('/proc/self/environ').read())").findings[0].message
    )
    assert "hunter2" not in seen and "HOME" in seen and f"HOME': '{home()}'" not in seen


def home():
    return os.path.expanduser("~")


@pytest.mark.parametrize(
    "what",
    [
        "sys.path.insert(0, '.'); open('sitecustomize.py', 'w').write('boo'); open('x.pth', 'w').write('import boo')",
        "os.environ['LD_PRELOAD'] = './boo.so'; os.environ['PYTHONPATH'] = '.'; open('numpy.py', 'w').write('boo')",
        "os.makedirs('/'.join(['d'] * 900)); os.mkdir('locked', 0)",
        "open('answer', 'w').write('[1, 2'); open('err', 'w').write('x')",
        "os.chdir(os.environ['HOME']); os.remove('out'); os.mkdir('out'); os.makedirs('oclgrind.log')",
    ],
)
def test_what_an_answer_leaves_in_its_folder_goes_with_it(place, what, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert tried(place, what) and judge_source("00.1", HONEST)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("apart-")]


FORGED = {
    "one on the way": "class Boo:\n        def __reduce__(self): return os.system, ('touch ' + place + '/mine',)\n"
    "    import pickle; open(os.path.join(os.environ['HOME'], 'so far'), 'wb').write(pickle.dumps((Boo(), [])))",
    "a verdict that runs": "class Boo:\n        def __reduce__(self): return os.system, ('touch ' + place + '/mine',)\n"
    "    import pickle; open(os.path.join(os.environ['HOME'], 'answer'), 'wb').write(pickle.dumps((Boo(), [])))",
    "none": "open(os.path.join(os.environ['HOME'], 'answer'), 'w').write('[null, []]')",
    "another": "import json\n    forged = ['Report', {'findings': [7]}], []\n"
    "    open(os.path.join(os.environ['HOME'], 'answer'), 'w').write(json.dumps(forged))",
    "lines that are none": "import json\n    said = {'kind': 'x', 'message': 'x', 'lines': ['one']}\n"
    "    about = {'subject': 'x', 'findings': [said], 'shapes': 0, 'source': '', 'not_looked_for': [], 'largest': []}\n"
    "    open(os.path.join(os.environ['HOME'], 'answer'), 'w').write(json.dumps((['Report', about], [])))",
    "a deep one": "open(os.path.join(os.environ['HOME'], 'answer'), 'w').write('[' * 99999)",
}


@pytest.mark.parametrize("what", FORGED.values(), ids=FORGED)
def test_an_answer_file_that_somebody_else_wrote_is_data(place, what):
    before = state_of(place)
    report = tried(place, f"{what}\n    os._exit(0)")
    assert [finding.kind for finding in report.findings] == ["crash"] and state_of(place) == before


def test_what_an_answer_starts_ends_with_it(place):
    assert tried(place, "import subprocess\n    subprocess.Popen(['sleep', '31415'])\n    os.fork() or signal.pause()")
    for _ in range(100):
        if not subprocess.run(["pgrep", "-f", "^sleep 31415$"], capture_output=True).stdout:
            return
        time.sleep(0.1)
    raise AssertionError("the process still runs")


def test_a_fork_bomb_costs_its_own_verdict(place):
    [finding] = tried(place, "while True: os.fork()").findings
    assert finding.kind in ("too many processes", "error", "crash") and judge_source("00.1", HONEST)


def test_processes_whose_parents_have_ended_are_counted_too(place):
    what = "import time\n    for _ in range(200):\n        if not os.fork():\n            os.fork() or time.sleep(60)\n"
    [finding] = tried(place, what + "            os._exit(0)\n    time.sleep(60)").findings
    assert finding.kind == "too many processes"


def test_where_memory_runs_out_the_answer_is_ended_and_not_the_teacher(place):
    assert tried(place, "assert open('/proc/self/oom_score_adj').read() == '1000\\n'")


def test_an_answer_that_root_judges_has_no_rights_of_roots_but_to_open_files(place):
    rights = "[line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'CapPrm'))]"
    assert tried(place, f"assert not any(int(one, 16) & ~6 for one in {rights})")
    program = "import subprocess\n    assert subprocess.run(['sh', '-c', 'ulimit -Hc 5']).returncode"  # it is 0
    assert tried(place, program)


def test_an_answer_holds_no_socket_but_its_lines(place):
    what = """import json, stat
    held = set()
    for number in range(100):
        try:
            held |= {number} if stat.S_ISSOCK(os.fstat(number).st_mode) else set()
        except OSError:
            pass
    assert held == set(json.loads(os.environ['HELPERS_LINES']).values()), held"""
    assert tried(place, what)


CHILDREN = """
import json, socket
    lines = json.loads(os.environ['HELPERS_LINES'])
    def ask(jail, folder):
        here, there = socket.socketpair()
        with socket.socket(fileno=os.dup(next(iter(lines.values())))) as line:
            socket.send_fds(line, [b'x'], [there.fileno()])
        there.close()
        request = dict(folder=folder, jail=jail, lines=[], environment={}, directory='/', path=sys.path)
        here.sendall(json.dumps(request).encode() + b'\\n')
        return here
"""


def test_a_child_that_the_server_is_asked_for_is_in_the_same_jail(place):
    """It opens "out" in the folder that it is given, before it does anything else."""
    what = CHILDREN + f"    here = ask(None, {str(place)!r})\n    here.makefile().read()"
    before = state_of(place)
    assert tried(place, what.strip()) and state_of(place) == before


def test_no_crowd_is_had_from_the_server(place):
    what = (
        CHILDREN
        + """
    import pickle, time
    class Sleep:
        def __reduce__(self): return time.sleep, (30,)
    open('job', 'wb').write(pickle.dumps(Sleep()))
    held = [ask(None, os.getcwd()) for _ in range(40)]
    said = [asker.recv(5) for asker in held]
    assert 0 < said.count(b'["pid') < 10, said"""
    )
    assert tried(place, what.strip()) and judge_source("00.1", HONEST)


def test_an_entry_cannot_do_either_what_an_answer_cannot(place):
    source = f"open({str(place / 'mine')!r}, 'w').write('x')\n" + entries.JIT
    entry = {"dialect": "CUDA", "like": "naive", "parameters": {}, "source": source, "answer": [], "name": "boo"}
    before = state_of(place)
    assert "Permission denied" in entries.run_again(entry)
    assert "not timed: its process ended with status 1" in entries.timed_again(entry)
    assert state_of(place) == before


def test_who_times_an_entry_is_in_the_jail_with_all_threads_and_limits_and_knows_no_variable_of_the_teachers(
    monkeypatch,
):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    source = """import glob, os, resource
limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
said = [line.split() for task in glob.glob('/proc/self/task/*/status') for line in open(task)]
os.write(2, f"{'hunter2' in str(os.environ)} {sorted({x[1] for x in said if x[0] == 'Seccomp:'})} {limit}".encode())
os._exit(1)
"""
    entry = {"dialect": "CUDA", "like": "naive", "parameters": {}, "source": source, "answer": [], "name": "boo"}
    assert entries.timed_again(entry) == "not timed: its process ended with status 1: False ['2'] 1073741824"


def test_without_a_jail_nothing_runs_unless_it_is_trusted(monkeypatch, tmp_path):
    monkeypatch.setattr(jail, "lacking", lambda: "this kernel has no Landlock")
    for call in (
        lambda: judge_source("00.1", HONEST),
        lambda: progress(tmp_path),
        lambda: board(tmp_path, again=True),
    ):
        with pytest.raises(jail.NoJail, match=r"this kernel has no Landlock.*container.*--trust"):
            call()
    assert judge_source("00.1", HONEST, trust=True) and progress(tmp_path, trust=True).rows == []


def test_a_kernel_without_landlock_is_told_in_plain_words(monkeypatch):
    landlock = pytest.importorskip("landlock")

    def fails():
        raise OSError(38, "Function not implemented", "Error calling landlock_create_ruleset: syscall(444) = -1")

    for version in (fails, lambda: 0):
        monkeypatch.setattr(landlock, "landlock_abi_version", version)
        assert re.fullmatch("this kernel(, or this container,)? has no Landlock", jail.lacking())


def test_the_command_says_it_in_a_line(tmp_path):
    code = (
        "from helpers import jail; jail.lacking = lambda: 'this is a test'; from helpers.__main__ import main; main()"
    )
    command = [sys.executable, "-c", code, "progress", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 1 and done.stdout == "" and "this is a test" in last and "--trust" in last
    assert subprocess.run([*command, "--trust"], capture_output=True, cwd=ROOT).returncode == 0
