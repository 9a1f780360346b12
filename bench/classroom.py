"""A class on the hub of hub/: the hub's process, and students who log in, pull, run and save.

Each student is a client of the same addresses that a browser uses: the login form, the hub's API,
the pull, and the kernel's websocket. Linux only: the memory of processes is read from /proc.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlencode

import nbformat
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from attn_edu.cli.environment import ROOT, installed
from attn_edu.course import repository

PASSWORD = "a password for the trial"
COPY = repository().owner_and_name.rpartition("/")[2]  # the folder of a student's copy
SHOWN = ("stream", "display_data", "execute_result", "error")


def missing(further: Iterable[str] = ()) -> str:
    """What has to be installed before a hub can be started here; empty if nothing.

    `further` are packages that `hub/README.md` names for a real class.
    """
    lines = (ROOT / "hub/requirements.txt").read_text("utf-8").splitlines()
    names = [line.partition("==")[0] for line in lines if line and line[0] != "#"]
    if wanted := [name for name in names if installed(name) is None]:
        return f"{', '.join(wanted)}: pip install -r hub/requirements.txt"
    if wanted := [name for name in further if installed(name) is None]:
        return f"{', '.join(wanted)}: hub/README.md"
    if not shutil.which("configurable-http-proxy"):
        return "configurable-http-proxy: npm install -g configurable-http-proxy"
    return "" if Path("/proc/self/smaps_rollup").exists() else "Linux"


def copy_of_course(folder: Path) -> Path:
    """What students pull from: a copy of the last commit, whose branch is main."""
    upstream = folder / "upstream"
    subprocess.run(["git", "clone", "-q", ROOT, upstream], check=True)
    subprocess.run(["git", "checkout", "-q", "-B", "main"], cwd=upstream, check=True)
    return upstream


class Hub:
    """JupyterHub with these settings, its files in `folder`, until the block ends.

    Raises:
        RuntimeError: if it does not come up within `wait` seconds; the message is its log.
    """

    def __init__(
        self,
        folder: Path,
        course: Path,
        *,
        config: Path = ROOT / "hub/jupyterhub_config.py",
        idle: int = 3600,
        wait: float = 60,
    ):
        self.files, self.course = folder / "class", course.as_uri()
        port = _free_port()
        self.address = f"http://127.0.0.1:{port}"
        settings = {
            "CLASS_PASSWORD": PASSWORD,
            "CLASS_FILES": str(self.files),
            "CLASS_COURSE": self.course,
            "CLASS_PORT": str(port),
            "CLASS_IDLE_SECONDS": str(idle),
        }
        api = f"JUPYTERHUB_API_URL=http://127.0.0.1:{port + 81}/hub/api"  # servers and culler
        self._marks = {f"CLASS_FILES={self.files}".encode(), api.encode()}  # the proxy
        self.log = folder / f"hub-{port}.log"
        with self.log.open("w") as log:
            command = [sys.executable, "-m", "jupyterhub", "-f", config]
            self.process = subprocess.Popen(
                command, env={**os.environ, **settings}, cwd=folder, stdout=log, stderr=log
            )
        end = time.monotonic() + wait
        while "JupyterHub is now running" not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > end:
                self.close()
                raise RuntimeError(f"JupyterHub: {self.log.read_text()[-3000:]}")
            time.sleep(0.2)

    def close(self, wait: float = 120) -> None:
        """Stop the hub, which stops its proxy and the servers; and then what it left behind."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(wait)
        except subprocess.TimeoutExpired:
            self.process.kill()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has ended meanwhile, or is somebody else's
                if self._marks & set((process / "environ").read_bytes().split(b"\0")):
                    os.kill(int(process.name), signal.SIGKILL)

    def __enter__(self) -> "Hub":
        return self

    def __exit__(self, *error) -> None:
        self.close()


