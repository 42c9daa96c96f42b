"""One start for all pages: what each of them loads is loaded once, and their kernels are forked from there.

A page's kernel is as Jupyter starts it but for that: a process of its own, with its settings and its folder. What it
tries in children is forked from the servers of this process, in the place of two that each page would start.
"""

import multiprocessing
import os
import subprocess
import sys
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from unittest import mock

import nbval.kernel
from jupyter_client.provisioning import local_provisioner

from helpers import devices
from helpers.child import child_environment
from helpers.instruments import prediction
from kernel_judge import child

TESTS = Path(__file__).resolve().parent
CONTEXT = multiprocessing.get_context("forkserver")
PAGES = forkserver.ForkServer()
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
    """Let the kernels of pages be forked from a server that has loaded what pages load."""
    PAGES.set_forkserver_preload(LOADED)
    usual = nbval.kernel.start_new_kernel

    def start(*args, **options):
        with mock.patch.object(local_provisioner, "launch_kernel", forked):
            return usual(*args, **options)

    nbval.kernel.start_new_kernel = start


def forked(command, cwd, env, **options):
    """Start a page's kernel, in the place of Jupyter's `launch_kernel`."""
    for server, kind in ((child.SERVER, "PTX machine"), (prediction.COMPILES, "compiler")):
        with mock.patch.dict(os.environ, child_environment() | {devices.CUDA_OF_CHILD: kind}):
            server.ensure_running()
    ours, theirs = CONTEXT.Pipe(duplex=False)
    servers = child.SERVER._forkserver_address, prediction.COMPILES._forkserver_address
    process = CONTEXT.Process(target=run, args=(command, cwd, env, servers, theirs))
    with mock.patch.object(forkserver, "connect_to_new_process", PAGES.connect_to_new_process):
        process.start()
    ours.recv()
    return Kernel(process)


def run(command, folder, environment, servers, begun):
    """In the kernel's process: be what `python -m ipykernel_launcher` is."""
    os.setsid()  # who ends the kernel ends its group of processes
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment, JPY_PARENT_PID=str(os.getppid()))
    sys.path[:] = [one for one in sys.path if Path(one) not in (TESTS, TESTS.parent / "tools")]
    for server, address in zip((child.SERVER, prediction.COMPILES), servers, strict=True):
        server._forkserver_address, server._forkserver_alive_fd = address, os.open(os.devnull, os.O_RDONLY)
        server.ensure_running = resource_tracker.ensure_running  # it does, as long as the process of the tests
    begun.send(True)
    from ipykernel.kernelapp import IPKernelApp

    prepare = "from helpers import notebook; notebook.prepare(get_ipython()); del notebook"
    IPKernelApp.launch_instance(argv=command[command.index("-f") :], exec_lines=[prepare])
