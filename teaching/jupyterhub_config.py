"""One server for a room: JupyterHub starts the course for each student who logs in, on one machine, without Docker.

    sudo COURSE_HANDOUT=/srv/handout .venv/bin/jupyterhub -f teaching/jupyterhub_config.py

Students log in with their accounts on the machine (PAM). Each gets a copy of the hand-out, without its solutions, in
the folder `matmul-ladder` of their home; what is there already is left alone. `teaching/try_server.py` tries the server
with students that are made up.
"""

import os
import shutil
import sys
from pathlib import Path

GIGABYTE = 2**30
HANDOUT = Path(os.environ.get("COURSE_HANDOUT", "handout")).resolve()
MEMORY = float(os.environ.get("COURSE_GB", "3")) * GIGABYTE  # a student; teaching/README.md says how it was found
PAGES = sorted(path.name for path in HANDOUT.glob("[0-9]*.ipynb"))
if not PAGES:
    sys.exit(f"There are no pages in {HANDOUT}. Run make handout first, or name their folder: COURSE_HANDOUT=FOLDER")
TASKS = 1500  # a student: processes and threads; the simulator starts a thread for each of a block
for place in (Path(sys.executable).resolve(), Path(sys.prefix).resolve()):
    if closed := [folder for folder in place.parents if not folder.stat().st_mode & 0o001]:
        print(f"warning: students' accounts cannot use {place}: {closed[-1]} is closed to them", file=sys.stderr)

c = get_config()  # noqa: F821, JupyterHub defines it

c.JupyterHub.bind_url = os.environ.get("COURSE_URL", "http://:8000")
c.JupyterHub.authenticator_class = "pam"
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Authenticator.allow_all = True  # whoever has an account on the machine
c.Spawner.cmd = [str(Path(sys.executable).parent / "jupyterhub-singleuser")]  # the course's own environment
c.Spawner.default_url = f"/lab/tree/matmul-ladder/{PAGES[0]}"
c.Spawner.http_timeout = c.Spawner.start_timeout = 120  # thirty servers that start at once take their time
c.JupyterHub.concurrent_spawn_limit = 8
c.JupyterHub.shutdown_on_logout = True


def limits():
    """In the student's server, before it begins: what the system holds for it and all that it starts."""
    import resource

    resource.setrlimit(resource.RLIMIT_NPROC, (TASKS, TASKS))
    resource.setrlimit(resource.RLIMIT_DATA, (int(8 * MEMORY), int(8 * MEMORY)))  # reserved, of which little is used
    os.nice(5)  # so that the hub itself always answers


c.LocalProcessSpawner.popen_kwargs = {"preexec_fn": limits}


def copy_handout(spawner):
    """Give a student the pages, once."""
    target = Path(f"~{spawner.user.name}").expanduser() / "matmul-ladder"
    if not target.exists():
        shutil.copytree(HANDOUT, target, ignore=shutil.ignore_patterns("solutions", ".*"))
        for path in [target, *target.rglob("*")]:
            shutil.chown(path, spawner.user.name)


c.Spawner.pre_spawn_hook = copy_handout

# With systemd, hold each student's memory and processor as a whole, which no limit of a single process can:
#     pip install jupyterhub-systemdspawner
#     c.JupyterHub.spawner_class = "systemd"
#     c.SystemdSpawner.mem_limit = "3G"
#     c.SystemdSpawner.cpu_limit = 2.0
#     c.SystemdSpawner.unit_extra_properties = {"TasksMax": "1500"}