class Student:
    """Somebody of the class. `run` works as a browser does: kernel messages in, notebook saved.

    `home` is the folder of their files; without it, that of the trial.
    """

    def __init__(self, hub: Hub, name: str, home: Path | None = None):
        self.hub, self.name = hub, name
        self.home = home or hub.files / "homes" / name
        self.server = f"{hub.address}/user/{name}"
        self.headers = {}

    async def log_in(self) -> None:
        """Through the form; then a token takes the place of the browser's cookies."""
        form = await self._fetch(f"{self.hub.address}/hub/login")
        cookie = next(c for c in form.headers.get_list("Set-Cookie") if c.startswith("_xsrf="))
        xsrf = cookie.partition(";")[0].partition("=")[2]
        fields = {"username": self.name, "password": PASSWORD}
        answer = await self._fetch(
            f"{self.hub.address}/hub/login",
            method="POST",
            headers={"Cookie": f"_xsrf={xsrf}"},
            body=urlencode({**fields, "_xsrf": xsrf}),
            follow_redirects=False,
            raise_error=False,
        )
        if answer.code != 302:
            raise RuntimeError(f"{self.name} was not let in: {answer.code}")
        made = await self._json(
            f"{self.hub.address}/hub/api/users/{self.name}/tokens", "POST", {"auth": fields}
        )
        self.headers = {"Authorization": f"token {made['token']}"}

    async def start(self, wait: float = 180) -> None:
        """Start the server, if it does not run, and wait for it."""
        address = f"{self.hub.address}/hub/api/users/{self.name}"
        end = time.monotonic() + wait
        with contextlib.suppress(HTTPClientError):  # 400: it runs already
            await self._json(f"{address}/server", "POST", {})
        while not await self.is_running():
            if time.monotonic() > end:
                raise RuntimeError(f"the server of {self.name} did not start in {wait} s")
            await asyncio.sleep(0.5)

    async def is_running(self) -> bool:
        """Whether the hub says that the student's server is ready."""
        user = await self._json(f"{self.hub.address}/hub/api/users/{self.name}")
        return bool(user["servers"].get("", {}).get("ready"))

    async def pull(self) -> str:
        """Pull the course; returns what git said.

        Raises:
            RuntimeError: if the pull did not finish; the message is nbgitpuller's.
        """
        query = {"repo": self.hub.course, "branch": "main", "targetpath": COPY}
        answer = await self._fetch(f"{self.server}/git-pull/api?{urlencode(query)}")
        events = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line]
        if events[-1]["phase"] != "finished":
            raise RuntimeError(f"{self.name}: {events[-1]}")
        return "".join(event.get("output", "") for event in events)

    async def open(self, path: str) -> nbformat.NotebookNode:
        """The notebook as it is stored."""
        found = await self._json(f"{self.server}/api/contents/{path}")
        return nbformat.from_dict(found["content"])

    async def save(self, path: str, notebook: nbformat.NotebookNode) -> None:
        """Store a notebook."""
        content = {"type": "notebook", "format": "json", "content": notebook}
        await self._json(f"{self.server}/api/contents/{path}", "PUT", content)

    async def run(self, path: str, timeout: float = 900) -> nbformat.NotebookNode:
        """Open a notebook with a kernel, run its cells without their old outputs, and save it.

        The kernel stays, as it does when a browser is left open.

        Raises:
            RuntimeError: if a cell fails; what was shown until then is saved.
        """
        notebook = await self.open(path)
        wanted = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        session = await self._json(f"{self.server}/api/sessions", "POST", wanted)
        kernel = Kernel(self, session["kernel"]["id"])
        try:
            for number, cell in enumerate(notebook.cells):
                if cell.cell_type == "code" and cell.source.strip():
                    try:
                        await asyncio.wait_for(kernel.run(cell), timeout)
                    except Exception as error:
                        where = f"{self.name}, {path}, cell {number}"
                        raise RuntimeError(f"{where}: {error}") from error
        finally:
            kernel.close()
            await self.save(path, notebook)
        return notebook

    async def end_kernels(self) -> None:
        """Shut down all kernels."""
        for session in await self._json(f"{self.server}/api/sessions"):
            await self._fetch(f"{self.server}/api/sessions/{session['id']}", method="DELETE")

    async def _json(self, address: str, method: str = "GET", content: object = None):
        body = None if content is None else json.dumps(content)
        answer = await self._fetch(address, method=method, body=body)
        return json.loads(answer.body or "null")

    async def _fetch(self, address: str, **options):
        options["headers"] = {**self.headers, **options.get("headers", {})}
        client = AsyncHTTPClient()
        return await client.fetch(address, request_timeout=300, connect_timeout=60, **options)


