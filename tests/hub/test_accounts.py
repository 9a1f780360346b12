"""A class of accounts of the machine, as hub/README.md sets it up: one student cannot read another.

It makes two users of the system and takes them away again, for which it has to be root.
"""

import asyncio
import json
import pwd
import subprocess
import tempfile
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bench import classroom
from tests.hub import needs
from tests.hub.real_class import README, settings

ANN, BOB = NAMES = ("student-ann", "student-bob")
ADD = "useradd --create-home --key HOME_MODE=0700"
SAFE = "git config --system --add safe.directory"
FIRST = f"{classroom.COPY}/notebooks/00_start_here.ipynb"
# What Bob's kernel is refused, and what it may: a name for each thing, and how he would do it.
ASKED = {
    "list her home": "os.listdir(home)",
    "read her chapter": "open(f'{home}/' + first).read()",
    "write in her home": "open(f'{home}/mine', 'w')",
    "read her server's token": "open(f'/proc/{pid}/environ').read()",
    "stop her server": "os.kill(pid, 0)",
    "list what the hub keeps": "os.listdir(files)",
    "change the course": "open(f'{course}/hub/start.sh', 'a')",
    "read the course": "len(open(f'{course}/hub/start.sh').read()) > 0",
    "be himself": "os.getuid()",
}
PROBE = """
import json, os
home, first, pid, files, course = {}
answers = {{}}
for name, code in {}.items():
    try:
        answers[name] = eval(code)
    except OSError as error:
        answers[name] = type(error).__name__
print(json.dumps(answers))
"""

SAYS = """
import pathlib, time
pathlib.Path("talking").touch()
while not pathlib.Path("enough").exists():
    print("a secret")
    time.sleep(0.1)
"""
LISTENS = """
import zmq
socket = zmq.Context().socket(zmq.SUB)
socket.connect("tcp://127.0.0.1:{}")
socket.subscribe(b"")
print(socket.poll(5000) > 0)
"""


@pytest.fixture
def accounts():
    needs.a_hub()
    needs.root("to make two users of the system")
    needs.a_python_for_all()
    try:
        for name in NAMES:
            subprocess.run([*ADD.split(), name], check=True)
            secret = f"{name}:{classroom.PASSWORD}"
            subprocess.run(["chpasswd"], input=secret, text=True, check=True)
        yield {name: pwd.getpwnam(name) for name in NAMES}
    finally:
        for name in NAMES:
            subprocess.run(["userdel", "--remove", "--force", name], capture_output=True)


@pytest.fixture
def course():
    """A clone that all can read and that root owns, as Git wants to be told."""
    with tempfile.TemporaryDirectory(prefix="srv-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        course = classroom.copy_of_course(Path(folder))
        subprocess.run([*SAFE.split(), course / ".git"], check=True)
        yield course
        again = SAFE.replace("--add", "--fixed-value --unset-all").split()
        subprocess.run([*again, course / ".git"], check=True)


def test_the_page_says_how_accounts_are_made_and_what_git_wants():
    assert f"{ADD} " in README
    assert f"{SAFE} " in README


def test_one_student_cannot_read_another(accounts, course, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(course))  # the package is read where students can read
    config = settings("localprocess", course / "hub", NAMES)
    with classroom.Hub(tmp_path, course, config=config) as hub:
        asyncio.run(_two_students(hub, course, accounts))


async def _two_students(hub, course, accounts):
    ann, bob = (
        classroom.Student(hub, name, Path(account.pw_dir)) for name, account in accounts.items()
    )
    for student in (ann, bob):
        await student.log_in()
        await student.start()
        await student.pull()
        await student.run(FIRST)
        file = (student.home / FIRST).stat()
        assert file.st_uid == accounts[student.name].pw_uid

    running = subprocess.run(["pgrep", "-u", ANN], capture_output=True, text=True, check=True)
    pid = int(running.stdout.split()[0])
    known = (str(ann.home), FIRST, pid, str(hub.files), str(course))
    assert json.loads(await _says(bob, PROBE.format(known, ASKED))) == {
        **dict.fromkeys(ASKED, "PermissionError"),
        "read the course": True,
        "be himself": accounts[BOB].pw_uid,
    }

    await ann.end_kernels()
    talking = asyncio.create_task(_says(ann, SAYS))
    while not (ann.home / "talking").exists():
        assert not talking.done(), talking.exception()
        await asyncio.sleep(0.1)
    (connection,) = (ann.home / ".local/share/jupyter/runtime").glob("kernel-*.json")
    assert connection.stat().st_mode & 0o077 == 0
    port = json.loads(connection.read_text())["iopub_port"]
    assert await _says(bob, LISTENS.format(port)) == "False"
    (ann.home / "enough").touch()
    assert "a secret" in await talking

    with pytest.raises(RuntimeError, match="was not let in"):
        await classroom.Student(hub, "root").log_in()


async def _says(student, source):
    """What a cell of theirs prints."""
    notebook = new_notebook(cells=[new_code_cell(source)])
    await student.save("asked.ipynb", notebook)
    (cell,) = (await student.run("asked.ipynb")).cells
    return "".join(output.text for output in cell.outputs).strip()
