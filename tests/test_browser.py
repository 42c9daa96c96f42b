"""A page, opened in JupyterLab in headless Chromium as the course's command opens it, run, and looked at.

What only a browser shows: the page opens, every picture is drawn, nothing is wider than its column, the
console holds no error. Other tests look at their pages by `tabs`, too.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
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
NOT_OURS = re.compile(r"favicon|net::ERR_|Failed to load|translation|workspaces|debug|Canceled future", re.IGNORECASE)


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


@contextmanager
def tabs(browser, excused=None):
    """A function that opens an address in a tab of its own. Afterwards: no error, no request to another host.

    `excused`: a pattern of messages that are no errors of the page.
    """
    said, left, contexts = [], [], []

    def open_page(address, width=1400, scheme="light", before=""):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        home = re.match(r"https?://[^/]+/|file://", address)[0]
        ours = (home, home.replace("http", "ws", 1), "data:", "blob:")
        page.on("request", lambda request: None if request.url.startswith(ours) else left.append(request.url))
        page.add_init_script(before)
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [line for line in said if not (excused and excused.search(line))] == [] and left == []


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def jupyterlab(tmp_path):
    """The address of JupyterLab, started on a copy of the course's pages as the course's command starts it."""
    shutil.copytree(notebooks.FOLDER, tmp_path / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    shutil.copytree(notebooks.ROOT / "tools" / "jupyter", tmp_path / "tools" / "jupyter")
    shutil.copy(notebooks.ROOT / "tools" / "lab.py", tmp_path / "tools")
    (tmp_path / "overrides.json").write_text(json.dumps(SETTINGS))
    command = [
        sys.executable,
        str(tmp_path / "tools" / "lab.py"),
        "--no-browser",
        "--allow-root",
        f"--IdentityProvider.token={TOKEN}",
        f"--LabApp.app_settings_dir={tmp_path}",
        "--LabApp.extension_manager=readonly",
        "--LabApp.expose_app_in_browser=True",
    ]
    log, runtime = tmp_path / "lab.log", tmp_path / "runtime"
    environment = os.environ | {"HOME": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(runtime)}
    with open(log, "w") as file:
        server = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        while not (found := [*runtime.glob("jpserver-*.html")]):  # written once it listens
            assert server.poll() is None, log.read_text()
            time.sleep(0.2)
        yield json.loads(found[0].with_name(f"jpserver-{server.pid}.json").read_text())["url"]
    finally:
        server.terminate()  # JupyterLab ends its kernels
        server.wait(timeout=60)


# A folded solution has no prompt on the page, so the numbers of the cells come from the notebook's model.
COUNTS = """[...window.jupyterapp.shell.currentWidget.content.widgets]
    .filter(cell => cell.model.type === 'code').map(cell => cell.model.executionCount)"""
ERRORS = """[...document.querySelectorAll('[data-mime-type="application/vnd.jupyter.error"], '
    + '[data-mime-type="application/vnd.jupyter.stderr"]')].map(box => box.innerText.slice(0, 300))"""
READY = """window.jupyterapp.commands.isEnabled('notebook:run-all-cells') &&
    window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"""
IMAGES = """[...document.querySelectorAll('.jp-OutputArea-output img')]
    .map(image => [image.complete, image.naturalWidth, image.naturalHeight])"""
WIDE = """[...document.querySelectorAll('.jp-OutputArea-output, .jp-MarkdownOutput')]
    .filter(box => box.scrollWidth > box.clientWidth + 2)
    .map(box => box.scrollWidth + ' > ' + box.clientWidth + ': ' + box.innerText.slice(0, 80))"""


def test_run_all_in_jupyterlab(jupyterlab, browser):
    name = "00_start_here.ipynb"
    codes = [cell for cell in notebooks.read(notebooks.FOLDER / name).cells if cell.cell_type == "code"]
    pictures = sum(
        any(kind.startswith("image/") for kind in output.get("data", {})) for cell in codes for output in cell.outputs
    )
    with tabs(browser, NOT_OURS) as look:
        page = look(f"{jupyterlab}lab/tree/my_pages/{name}?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
        page.wait_for_function(READY)
        page.evaluate("{ window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs') }")
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
