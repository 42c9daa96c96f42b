"""Try the room's server with made-up students: all log in, open the same pages and run all cells, at once.

    python teaching/try_server.py --students 8 --pages 00 01 02

It starts JupyterHub in a folder of its own, with teaching/jupyterhub_config.py but for the accounts: students are made
up. Each gets a server from the hub, and runs the pages through that server's own interface, as a browser does. What
every cell prints is compared with the stored page. It prints the longest time of each page, the memory of a student,
what differs, and what was left running.
"""

import argparse
import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

ROOT = Path(__file__).resolve().parent.parent
MACHINES = "nbval-ignore-output"
LONGEST = 900  # seconds that a cell, or the start of a kernel, may take on a machine that all of them share

TRIAL = """
from pathlib import Path
__file__ = {config!r}
exec(Path(__file__).read_text())
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.args = ["--allow-root"] if __import__("os").geteuid() == 0 else []
c.Spawner.pre_spawn_hook = None
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {token!r}
c.JupyterHub.services = [{{"name": "trial", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{"name": "trial", "services": ["trial"],
    "scopes": ["admin:users", "admin:servers", "tokens", "access:servers"]}}]
c.JupyterHub.db_url = "sqlite:///{place}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{place}/cookie"
c.ConfigurableHTTPProxy.pid_file = "{place}/proxy.pid"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{api_port}"
"""


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


class Hub:
    """A JupyterHub in a folder of its own, ended with all that it started."""

    def __init__(self, place):
        self.place, self.token = place, secrets.token_hex(16)
        self.url = f"http://127.0.0.1:{free_port()}"
        (place / "homes").mkdir()
        config = TRIAL.format(
            config=str(ROOT / "teaching" / "jupyterhub_config.py"),
            homes=str(place / "homes"),
            place=place,
            token=self.token,
            hub_port=free_port(),
            api_port=free_port(),
        )
        (place / "config.py").write_text(config)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = dict(os.environ, COURSE_URL=self.url, COURSE_HANDOUT=str(ROOT / "notebooks"), PATH=path)
        with open(place / "log", "wb") as log:
            command = [sys.executable, "-m", "jupyterhub", "-f", str(place / "config.py")]
            self.process = subprocess.Popen(
                command, cwd=place, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    async def ask(self, method, path, body=None, token=None):
        """One request to the hub or a student's server. Returns what it says, from JSON."""
        headers = {"Authorization": f"token {token or self.token}", "Content-Type": "application/json"}
        text = None if method in ("GET", "DELETE") else json.dumps(body or {})
        request = HTTPRequest(self.url + path, method=method, headers=headers, body=text, request_timeout=300)
        answer = await AsyncHTTPClient().fetch(request)
        return json.loads(answer.body) if answer.body.strip().startswith((b"{", b"[")) else None

    async def ready(self):
        """Wait until it answers."""
        for _ in range(240):
            if self.process.poll() is not None:
                raise RuntimeError((self.place / "log").read_text()[-2000:])
            try:
                return await self.ask("GET", "/hub/api")
            except OSError:
                await asyncio.sleep(0.5)
            except Exception as error:
                if getattr(error, "code", 0) not in (404, 502, 503, 599):
                    raise
                await asyncio.sleep(0.5)
        raise RuntimeError("the hub does not answer")

    def children(self):
        """All processes that it has started."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def end(self):
        """End it, as Ctrl-C would. Returns what is still running a while later."""
        mine = self.children()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        _, left = psutil.wait_procs(mine, timeout=30)
        return [" ".join(process.cmdline())[:100] for process in left if process.is_running()]


async def start_student(hub, name):
    """Log in, start a server, wait for it. Returns a token for it."""
    await hub.ask("POST", f"/hub/api/users/{name}")
    token = (await hub.ask("POST", f"/hub/api/users/{name}/tokens", {"note": "trial"}))["token"]
    await hub.ask("POST", f"/hub/api/users/{name}/server")
    while not (await hub.ask("GET", f"/hub/api/users/{name}"))["servers"].get("", {}).get("ready"):
        await asyncio.sleep(0.5)
    return token


async def run_page(hub, name, token, page):
    """Run all cells of a page in a new kernel on the student's server. Returns (seconds, what differs)."""
    start, differs = time.monotonic(), []
    kernel = await hub.ask("POST", f"/user/{name}/api/kernels", {"name": "python3"}, token)
    address = f"{hub.url.replace('http', 'ws')}/user/{name}/api/kernels/{kernel['id']}/channels"
    headers = {"Authorization": f"token {token}"}
    channel = await websocket_connect(
        HTTPRequest(address, headers=headers, connect_timeout=LONGEST, request_timeout=LONGEST), max_message_size=2**28
    )
    for number, cell in enumerate(page["cells"]):
        if cell["cell_type"] != "code":
            continue
        said, failed = await run_cell(channel, "".join(cell["source"]))
        wanted = text_of(cell["outputs"])
        if failed:
            differs.append(f"cell {number} failed: {failed}")
        elif MACHINES not in cell["metadata"].get("tags", []) and said != wanted:
            differs.append(f"cell {number}: {said!r:.300} in place of {wanted!r:.300}")
    channel.close()
    seconds = time.monotonic() - start
    memory = student_memory(hub, name)
    await hub.ask("DELETE", f"/user/{name}/api/kernels/{kernel['id']}", token=token)
    return seconds, memory, differs


async def run_cell(channel, source):
    """(what a cell printed and showed, as text; the error that it raised, or "")."""
    number = secrets.token_hex(8)
    header = {"msg_id": number, "msg_type": "execute_request", "username": "", "session": number, "version": "5.3"}
    content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False, "stop_on_error": True}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    await channel.write_message(json.dumps(message))
    outputs, failed = [], ""
    while True:
        text = await asyncio.wait_for(channel.read_message(), LONGEST)
        if text is None:
            return "", "the server closed the connection"
        said = json.loads(text)
        if said["parent_header"].get("msg_id") != number:
            continue
        kind, content = said["msg_type"], said["content"]
        if kind in ("stream", "execute_result", "display_data"):
            outputs.append(dict(content, output_type=kind))
        elif kind == "error":
            failed = f"{content['ename']}: {content['evalue']}"
        elif kind == "status" and content["execution_state"] == "idle":
            return text_of(outputs), failed


