"""The two texts that go with assignments: README.md for the instructor, README.txt in a zip."""

from attn_edu.course import Chapter


def for_the_instructor(assignments: list[str]) -> str:
    """From a folder of assignments to grades, in five steps."""
    first = assignments[0]
    listed = "\n".join(f"- `{name}`" for name in assignments)
    return f"""\
# Assignments

{listed}

This folder is an nbgrader course. Keep it to yourself: `source/` holds the answers and the
inputs that the points are given on.

1. Look at `source/{first}/{first}.ipynb`: the exercises with their answers and points.
2. Hand out `handout/{first}.zip`, or release `release/{first}` with nbgrader if your students
   have it. Both hold the same notebook, without answers and without hidden tests.
3. Put what comes back here, one folder a student: `submitted/STUDENT/{first}/{first}.ipynb`.
   The names of the folder and of the file must be these. nbgrader's `collect` does that where
   students submit with it, and `zip_collect` for the zip of a learning platform.
4. In the course's folder run `make grade DIR="PATH_OF_THIS_FOLDER"`; without make,
   `python3 -m attn_edu grade "PATH_OF_THIS_FOLDER"`. Submissions that are new, or newer than their
   grade, are run and graded; with `--again` at the end (`ARGS=--again`), all of them.
5. Read `grades.csv` and `summary.html`; give each student the page in `feedback/STUDENT/`.
   Points that you change by hand, in nbgrader's formgrader, stay when you grade again.

Commands of nbgrader itself: run in this folder, with the path of the course in front,
`.venv/bin/python -m attn_edu.assign.tools COMMAND` does what `nbgrader COMMAND` does in its manual.

To add a chapter, or to renew the random inputs of one, assign it again into this folder.
Submissions and grades stay.

## What to know

- An exercise earns all its points or none. Answers are run on random inputs that only `source/`
  and the gradebook know; each page of feedback shows their number, so renew them before a
  second try.
- Grading runs the students' code on your machine with your rights. Do it in a container, or in
  an account that holds nothing else.
- The answers are part of the course: `solution("02.scores")` shows one to everybody. Use the
  points to reward practice, not as an exam.
- Caught: functions that are missing, crash, hang, print or exit; a kernel that dies (that
  notebook ends there, and keeps what it has earned); a cell that shows no points; cells that are
  deleted, edited, copied, or come from another assignment; files beside the notebook that bear
  the names of modules; a changed comparison that lets a known mistake pass; a changed course,
  which is read anew from its files for each graded cell.
- Not caught: code that is written to deceive the check and hides it well, for it runs in the
  same Python (it can read the expected values there); an answer that calls the course's own
  function; memory that fills up. "Worth a look" in the notes of `grades.csv` names cells with
  words that no exercise needs, such as `attn_edu.attention` or `sys.modules`. It takes no points.
- Cells run from top to bottom. A graded cell above the answer finds no function, and gives 0.
"""


def for_the_student(chapter: Chapter) -> str:
    """How to start, with and without nbgrader."""
    name = chapter.file
    return f"""\
{chapter.number} - {chapter.title}: assignment

Unpack this folder inside the folder of the course, beside "notebooks". Start JupyterLab there with

    make lab

or, without make, python3 -m attn_edu lab. Open {name}/{name}.ipynb in its file browser, write your
answers, and run the check under each. You need nothing else; nbgrader is not needed.

Elsewhere: any Jupyter works in whose Python the course is installed (pip install -e . in its
folder). In Colab (colab.research.google.com) upload the notebook, run its first cell of code, which
installs the course there, and in the end download it as .ipynb.

If your class uses nbgrader, your instructor has released the same notebook there: fetch it,
validate it and submit it from nbgrader's menus instead.

Before you hand it in: restart the kernel, run all cells, save. Hand in {name}.ipynb under this
name.
"""
