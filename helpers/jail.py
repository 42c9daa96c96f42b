"""A jail for code that somebody else wrote: it reads the system and the course, and writes into a folder of its own.

The kernel of Linux holds it, and no root is needed. Landlock keeps files: what is not listed here can be neither read
nor written. Seccomp keeps what Landlock leaves: the network, signals and tracing, what an owner may change about a file
that he cannot write, and ways around the two. A process that has entered cannot leave, nor can what it starts.

Run as a program, `python jail.py FOLDER MODULE FUNCTION`, it enters first and imports the module then: threads that a
module starts before would stay outside.
"""

import ctypes
import errno
import importlib
import importlib.util
import os
import signal
import site
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

# What may be read: programs and libraries, what the system says of itself, and what OpenCL, fonts and names need.
SYSTEM = """
    /usr /lib /lib32 /lib64 /bin /sbin /opt /nix/store /sys
    /proc/sys /proc/self /proc/cpuinfo /proc/meminfo /proc/stat /proc/loadavg /proc/filesystems
    /etc/OpenCL /etc/fonts /etc/group /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/localtime
    /etc/nsswitch.conf /etc/passwd /etc/timezone
"""
DEVICES = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/dri /dev/kfd"
# The variables that go in: what is found where, which device and how many threads. None tells who the teacher is.
KEPT = {"PATH", "LANG", "TZ", "PYTHONPATH", "LD_LIBRARY_PATH", "CI", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHASHSEED"}
KEPT_BEGIN = ("LC_", "HELPERS_", "NUMBA_", "PYOPENCL_", "OCL_", "POCL_", "CUDA_", "OPENBLAS_", "OMP_", "MKL_")
IN_FOLDER = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "POCL_CACHE_DIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR")

# What seccomp refuses, by the name that the system call has.
REFUSED = """
    socket socketcall connect bind listen accept accept4
    ptrace process_vm_readv process_vm_writev kcmp tkill rt_sigqueueinfo rt_tgsigqueueinfo
    inotify_add_watch fanotify_init fanotify_mark
    setsid setpgid setpriority ioprio_set sched_setscheduler sched_setparam sched_setattr migrate_pages move_pages
    truncate truncate64 chmod fchmod fchmodat chown fchown lchown fchownat chown32 fchown32 lchown32
    setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr utime utimes utimensat futimesat
    shmget shmat shmctl msgget msgsnd msgrcv msgctl semget semop semctl semtimedop mq_open mq_unlink
    mount umount umount2 pivot_root chroot unshare setns open_by_handle_at name_to_handle_at
    bpf perf_event_open userfaultfd keyctl add_key request_key init_module finit_module delete_module
    kexec_load kexec_file_load reboot settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname
    swapon swapoff acct quotactl syslog iopl ioperm modify_ldt vhangup
"""
# ... and by number: those that an old libseccomp has no name for.
NUMBERED = """
    pidfd_send_signal=424 io_uring_setup=425 io_uring_enter=426 io_uring_register=427 open_tree=428 move_mount=429
    fsopen=430 fsconfig=431 fsmount=432 fspick=433 pidfd_getfd=438 process_madvise=440 mount_setattr=442
    quotactl_fd=443 fchmodat2=452 setxattrat=463 removexattrat=466 open_tree_attr=467 file_setattr=469
"""
# Calls that are refused where this argument, seen through this mask, is one of these.
WORD = 0xFFFFFFFF
REFUSED_WITH = [
    # New namespaces, and a process whose parent is another than who makes it.
    *(("clone", 0, 1 << bit, [1 << bit]) for bit in (7, 15, 17, 25, 26, 27, 28, 29, 30)),
    # Characters typed into a terminal, twice, and a file's flags, twice.
    ("ioctl", 1, WORD, [0x5412, 0x541C, 0x40086602, 0x401C5820]),
    # All that is asked of a socket: who gets its signals, and the machine's addresses.
    ("ioctl", 1, 0xFFFFFF00, [0x8900]),
    # Who gets the signals of a file, of any file: F_SETOWN and F_SETOWN_EX.
    ("fcntl", 1, WORD, [8, 15]),
    # A pair of sockets that is no stream: either of them can send to any other socket of the machine.
    ("socketpair", 1, 0xF, [2, 3, 4, 5, 6, 10]),
]


class NoJail(RuntimeError):
    """This machine has no jail; the message says why and what to do."""


def lacking() -> str:
    """Why there is no jail on this machine, in a few words; "" where there is one."""
    if sys.platform != "linux":
        return f"it is made of parts of Linux, and this is {sys.platform}"
    try:
        import landlock
        import pyseccomp  # noqa: F401

        if landlock.landlock_abi_version() < 1:
            return "this kernel has no Landlock"
    except Exception as error:  # each of the two says in a way of its own that something is missing
        said = (str(error).splitlines() or [type(error).__name__])[0]
        if "landlock_create_ruleset" in said:
            return "this kernel, or this container, has no Landlock"
        return f"{said}; install libseccomp2" if "libseccomp" in said else said
    return ""