def text_of(outputs):
    """What a reader could read, without what a progress bar leaves, and without numbers that no two runs share."""
    pieces = []
    for output in outputs:
        data = output.get("data", {})
        if output["output_type"] == "stream":
            pieces.append("".join(output["text"]))
        elif "application/vnd.jupyter.widget-view+json" not in data or "image/png" in data:
            pieces.append("".join(data.get("text/markdown", data.get("text/plain", ""))))
    return re.sub(r"0x[0-9a-f]+", "0x", "".join(pieces)).strip()


def student_memory(hub, name):
    """Bytes that the student's server and all below it hold, each shared page divided among those that share it."""
    total = 0
    for process in hub.children():
        try:
            if "singleuser" in " ".join(process.cmdline()) and process.environ().get("JUPYTERHUB_USER") == name:
                family = [process, *process.children(recursive=True)]
                return sum(one.memory_full_info().pss for one in family)
        except psutil.Error:
            continue
    return total


async def one_student(hub, name, pages):
    """A student's afternoon. Returns {page: (seconds, memory, what differs)}."""
    token, done = await start_student(hub, name), {}
    for number, page in pages.items():
        done[number] = await run_page(hub, name, token, page)
        print(f"{name}: page {number} in {done[number][0]:.0f} s", file=sys.stderr, flush=True)
    return done


async def afternoon(hub, students, pages):
    """All students at once."""
    await hub.ready()
    names = [f"student{number:02}" for number in range(students)]
    done = await asyncio.gather(*(one_student(hub, name, pages) for name in names))
    return dict(zip(names, done, strict=True))


def main():
    """Try the server; exit status 1 where anything differs or is left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--students", type=int, default=8)
    parser.add_argument("--pages", nargs="+", default=["00"], metavar="NN")
    options = parser.parse_args()
    paths = [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.name[:2] in options.pages]
    pages = {path.name[:2]: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    if unknown := [page for page in options.pages if page not in pages]:
        parser.error(f"there is no page {' '.join(unknown)}; give numbers such as 00 01")
    if options.students < 1:
        parser.error(f"{options.students} students try nothing; give 1 or more")
    if find_spec("jupyterhub") is None:
        parser.error("JupyterHub is not installed: python3 tools/install.py lab room")
    if shutil.which("configurable-http-proxy") is None:
        parser.error("JupyterHub's proxy is not installed: sudo npm install -g configurable-http-proxy")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that the hub is ended, too
    place = Path(tempfile.mkdtemp(prefix="course-hub-"))
    hub, wrong, left = Hub(place), 0, []
    try:
        done = asyncio.run(afternoon(hub, options.students, pages))
    except Exception:  # the hub's own words say more than what followed from them
        print((place / "log").read_text()[-3000:], file=sys.stderr)
        raise
    finally:
        left = hub.end()
        shutil.rmtree(place, ignore_errors=True)
    for page in pages:
        results = [of[page] for of in done.values()]
        seconds, memory = max(r[0] for r in results), max(r[1] for r in results)
        print(f"page {page}: {len(results)} students, longest {seconds:.0f} s, {memory / 1e6:.0f} MB a student at most")
        for name, of in done.items():
            for difference in of[page][2]:
                wrong += 1
                print(f"  {name}, {difference}")
    if not wrong:
        print("what differs: nothing")
    print("left running:", ", ".join(left) or "nothing")
    return int(bool(wrong or left))


if __name__ == "__main__":
    sys.exit(main())
