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
import urllib.request
from contextlib import contextmanager

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


def git(course, *words):
    return subprocess.run(["git", *words], cwd=course, check=True, capture_output=True, text=True).stdout


def commit(course):
    git(course, "add", ".")
    git(course, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "commit", "-qm", "edition")


@pytest.fixture
def course(tmp_path):
    """The course's pages, and what opens them, in a repository of their own."""
    folder = tmp_path / "course"
    shutil.copytree(notebooks.FOLDER, folder / "notebooks", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    shutil.copytree(notebooks.ROOT / "tools" / "jupyter", folder / "tools" / "jupyter")
    shutil.copy(notebooks.ROOT / "tools" / "lab.py", folder / "tools")
    shutil.copy(notebooks.ROOT / ".gitignore", folder)
    git(folder, "init", "-q")
    commit(folder)
    return folder


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
def test_run_all_in_jupyterlab(course, browser, tmp_path, path):
    with jupyterlab(course, tmp_path) as address:
        run_all(address, browser, path)
    assert git(course, "status", "--porcelain") == ""


def run_all(address, browser, path):
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
        page.goto(f"{address}/lab/tree/my_pages/{path.name}?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
        page.locator(".jp-Notebook .jp-MarkdownOutput h1").first.click()  # so that not the file list has the focus
        menu(page, "Edit", "Clear Outputs of All Cells")
        page.wait_for_function(f"{COUNTS}.every(count => count === null)")
        menu(page, "Run", "Run All Cells")
        page.wait_for_function(f"{ERRORS}.length || {COUNTS}.every(Number.isInteger)", timeout=300_000)
        page.wait_for_function(f"{IMAGES}.every(image => image[0])")
        counts, errors, images, wide = (page.evaluate(part) for part in (COUNTS, ERRORS, IMAGES, WIDE))
    finally:
        page.close()

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
SOURCES = "window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel.getSource())"


@contextmanager
def opened(browser, address, name):
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(60_000)
    try:
        page.goto(f"{address}/lab/tree/my_pages/{name}?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.evaluate("window.jupyterapp.shell.currentWidget.context.ready")
        yield page
    finally:
        page.close()


def test_reading_asks_nothing_and_an_answer_outlives_an_update(course, browser, tmp_path):
    with jupyterlab(course, tmp_path) as address:
        for name in ("00_start_here.ipynb", "02_naive.ipynb", "zh_CN/00_start_here.ipynb"):
            with opened(browser, address, name) as page:
                page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status='idle']", state="attached")
                assert not page.evaluate(CHANGED), "JupyterLab thinks that the page was changed"
                page.locator(".lm-TabBar-tab.jp-mod-current .lm-TabBar-tabCloseIcon").first.click()
                page.wait_for_function(f"{QUESTIONS}.length || !{NOTEBOOKS}.length")
                assert page.evaluate(QUESTIONS) == []
        with opened(browser, address, "02_naive.ipynb") as page:
            page.evaluate(SOURCES.replace("getSource()", "setSource('my answer')"))
            page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
            page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    log = (tmp_path / "lab.log").read_text()
    assert not re.search("Skipped|edition|WARNING", log), log
    assert git(course, "status", "--porcelain") == ""

    for name in ("00_start_here.ipynb", "02_naive.ipynb"):
        path = course / "notebooks" / name
        new = nbformat.read(path, as_version=4)
        new.cells[0].source = "# The second edition"
        nbformat.write(new, path)
    commit(course)
    with jupyterlab(course, tmp_path) as address:
        with opened(browser, address, "02_naive.ipynb") as page:
            assert set(page.evaluate(SOURCES)) == {"my answer"}
        with opened(browser, address, "00_start_here.ipynb") as page:
            assert page.evaluate(SOURCES)[0] == "# The second edition"
    (said,) = re.findall("^.* older edition, (.*)$", (tmp_path / "lab.log").read_text(), re.MULTILINE)
    assert said.startswith("which you changed: 02_naive.ipynb. They stay.")
    assert git(course, "status", "--porcelain") == ""
