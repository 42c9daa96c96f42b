"""One server for a room: JupyterHub starts the course for each student who logs in, on one machine, without Docker.

    sudo COURSE_HANDOUT=/srv/handout .venv/bin/jupyterhub -f teaching/jupyterhub_config.py

Students log in with their accounts on the machine (PAM). Each gets a copy of the hand-out, without its solutions, in
the folder `matmul-ladder` of their home; what is there already is left alone. `teaching/try_server.py` tries the server
with students that are made up.
"""

import asyncio
import io
import os
import pwd
import sys
import zipfile
from pathlib import Path

GIGABYTE = 2**30
HANDOUT = Path(os.environ.get("COURSE_HANDOUT", "handout")).resolve()
MEMORY = float(os.environ.get("COURSE_GB", "3")) * GIGABYTE  # a student; teaching/README.md says how it was found
PAGES = sorted(path.name for path in HANDOUT.glob("[0-9]*.ipynb"))
if not PAGES:
    sys.exit(f"There are no pages in {HANDOUT}. Run make handout first, or name their folder: COURSE_HANDOUT=FOLDER")
SECONDS = 60  # to copy the hand-out
TASKS = 1500  # a student: processes and threads; OpenMP, OpenCL and JupyterLab start many
COURSE = Path(sys.executable).resolve(), Path(sys.prefix).resolve()
for place in (HANDOUT, *COURSE):  # root runs what lies there, and gives it out
    # In a folder like /tmp, which has the sticky bit, nobody can put anything in the place of what is another's.
    if opened := [folder for folder in (place, *place.parents) if folder.stat().st_mode & 0o1002 == 0o002]:
        sys.exit(f"Everybody may write in {opened[0]}, and the server trusts {place}. Run: sudo chmod o-w {opened[0]}")
for place in COURSE:
    if closed := [folder for folder in place.parents if not folder.stat().st_mode & 0o001]:
        print(f"warning: students' accounts cannot use {place}: {closed[-1]} is closed to them", file=sys.stderr)

# The hub's database holds who is logged in. What a student's server writes is the student's alone, too.
os.umask(0o077)

c = get_config()  # noqa: F821, JupyterHub defines it

c.JupyterHub.bind_url = os.environ.get("COURSE_URL", "http://:8000")
c.JupyterHub.authenticator_class = "pam"
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Authenticator.allow_all = True  # whoever has an account on the machine
# The course's own environment, behind what the system holds for a student's server and all that it starts. Both run as
# the student. A `preexec_fn` among `popen_kwargs` would take the place of JupyterHub's own, which makes a student of
# root: the server would run as root.
c.Spawner.cmd = [
    *("prlimit", f"--nproc={TASKS}", f"--data={int(8 * MEMORY)}"),  # reserved memory, of which little is used
    *("nice", "-n", "5"),  # so that the hub itself always answers
    str(Path(sys.executable).parent / "jupyterhub-singleuser"),
]
c.Spawner.default_url = f"/lab/tree/matmul-ladder/{PAGES[0]}"
# A page that was only read is closed without a question, and nobody is asked about news.
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": str(Path(__file__).resolve().parent.parent / "tools" / "jupyter")}
c.Spawner.http_timeout = c.Spawner.start_timeout = 120  # thirty servers that start at once take their time
c.JupyterHub.concurrent_spawn_limit = 8
c.JupyterHub.shutdown_on_logout = True

# Run as the student, with the home as its argument. A copy that was cut off has another name, and is none.
UNPACK = """
import io, os, sys, tempfile, zipfile
os.chdir(sys.argv[1])
if not os.path.lexists("matmul-ladder"):
    part = tempfile.mkdtemp(prefix=".matmul-ladder-", dir=".")
    zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())).extractall(part)
    os.rename(part, "matmul-ladder")
"""


def packed():
    """The hand-out as the bytes of a zip, without solutions, what is hidden, and links."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", strict_timestamps=False) as file:
        for path in HANDOUT.rglob("*"):
            inside = path.relative_to(HANDOUT)
            left_out = any(part == "solutions" or part.startswith(".") for part in inside.parts)
            if path.is_file() and not path.is_symlink() and not left_out:
                file.write(path, inside)
    return made.getvalue()


async def copy_handout(spawner):
    """Give a student the pages, once. Raises RuntimeError where that fails.

    Root reads the hand-out, and the student writes the copy: whoever owns a home may put a link there at any moment,
    and root would follow it. The child is given no environment, since its owner may look into it.
    """
    student = pwd.getpwnam(spawner.user.name)
    groups = os.getgrouplist(student.pw_name, student.pw_gid)
    as_student = dict(user=student.pw_uid, group=student.pw_gid, extra_groups=groups) if os.geteuid() == 0 else {}
    command = [sys.executable, "-IS", "-c", UNPACK, student.pw_dir]
    child = await asyncio.create_subprocess_exec(*command, env={}, cwd="/", stdin=asyncio.subprocess.PIPE, **as_student)
    try:
        await asyncio.wait_for(child.communicate(packed()), SECONDS)
    except TimeoutError:  # a student may stop what is the student's
        child.kill()
        await child.wait()
    if child.returncode:
        raise RuntimeError(f"{student.pw_name} has no copy of the hand-out; the lines above say why")


c.Spawner.pre_spawn_hook = copy_handout

# With systemd, hold each student's memory and processor as a whole, which no limit of a single process can:
#     pip install jupyterhub-systemdspawner
#     c.JupyterHub.spawner_class = "systemd"
#     c.SystemdSpawner.mem_limit = "3G"
#     c.SystemdSpawner.cpu_limit = 2.0
#     c.SystemdSpawner.unit_extra_properties = {"TasksMax": "1500"}
