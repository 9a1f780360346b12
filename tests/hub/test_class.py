"""A real hub on this machine: what students did survives pulls, an idle server, a restart of the
hub, and a cell that wants too much memory, a kernel or a proxy that dies.

It needs the packages of hub/requirements.txt and the hub's proxy, which the course itself does not:
the skip says what is missing. CI has them once a week, in the job `class`.
"""

import asyncio
import copy
import os
import signal
import subprocess

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from bench import classroom
from tests.hub import needs

COPY = classroom.COPY
FIRST = f"{COPY}/notebooks/00_start_here.ipynb"
SECOND = f"{COPY}/notebooks/02_single_head.ipynb"


HUNGRY = "import torch; torch.ones(3 * 10**9, dtype=torch.uint8)"  # 3 GB of 2
KILLED = (
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"  # as Linux does when none is left
)
WAITS = """
import pathlib, time
pathlib.Path("began").touch()
while not pathlib.Path("away").exists():
    time.sleep(0.1)
print("while nobody could listen")
pathlib.Path("said").touch()
"""


@pytest.fixture(scope="module", autouse=True)
def _hub_is_installed():
    needs.a_hub()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("class")


@pytest.fixture(scope="module")
def course(folder):
    return classroom.copy_of_course(folder)


def commit(course, *paths):
    """A change that the instructor makes to what students pull."""
    subprocess.run(["git", "add", "-A", *paths], cwd=course, check=True)
    who = ["-c", "user.name=instructor", "-c", "user.email=instructor@example.org"]
    subprocess.run(["git", *who, "commit", "-q", "-m", "change"], cwd=course, check=True)


