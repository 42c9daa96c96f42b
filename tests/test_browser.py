"""Two notebooks, opened in JupyterLab in headless Chromium, run from the menu, and looked at.

What only a browser shows: the page opens, every picture is drawn, nothing is wider than its column, the
console holds no error. Full-page pictures go to screenshots/, for a person to look at.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request

import nbformat
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
# No autosave, no news from the network, no language server: nothing but the notebook.
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "autoStartDefaultKernel": True},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}
# Not the page's doing: what a browser without a network, or a server without an extension, says.
NOT_OURS = re.compile(r"favicon|net::ERR_|Failed to load resource|translation|workspaces", re.IGNORECASE)
SHOTS = notebooks.ROOT / "screenshots"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab of its own, on a copy of the notebooks; yields its address. Ends what it started."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(notebooks.FOLDER, home / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    settings = home / "settings"
    settings.mkdir()
    (settings / "overrides.json").write_text(json.dumps(SETTINGS))
    port, token = free_port(), "course"
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
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={home}",
        f"--LabApp.app_settings_dir={settings}",
        "--LabApp.extension_manager=readonly",
        "--LabApp.news_url=None",
        "--LabApp.expose_app_in_browser=True",
    ]
    with open(home / "lab.log", "w+") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            wait_for_server(server, f"{address}/api/status?token={token}", home / "lab.log")
            yield address, token
        finally:
            server.terminate()  # JupyterLab ends its kernels
            try:
                server.wait(timeout=30)
            except subprocess.TimeoutExpired:
                server.kill()


def wait_for_server(server, address, log):
    import time

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()}")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; add it: sudo apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield running
        running.close()


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


def menu(page, name, entry):
    """Choose the entry; while JupyterLab still starts it may be greyed out, so open the menu again."""
    title = page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{name}$"))
    item = page.locator(".lm-Menu-item", has=page.locator(f".lm-Menu-itemLabel:text-is('{entry}')"))
    for _ in range(60):
        title.click()
        item.wait_for()
        if "lm-mod-disabled" not in item.get_attribute("class"):
            return item.click()
        page.keyboard.press("Escape")
        page.wait_for_timeout(500)
    raise AssertionError(f"JupyterLab never offered {name} > {entry}")


@pytest.mark.parametrize("path", notebooks.notebook_paths()[:2], ids=lambda path: path.stem)
def test_run_all_in_jupyterlab(lab, browser, path):
    address, token = lab
    stored = nbformat.read(path, as_version=4)
    codes = [cell for cell in stored.cells if cell.cell_type == "code"]
    pictures = sum(
        any(kind.startswith("image/") for kind in output.get("data", {})) for cell in codes for output in cell.outputs
    )
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(30_000)
    said = []
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        page.goto(f"{address}/lab/tree/notebooks/{path.name}?token={token}&reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
        page.locator(
            ".jp-Notebook .jp-MarkdownOutput h1"
        ).first.click()  # the notebook, not the file list, has the focus
        menu(page, "Edit", "Clear Outputs of All Cells")
        page.wait_for_function(f"{COUNTS}.every(count => count === null)")
        menu(page, "Run", "Run All Cells")
        page.wait_for_function(f"{ERRORS}.length || {COUNTS}.every(Number.isInteger)", timeout=300_000)
        page.wait_for_function(f"{IMAGES}.every(image => image[0])")
        counts, errors, images, wide = (page.evaluate(part) for part in (COUNTS, ERRORS, IMAGES, WIDE))
    finally:  # also of a page that went wrong
        picture_of_the_page(page, path.stem)
        page.close()

    assert errors == []
    assert counts == list(range(1, len(codes) + 1))
    assert len(images) >= pictures, "pictures that the file holds are missing on the page"
    assert all(width > 0 and height > 0 for _, width, height in images), images
    assert wide == [], "outputs wider than their column"
    assert [line for line in said if not NOT_OURS.search(line)] == []


def picture_of_the_page(page, stem):
    """The whole notebook as one picture: the window is made as tall as the page."""
    height = page.evaluate("document.querySelector('.jp-WindowedPanel-outer')?.scrollHeight ?? 1000")
    page.set_viewport_size({"width": 1400, "height": min(int(height) + 120, 16_000)})
    page.evaluate("document.querySelector('.jp-WindowedPanel-outer')?.scrollTo(0, 0)")
    page.wait_for_function("!(document.querySelector('.jp-WindowedPanel-outer')?.scrollTop > 0)")
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{stem}.png"))
