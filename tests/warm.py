"""One start for all pages: what each of them loads is loaded once, and their kernels are forked from there.

Python's own fork server does it, which then forks what `check` tries, too. A page's kernel is as Jupyter starts it but
for that: its own process, settings and folder. Page 00 starts as a reader's does.
"""

import multiprocessing
import os
import subprocess
import sys
from multiprocessing import forkserver
from pathlib import Path

from jupyter_client.provisioning import local_provisioner

from kernel_judge import child

TESTS = Path(__file__).resolve().parent
CONTEXT = multiprocessing.get_context("forkserver")
START = local_provisioner.launch_kernel
LOADED = ["helpers.checking", "helpers.child", "helpers.clock", "helpers.exercises", "helpers.instruments"]
LOADED += ["helpers.launch", "helpers.notebook", "helpers.pictures", "ipykernel.kernelapp", "numba.cuda", "pyopencl"]


class Kernel:
    """A page's kernel as `subprocess.Popen` would show it to Jupyter."""

    stdin = stdout = stderr = None

    def __init__(self, process):
        self.process, self.pid = process, process.pid
        self.kill, self.terminate = process.kill, process.terminate

    def poll(self):
        """Its exit status; None while it runs."""
        return self.process.exitcode

    def wait(self, timeout=None):
        """Its exit status, once it has ended."""
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired("kernel", timeout)
        return self.process.exitcode

    def send_signal(self, number):
        """Send it a signal."""
        os.kill(self.pid, number)


def set_up():
    """Let all that this process starts be forked from one server, which loads what pages load."""
    CONTEXT.set_forkserver_preload(LOADED)
    child.SERVER = forkserver._forkserver
    local_provisioner.launch_kernel = forked


def forked(command, cwd, env, **options):
    """Start a page's kernel, in the place of Jupyter's `launch_kernel`."""
    ours, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=run, args=(command, cwd, env, theirs))
    process.start()
    ours.recv()
    return Kernel(process)


def run(command, folder, environment, begun):
    """In the kernel's process: be what `python -m ipykernel_launcher` is."""
    os.setsid()  # who ends the kernel ends its group of processes
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
    sys.path[:] = [one for one in sys.path if Path(one) not in (TESTS, TESTS.parent / "tools")]
    child.SERVER = forkserver._forkserver
    begun.send(True)
    from ipykernel.kernelapp import IPKernelApp

    prepare = "from helpers import notebook; notebook.prepare(get_ipython()); del notebook"
    IPKernelApp.launch_instance(argv=command[command.index("-f") :], exec_lines=[prepare])
