"""Pages, opened in JupyterLab in headless Chromium as the course's command opens it, read, run, and looked at.

What only a browser shows: the page opens, every picture is drawn, nothing is wider than its column, the
console holds no error.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

import notebooks
import pytest

pytestmark = pytest.mark.bulk

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Every cell of the page is to be there at once: JupyterLab otherwise draws only those in sight.
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "autoStartDefaultKernel": True},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
TOKEN = "course"
# Not the page's doing: what a browser without a network, or a server without an extension, says.
NOT_OURS = re.compile(r"favicon|net::ERR_|Failed to load resource|translation|workspaces", re.IGNORECASE)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def jupyterlab(course, home):
    """JupyterLab as the course's command opens it; yields its address. Ends what it started."""
    settings = home / "settings"
    settings.mkdir(exist_ok=True)
    (settings / "overrides.json").write_text(json.dumps(SETTINGS))
    port = free_port()
    environment = dict(
        os.environ,
        JUPYTER_CONFIG_DIR=str(home / "config"),
        JUPYTER_RUNTIME_DIR=str(home / "runtime"),
        JUPYTERLAB_SETTINGS_DIR=str(home / "user"),
        JUPYTERLAB_WORKSPACES_DIR=str(home / "workspaces"),
        IPYTHONDIR=str(home / "ipython"),
    )
    command = [
        sys.executable,
        str(course / "tools" / "lab.py"),
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={TOKEN}",
        f"--LabApp.app_settings_dir={settings}",
        "--LabApp.extension_manager=readonly",
        "--LabApp.expose_app_in_browser=True",
    ]
    with open(home / "lab.log", "w+") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for_server(server, f"{address}/api/status?token={TOKEN}", home / "lab.log")
            yield address
        finally:
            server.terminate()  # JupyterLab ends its kernels
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of JupyterLab, which has opened the course's pages, and its log."""
    home = tmp_path_factory.mktemp("lab")
    course = home / "course"
    shutil.copytree(notebooks.FOLDER, course / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    shutil.copytree(notebooks.ROOT / "tools" / "jupyter", course / "tools" / "jupyter")
    shutil.copy(notebooks.ROOT / "tools" / "lab.py", course / "tools")
    with jupyterlab(course, home) as address:
        yield address, home / "lab.log"


def wait_for_server(server, address, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}")


@contextmanager
def chromium(flags=FLAGS):
    """A Chromium that runs; the test is skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; add it: sudo apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=flags)
        yield running
        running.close()


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


# A folded solution has no prompt on the page, so the numbers of the cells come from the notebook's model.
COUNTS = """[...window.jupyterapp.shell.currentWidget.content.widgets]
    .filter(cell => cell.model.type === 'code').map(cell => cell.model.executionCount)"""
ERRORS = """[...document.querySelectorAll('[data-mime-type="application/vnd.jupyter.error"], '
    + '[data-mime-type="application/vnd.jupyter.stderr"]')].map(box => box.innerText.slice(0, 300))"""
IMAGES = """[...document.querySelectorAll('.jp-OutputArea-output img')]
    .map(image => [image.complete, image.naturalWidth, image.naturalHeight])"""
WIDE = """[...document.querySelectorAll('.jp-OutputArea-output, .jp-MarkdownOutput')]
    .filter(box => box.scrollWidth > box.clientWidth + 2)
    .map(box => box.scrollWidth + ' > ' + box.clientWidth + ': ' + box.innerText.slice(0, 80))"""


@contextmanager
def opened(browser, address, name):
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(60_000)
    try:
        page.goto(f"{address}/lab/tree/my_pages/{name}?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
        page.evaluate("window.jupyterapp.shell.currentWidget.context.ready")
        yield page
    finally:
        page.close()


def test_run_all_in_jupyterlab(lab, browser):
    name, said = "00_start_here.ipynb", []
    codes = [cell for cell in notebooks.read(notebooks.FOLDER / name).cells if cell.cell_type == "code"]
    pictures = sum(
        any(kind.startswith("image/") for kind in output.get("data", {})) for cell in codes for output in cell.outputs
    )
    with opened(browser, lab[0], name) as page:
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.evaluate("window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        page.wait_for_function(f"{COUNTS}.every(count => count === null)")
        page.evaluate("{ window.jupyterapp.commands.execute('notebook:run-all-cells') }")
        page.wait_for_function(f"{ERRORS}.length || {COUNTS}.every(Number.isInteger)", timeout=300_000)
        page.wait_for_function(f"{IMAGES}.every(image => image[0])")
        counts, errors, images, wide = (page.evaluate(part) for part in (COUNTS, ERRORS, IMAGES, WIDE))
    assert errors == []
    assert counts == list(range(1, len(codes) + 1))
    assert len(images) >= pictures, "pictures that the file holds are missing on the page"
    assert all(width > 0 and height > 0 for _, width, height in images), images
    assert wide == [], "outputs wider than their column"
    assert [line for line in said if not NOT_OURS.search(line)] == []


# What JupyterLab adds to a notebook's metadata it adds once it knows Python's version and the kernel's name.
CHANGED = """async () => {
    const open = window.jupyterapp.shell.currentWidget;
    await open.sessionContext.ready;
    const kernel = open.sessionContext.session.kernel;
    await Promise.all([kernel.info, kernel.spec]);
    return open.context.model.dirty;
}"""
QUESTIONS = "[...document.querySelectorAll('.jp-Dialog, .Toastify__toast')].map(box => box.innerText)"
NOTEBOOKS = (
    "[...window.jupyterapp.shell.widgets('main')].filter(widget => widget.sessionContext && widget.content.model)"
)


@pytest.mark.parametrize("name", ["02_naive.ipynb", "zh_CN/00_start_here.ipynb"])
def test_a_page_that_was_only_read_asks_nothing_when_it_is_closed(lab, browser, name):
    address, log = lab
    with opened(browser, address, name) as page:
        assert not page.evaluate(CHANGED), "JupyterLab thinks that the page was changed"
        page.locator(".lm-TabBar-tab.jp-mod-current .lm-TabBar-tabCloseIcon").first.click()
        page.wait_for_function(f"{QUESTIONS}.length || !{NOTEBOOKS}.length")
        assert page.evaluate(QUESTIONS) == []
    assert not re.search("Skipped|edition|WARNING", log.read_text()), log.read_text()