class Kernel:
    """A connection to a kernel. Where it breaks it is made again, as JupyterLab does: the server
    keeps what the kernel says meanwhile for whoever comes back with the same session."""

    def __init__(self, student: Student, kernel: str):
        session = uuid.uuid4().hex
        address = f"{student.server}/api/kernels/{kernel}/channels?session_id={session}"
        self.request = HTTPRequest(address.replace("http", "ws", 1), headers=student.headers)
        self.socket = None

    async def run(self, cell: nbformat.NotebookNode) -> None:
        """Run a cell, its outputs and number put into it.

        Raises:
            RuntimeError: if the cell fails.
            ConnectionError: if the kernel dies.
        """
        await self._connect()
        name = uuid.uuid4().hex
        header = {"msg_id": name, "msg_type": "execute_request", "username": "", "session": name}
        header |= {"version": "5.3", "date": ""}
        content = {"code": cell.source, "silent": False, "store_history": True}
        content |= {"user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        request = {"header": header, "content": content, "channel": "shell"}
        await self.socket.write_message(
            json.dumps({**request, "parent_header": {}, "metadata": {}})
        )
        cell.outputs, waiting = [], {"reply", "idle"}
        while waiting:
            message = await self._next()
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] in ("restarting", "dead"):
                raise ConnectionError("the kernel died")
            if message["parent_header"].get("msg_id") != name:
                continue
            if kind == "execute_reply":
                cell.execution_count = content["execution_count"]
                waiting.discard("reply")
            elif kind == "status" and content["execution_state"] == "idle":
                waiting.discard("idle")
            elif kind in SHOWN:
                cell.outputs.append(nbformat.v4.output_from_msg(message))
                if kind == "error":
                    raise RuntimeError(f"{content['ename']}: {content['evalue']}")

    def close(self) -> None:
        """Close the connection; the kernel stays."""
        if self.socket:
            self.socket.close()

    async def _next(self) -> dict:
        while True:
            text = await self.socket.read_message()
            if text is None:  # the connection broke
                self.socket = None
                await self._connect()
            elif not isinstance(text, bytes):  # those are a widget's buffers
                return json.loads(text)

    async def _connect(self, wait: float = 60) -> None:
        end = time.monotonic() + wait
        while self.socket is None:
            try:
                self.socket = await websocket_connect(self.request, max_message_size=2**28)
            except (OSError, HTTPClientError):
                if time.monotonic() > end:
                    raise
                await asyncio.sleep(0.5)


def memory(names: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Student -> "server" and "kernels" -> megabytes: "rss", "pss" and "private" as they
    are now, "peak" the highest rss so far, "data" what `ulimit -d` counts."""
    found = {name: {"server": {}, "kernels": {}} for name in names}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            settings = (process / "environ").read_bytes().split(b"\0")
            name = next(
                (s[16:].decode() for s in settings if s.startswith(b"JUPYTERHUB_USER=")), ""
            )
            if name not in found:
                continue
            kind = "kernels" if b"ipykernel" in (process / "cmdline").read_bytes() else "server"
            for what, size in _sizes(process).items():
                found[name][kind][what] = found[name][kind].get(what, 0) + size
        except OSError:
            continue  # it has ended meanwhile, or is somebody else's
    return found


def _sizes(process: Path) -> dict[str, float]:
    lines = (process / "smaps_rollup").read_text().splitlines()[1:]
    kb = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    lines = (process / "status").read_text().splitlines()
    kb |= {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith("Vm")}
    private = kb["Private_Clean"] + kb["Private_Dirty"]
    sizes = {"rss": kb["Rss"], "pss": kb["Pss"], "private": private, "peak": kb["VmHWM"]}
    return {name: size * 1024 / 1e6 for name, size in {**sizes, "data": kb["VmData"]}.items()}


def _free_port() -> int:
    """A port below the range of passing connections; the hub takes two more, 1 and 81 above it."""
    for port in range(20_000 + os.getpid() % 5000, 32_000, 7):
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for one in (port, port + 1, port + 81):
                held.enter_context(socket.socket()).bind(("127.0.0.1", one))
            return port
    raise RuntimeError("no free ports between 20000 and 32000")
