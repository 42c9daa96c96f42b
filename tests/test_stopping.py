"""The stop button: whatever was running, the cell ends with one line, and "Run All" ends with it."""

import pytest
from jupyter_client.manager import start_new_kernel

ENDLESS = '''
from helpers import *
k = cuda_kernel("""
from numba import cuda
@cuda.jit
def endless(A, B, C):
    while True:
        pass
""", like="naive", BM=4, BN=4)
'''
RUNNING = {
    "a loop": "print('go', flush=True)\nwhile True: pass",
    "a check": f"{ENDLESS}\nprint('go', flush=True)\ncheck(k)",
    "a count": "print('go', flush=True)\nwhile True: predicted_traffic(opencl_kernel('tiled'), 8, 8, 8)",
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