def edit(path, number, text):
    """Put a text in place of that cell's."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[number].source = text
    nbformat.write(notebook, path)


def read(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


async def _two_come_in(hub):
    ann, bob = (classroom.Student(hub, name) for name in ("ann", "bob"))
    for student in (ann, bob):
        await student.log_in()
        await student.start()
    await asyncio.gather(ann.pull(), bob.pull())
    return ann, bob


def test_work_survives_pulls_an_idle_server_and_a_restart_of_the_hub(folder, course):
    with classroom.Hub(folder, course) as hub:
        asyncio.run(_pulls(hub, course))
    with classroom.Hub(folder, course, idle=3) as hub:
        asyncio.run(_is_stopped(hub))
    with classroom.Hub(folder, course) as hub:
        asyncio.run(_comes_back(hub))


async def _pulls(hub, course):
    ann, bob = await _two_come_in(hub)
    await ann.run(FIRST)
    edit(ann.home / FIRST, 0, "# Ann's notes")
    edit(ann.home / SECOND, -1, "Ann's last words")
    (ann.home / COPY / "CITATION.cff").unlink()
    (ann.home / COPY / "LICENSE").write_text("Ann's licence")
    (ann.home / COPY / "new.md").write_text("Ann's new file")
    progress = ann.home / COPY / "notebooks/.attn_edu_progress.json"
    progress.write_text('{"02.scores": true}')
    before = read(ann.home / FIRST)

    upstream = read(course / "notebooks/00_start_here.ipynb")
    markdown = [n for n, cell in enumerate(upstream.cells) if cell.cell_type == "markdown"]
    later = markdown[-1]
    edit(course / "notebooks/00_start_here.ipynb", 0, "# A better title")
    edit(course / "notebooks/00_start_here.ipynb", later, "A better last section")
    edit(course / "notebooks/03_multi_head.ipynb", 0, "# A better chapter 03")
    (course / "LICENSE").unlink()
    (course / "new.md").write_text("the course's new file")
    commit(course, ".")
    await asyncio.gather(ann.pull(), bob.pull())

    after, others = read(ann.home / FIRST), read(bob.home / FIRST)
    assert after.cells[0].source == "# Ann's notes"  # both changed it: hers stays
    assert after.cells[later].source == "A better last section"  # only the course did
    for old, new in zip(before.cells, after.cells):
        assert (old.get("outputs"), old.get("execution_count")) == (
            new.get("outputs"),
            new.get("execution_count"),
        )
    assert others.cells[0].source == "# A better title"  # his is untouched by hers
    assert read(ann.home / SECOND).cells[-1].source == "Ann's last words"
    three = ann.home / COPY / "notebooks/03_multi_head.ipynb"
    assert read(three).cells[0].source == "# A better chapter 03"
    assert (ann.home / COPY / "CITATION.cff").exists()  # deleted by her: it comes back
    assert (ann.home / COPY / "LICENSE").read_text() == "Ann's licence"  # deleted by the course
    assert not (bob.home / COPY / "LICENSE").exists()
    assert (ann.home / COPY / "new.md").read_text() == "the course's new file"
    assert progress.read_text() == '{"02.scores": true}'
    renamed = list((ann.home / COPY).glob("new__*.md"))
    assert [path.read_text() for path in renamed] == ["Ann's new file"]


async def _is_stopped(hub):
    bob = classroom.Student(hub, "bob")
    await bob.log_in()
    await bob.start()
    for _ in range(120):
        if not any(classroom.memory(["bob"])["bob"].values()):
            break
        await asyncio.sleep(1)
    else:
        pytest.fail("the idle server was not stopped")
    assert not await bob.is_running()


async def _comes_back(hub):
    ann = classroom.Student(hub, "ann")
    await ann.log_in()
    await ann.start()
    kept = (ann.home / FIRST).read_bytes()
    await ann.pull()
    assert (ann.home / FIRST).read_bytes() == kept
    notebook = await ann.open(FIRST)
    assert notebook.cells[0].source == "# Ann's notes"
    assert any(cell.get("outputs") for cell in notebook.cells)
    await ann.run(FIRST)  # her server goes on


def test_what_was_shown_is_kept_when_memory_ends_or_a_kernel_or_the_proxy_dies(tmp_path, course):
    with classroom.Hub(tmp_path, course) as hub:
        asyncio.run(_accidents(hub))


async def _accidents(hub):
    eve = classroom.Student(hub, "eve")
    await eve.log_in()
    await eve.start()
    await eve.pull()
    await _in_the_middle(eve, HUNGRY, "allocate memory")
    await _in_the_middle(eve, KILLED, "the kernel died")
    await _without_a_proxy(hub, eve)


async def _in_the_middle(student, source, message):
    """A cell ends the run; what the cells above it showed is in the file; the next run works."""
    chapter = await student.open(FIRST)
    code = [n for n, cell in enumerate(chapter.cells) if cell.cell_type == "code" and cell.source]
    middle = code[len(code) // 2]
    broken = copy.deepcopy(chapter)
    broken.cells.insert(middle, new_code_cell(source))
    await student.save(FIRST, broken)
    with pytest.raises(RuntimeError, match=f"cell {middle}: .*{message}"):
        await student.run(FIRST)
    kept = read(student.home / FIRST).cells
    above = [n for n in code if n < middle]
    assert [kept[n].execution_count for n in above] == list(range(1, len(above) + 1))
    assert [len(kept[n].outputs) for n in above] == [len(chapter.cells[n].outputs) for n in above]
    assert all(kept[n + 1].outputs == chapter.cells[n].outputs for n in code if n >= middle)

    await student.save(FIRST, chapter)
    await student.run(FIRST)
    await student.end_kernels()


async def _without_a_proxy(hub, student):
    """The hub starts another; what the kernel said meanwhile arrives."""
    sources = ["print('before')", WAITS, "print('after')"]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    await student.save("away.ipynb", notebook)
    run = asyncio.create_task(student.run("away.ipynb"))
    await _appears(student.home / "began", run)
    pid = hub.files / "proxy.pid"
    os.kill(int(pid.read_text()), signal.SIGKILL)
    (student.home / "away").touch()
    await _appears(student.home / "said", run)
    await run
    shown = [cell.outputs for cell in read(student.home / "away.ipynb").cells]
    assert [[one.text for one in outputs] for outputs in shown] == [
        ["before\n"],
        ["while nobody could listen\n"],
        ["after\n"],
    ]


async def _appears(path, run):
    while not path.exists():
        assert not run.done(), run.exception()
        await asyncio.sleep(0.1)
