"""The blocks of hub/README.md for systemd and for Docker: what a real hub asks of them.

Neither is here. Stand-ins take down what they are asked and start nothing, so the hub gives up
on the student's server; what they were asked is what is tested.
"""

import asyncio
import contextlib
import json
import shlex
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from attn_edu.cli.environment import installed
from bench import classroom
from tests.hub import needs
from tests.hub.real_class import README, settings

NAME = "cleo"
# The blocks ask for GitHub's accounts, which are not at hand; and nothing will start.
TEST = """
c.JupyterHub.authenticator_class = "shared-password"
c.SharedPasswordAuthenticator.user_password = os.environ["CLASS_PASSWORD"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 5
c.JupyterHub.hub_ip = "127.0.0.1"
"""
SYSTEMD_RUN = """#!{python}
import json, pathlib, sys
words = [word for word in sys.argv if word.startswith("--property=EnvironmentFile=")]
environment = pathlib.Path(words[0].rpartition("=")[2]).read_text()
pathlib.Path({asked!r}).write_text(json.dumps([sys.argv[1:], environment]))
"""
SYSTEMCTL = """#!/bin/sh
case "$1" in
--version) echo "systemd 252 (252.39)" ;;
is-active) test -e {asked} ;;
is-failed) false ;;
esac
"""
FURTHER = ("oauthenticator", "jupyterhub-systemdspawner", "dockerspawner")


@pytest.fixture
def config(tmp_path):
    """The settings with a block of the page, in the `hub` folder of a clone."""
    needs.a_hub(*FURTHER)
    course = classroom.copy_of_course(tmp_path)

    def made(spawner):
        path = settings(spawner, course / "hub", (NAME,))
        with path.open("a", encoding="utf-8") as file:
            file.write(TEST)
        return path

    return made


@pytest.mark.parametrize("spawner", ["localprocess", "systemd", "docker"])
def test_every_setting_of_the_page_is_one(spawner, tmp_path, monkeypatch):
    needs.a_hub(*FURTHER)
    from jupyterhub.app import JupyterHub

    monkeypatch.setenv("CLASS_FILES", str(tmp_path / "files"))
    (tmp_path / "hub").mkdir()
    app = JupyterHub(log_level="ERROR")
    app.load_config_file(str(settings(spawner, tmp_path / "hub", (NAME,))))
    classes = [type(app), app.spawner_class, app.authenticator_class, app.proxy_class]
    known = {base.__name__: base for one in classes for base in one.__mro__}
    for name, values in app.config.items():
        for trait in values:
            assert trait in known[name].class_traits(config=True), f"{name}.{trait}"
    assert app.authenticator_class(config=app.config).allowed_users == {NAME}
    assert "SharedPasswordAuthenticator" not in app.config


def test_the_page_names_the_versions_that_are_tested():
    for name in FURTHER:
        if found := installed(name):
            assert f"{name}=={found}" in README


def test_what_systemd_is_asked_for(config, tmp_path, monkeypatch):
    needs.root("to write in /run, as the spawner does")
    programs, asked = tmp_path / "programs", tmp_path / "asked.json"
    programs.mkdir()
    for name, text in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
        (programs / name).write_text(text.format(python=sys.executable, asked=str(asked)))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    unit = f"jupyter-{NAME}-singleuser"
    try:
        _start_a_server(tmp_path, config("systemd"))
    finally:
        subprocess.run(["rm", "-rf", f"/run/{unit}"], check=True)
    words, environment = json.loads(asked.read_text())
    assert words[:4] == ["--unit", unit, "--working-directory", f"/var/lib/{NAME}"]
    properties = dict(word[11:].split("=", 1) for word in words if word.startswith("--property="))
    assert (
        properties.items()
        >= {
            "DynamicUser": "yes",
            "StateDirectory": NAME,
            "PrivateTmp": "yes",
            "NoNewPrivileges": "yes",
            "MemoryMax": str(2 * 1024**3),
            "OOMPolicy": "continue",
        }.items()
    )
    command = [word for word in words[4:] if not word.startswith("--property=")]
    assert Path(command[0]).samefile(tmp_path / "upstream/hub/start.sh")
    assert "--KernelManager.transport_encryption=required" in command
    given = dict(line.split("=", 1) for line in shlex.split(environment))
    assert given["HOME"] == f"/var/lib/{NAME}"
    assert given["COURSE_PYTHON"] == sys.executable
    assert given["MEM_LIMIT"] == str(2 * 1024**3)
    assert given["OMP_NUM_THREADS"] == "1"


def test_what_docker_is_asked_for(config, tmp_path, monkeypatch):
    with _docker() as (address, asked):
        monkeypatch.setenv("DOCKER_HOST", address)
        _start_a_server(tmp_path, config("docker"))
    (made,) = asked
    host = made["HostConfig"]
    assert made["Image"] == "attn-edu"
    assert made["Cmd"][0] == "/srv/attention/hub/start.sh"
    assert "--KernelManager.transport_encryption=required" in made["Cmd"]
    assert host["Memory"] == 2 * 1024**3
    assert host["Binds"] == [f"class-{NAME}:/home/jovyan:rw"]
    assert host["AutoRemove"] is True
    assert host["PortBindings"] == {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": ""}]}
    given = dict(line.split("=", 1) for line in made["Env"])
    assert given["COURSE_PYTHON"] == "python"
    assert given["OMP_NUM_THREADS"] == "1"


def _start_a_server(folder, config):
    """As far as it goes: the stand-ins start nothing."""
    with classroom.Hub(folder, folder / "upstream", config=config) as hub:
        asyncio.run(_ask(hub))


async def _ask(hub):
    cleo = classroom.Student(hub, NAME)
    await cleo.log_in()
    with pytest.raises(RuntimeError, match="did not start"):
        await cleo.start(wait=30)


@contextlib.contextmanager
def _docker():
    """An address, and what a client asks to be created there: as much of Docker as that takes."""
    asked = []

    class Docker(BaseHTTPRequestHandler):
        def answer(self, code, content):
            body = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            ports = {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": "9"}]}
            container = {"Id": "one", "State": {"Running": True}}
            container["NetworkSettings"] = {"Ports": ports, "Networks": {}}
            if self.path.endswith("/version"):
                self.answer(200, {"ApiVersion": "1.44"})
            elif "/images/" in self.path:
                self.answer(200, {"Id": "image", "Config": {}})
            elif asked:
                self.answer(200, container)
            else:
                self.answer(404, {"message": "no such container"})

        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "/containers/create" in self.path:
                asked.append(json.loads(body))
            self.answer(201, {"Id": "one", "Warnings": []})

        def do_DELETE(self):
            self.answer(200, {})

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Docker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"tcp://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
