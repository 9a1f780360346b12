"""A JupyterHub for a class, on one machine: `hub/README.md` says how to start it.

As it stands this is a TRIAL, for yourself: whoever has the password can be anyone, and all students
are one user of the system, who can read each other's files. The last block is what to replace.
"""

import os
import sys
from pathlib import Path
from urllib.parse import urlencode

from attn_edu.course import chapters, repository

c = get_config()  # noqa: F821  (JupyterHub defines it)

HERE = Path(__file__).resolve().parent
# What students' copies are pulled from: this clone, so that chapters and package agree.
COURSE = os.environ.get("CLASS_COURSE", HERE.parent.as_uri())
BRANCH = os.environ.get("CLASS_BRANCH", repository().branch)
COPY = repository().owner_and_name.rpartition("/")[2]  # the folder that links name too
FILES = Path(os.environ.get("CLASS_FILES", Path.home() / "class"))  # homes, and what the hub keeps
PORT = int(os.environ.get("CLASS_PORT", 8000))
IDLE = int(os.environ.get("CLASS_IDLE_SECONDS", 3600))
FIRST = f"lab/tree/{COPY}/notebooks/{chapters()[0].file}.ipynb"

# ---- the hub -----------------------------------------------------------------------------------

FILES.mkdir(mode=0o700, parents=True, exist_ok=True)
c.JupyterHub.bind_url = f"http://127.0.0.1:{PORT}"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{PORT + 1}"
c.JupyterHub.hub_port = PORT + 81
c.JupyterHub.db_url = f"sqlite:///{FILES / 'hub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(FILES / "cookie_secret")
c.ConfigurableHTTPProxy.pid_file = str(FILES / "proxy.pid")
c.JupyterHub.concurrent_spawn_limit = 10  # the rest of the class waits, and is told so
c.JupyterHub.cleanup_servers = True

# A server that nobody used for an hour is stopped. Its files stay; the next login starts it again.
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "services": ["idle-culler"],
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
    }
]
c.JupyterHub.services = [
    {
        "name": "idle-culler",
        "command": [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={IDLE}"],
    }
]

# ---- a student's server ------------------------------------------------------------------------

c.Spawner.cmd = [str(HERE / "start.sh")]
c.Spawner.environment = {
    "COURSE_PYTHON": sys.executable,
    # one thread each: more would only take turns, and give other last digits than the chapters show
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}
c.Spawner.mem_limit = "2G"
c.Spawner.start_timeout = 180  # a whole class starts at once
c.Spawner.http_timeout = 180
# A student comes in through a pull: the first makes their own copy, later ones merge what is new.
c.Spawner.default_url = "/git-pull?" + urlencode(
    {"repo": COURSE, "branch": BRANCH, "targetpath": COPY, "urlpath": FIRST}
)
# Kernels are where the memory is: one that did nothing for an hour ends, its notebook stays open.
# What kernels send is encrypted: everyone on a machine can listen to its ports.
c.Spawner.args = [
    "--KernelManager.transport_encryption=required",
    f"--MappingKernelManager.cull_idle_timeout={IDLE}",
    f"--MappingKernelManager.cull_interval={min(IDLE, 300)}",
    "--MappingKernelManager.cull_connected=True",
]
if os.geteuid() == 0:
    c.Spawner.args.append("--allow-root")  # in a container one is root

# ---- TRIAL ONLY: one password for all, one user of the system for all --------------------------

if len(os.environ.get("CLASS_PASSWORD", "")) < 8:
    sys.exit("Set CLASS_PASSWORD, to 8 characters or more, for the trial: see hub/README.md")
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["CLASS_PASSWORD"]
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(FILES / "homes" / "{username}")
