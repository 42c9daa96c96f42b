"""Stop and restart, each in one line: whatever was running, and where the first cell has not run since."""

import sys
from pathlib import Path

import notebooks
import pytest
from jupyter_client.manager import start_new_kernel

ENDLESS = '''
from helpers import *
k = opencl_kernel("""
__kernel void endless(const int M, const int N, const int K,
                      __global const float *A, __global const float *B, __global float *C)
{
    for (volatile int n = 0; n >= 0; n = 0) { }
}
""", like="naive", BM=4, BN=4)
'''
RUNNING = {
    "a loop": "print('go', flush=True)\nwhile True: pass",
    "a check": f"{ENDLESS}\nprint('go', flush=True)\ncheck(k)",
}


@pytest.fixture(scope="module")
def notebook():
    """A notebook's kernel, which has run its first cell."""
    manager, client = start_new_kernel()
    client.execute_interactive("from helpers import *", output_hook=lambda message: None, timeout=120)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("what", RUNNING)
def test_a_stopped_cell_says_so_in_one_line(notebook, what):
    manager, client = notebook
    said = []

    def hear(message):
        said.append(message)
        if message["content"].get("text") == "go\n":
            manager.interrupt_kernel()

    reply = client.execute_interactive(RUNNING[what], output_hook=hear, timeout=120)
    assert reply["content"]["status"] == "error"  # so that the cells below do not run
    assert not [message for message in said if message["msg_type"] == "error"]
    told = "".join(message["content"]["text"] for message in said if message["msg_type"] == "stream")
    assert told == "go\nStopped. Nothing is broken: run the cell again.\n"


def test_after_a_restart_a_page_says_so_in_one_line():
    manager, client = start_new_kernel(cwd=str(notebooks.FOLDER / "zh_CN"))
    said = []
    try:
        for cell in ("check(k)", "from helpers import check", "chekc(k)"):
            client.execute_interactive(cell, output_hook=said.append, timeout=120)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    told = [message["content"].get("text") for message in said if message["msg_type"] == "stream"]
    assert told == ["check is not there: the first cell has not run since Python started. Run the page from there.\n"]
    errors = [message["content"]["evalue"] for message in said if message["msg_type"] == "error"]
    assert errors == ["name 'chekc' is not defined"]


def test_what_says_so_is_installed_with_the_course():
    installed = Path(sys.prefix, "etc", "ipython", "startup", "begun_anew.py")
    assert installed.read_text() == (notebooks.ROOT / "tools" / "begun_anew.py").read_text()