def refuse_without() -> None:
    """Raise NoJail where this machine has none."""
    if why := lacking():
        raise NoJail(
            f"there is no jail for others' code here ({why}). Run it in a container, as teaching/README.md shows, or "
            "let that code do all that you may do yourself, with --trust (trust=True)."
        )


def environment(folder: str | Path) -> dict[str, str]:
    """The variables of this process that go into the jail, and those that name its own folder."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_BEGIN)}
    return kept | dict.fromkeys(IN_FOLDER, str(folder)) | {"PYTHONUSERBASE": site.getuserbase()}


def enter(folder: str | Path) -> None:
    """Lock this process in, for good, with that folder as the only one it may write to. It must have one thread."""
    with suppress(OSError):  # where memory runs out, the system ends this one, and none of the teacher's
        Path("/proc/self/oom_score_adj").write_text("1000")
    keep_files(str(folder))
    keep_calls()
    give_up_capabilities()


def give_up_capabilities():
    """Of root's rights those are left that open others' files, which Landlock bounds: a limit stays a limit."""
    libc, header, rights = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
    libc.capget(header, rights)  # effective, permitted, inheritable, and again the upper halves
    dac = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
    libc.capset(header, (ctypes.c_uint32 * 6)(rights[0] & dac, rights[1] & dac))


def keep_files(folder):
    """Landlock: from here on, files are those of the lists above."""
    from landlock import FSAccess, Ruleset

    read = FSAccess.EXECUTE | FSAccess.READ_FILE | FSAccess.READ_DIR
    # Links, pipes and sockets are left out: who reads the folder afterwards shall find nothing but files there.
    odd = FSAccess.MAKE_SYM | FSAccess.MAKE_FIFO | FSAccess.MAKE_SOCK | FSAccess.MAKE_CHAR | FSAccess.MAKE_BLOCK
    use = FSAccess.all_file() & ~FSAccess.EXECUTE
    course = Path(__file__).parent  # its code, and not its pages: they hold the solutions
    drivers = os.environ.get("OCL_ICD_VENDORS", "")  # the list of them, which `devices` has made
    ctypes.set_errno(0)  # landlock takes an older error for its own
    rules = Ruleset()
    allow(rules, read, *SYSTEM.split(), sys.prefix, sys.base_prefix, site.getusersitepackages(), drivers)
    allow(rules, read, course, course.with_name("ptx_machine"))
    allow(rules, use | FSAccess.READ_DIR, *DEVICES.split(), *Path("/dev").glob("nvidia*"))
    allow(rules, FSAccess.all() & ~odd, folder)
    rules.apply()


def allow(rules, what, *places):
    """Add those of the places that exist. A file has no rights of a folder."""
    from landlock import FSAccess

    for place in map(str, places):
        if os.path.isdir(place):
            rules.allow(place, rules=what)
        elif os.path.exists(place):
            rules.allow(place, rules=what & FSAccess.all_file())


def keep_calls():
    """Seccomp: from here on, some system calls fail, as if this process had no right to them."""
    import pyseccomp as seccomp

    calls, no = seccomp.SyscallFilter(seccomp.ALLOW), seccomp.ERRNO(errno.EPERM)
    for name in REFUSED.split():
        try:
            calls.add_rule(no, name)
        except (OSError, ValueError):  # a call that this machine's architecture has not
            continue
    for call in NUMBERED.split():
        calls.add_rule(no, int(call.partition("=")[2]))
    # A signal goes to this very process, as abort() sends it; limits and processors are those of itself.
    only = {"kill": os.getpid(), "tgkill": os.getpid(), "prlimit64": 0, "sched_setaffinity": 0}
    for name, first in (only | {"socketpair": socket.AF_UNIX}).items():
        calls.add_rule(no, name, seccomp.Arg(0, seccomp.NE, first))
    for name, argument, mask, values in REFUSED_WITH:
        for value in values:
            calls.add_rule(no, name, seccomp.Arg(argument, seccomp.MASKED_EQ, mask, value))
    calls.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags cannot be seen; libraries use clone instead
    calls.load()


def run(module: str, function: str, folder: Path, path: str, seconds: float, trust: bool) -> tuple[int, str]:
    """Call function(folder) of that module in a new process in the jail. Returns (its exit status, what it said of it).

    `path`: its PYTHONPATH. `trust`: without the jail. Raises subprocess.TimeoutExpired after so many seconds of the
    wall's clock.
    """
    variables = os.environ if trust else environment(folder)
    command = [sys.executable, __file__, str(folder), module, function, *["--trust"] * trust]
    with tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            command,
            env={**variables, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
            start_new_session=True,
        )
        try:
            status = process.wait(seconds)
        finally:
            if hasattr(os, "killpg"):  # what it started, too
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
        err.seek(max(0, err.seek(0, os.SEEK_END) - 1000))
        return status, err.read(1000).decode(errors="replace").strip()


if __name__ == "__main__":
    folder, module, function, *trust = sys.argv[1:]
    sys.path.pop(0)  # this file's folder, whose names are not those of top modules
    importlib.util.find_spec("helpers")  # from here on Python knows what is in the course's folder, and need not look
    if not trust:
        enter(folder)
    getattr(importlib.import_module(module), function)(folder)
