"""What a notebook did to the course is gone before points are given."""

import os
import subprocess
import sys

import pytest

from attn_edu.assign import anew

BEFORE = """
import sys, types
import attn_edu.exercises.checking as checking
import attn_edu.exercises.grading as grading
from attn_edu.exercises.result import Result
"""
AFTER = """
import os
os.makedirs("attn_edu/exercises")
for name in ("__init__", "exercises/__init__", "exercises/grading"):
    open(f"attn_edu/{name}.py", "w").write("raise SystemExit('another course')")
sys.path.insert(0, "")
names = set(globals())
exec(LINE)
assert set(globals()) - {"names"} == names, "it leaves names behind"
from attn_edu.exercises.grading import grade
wrong, right = lambda query, key: query + 1, lambda query, key: query @ key.mT
print("points", *(grade("02.scores", answer, points=2) for answer in (wrong, right)))
"""


@pytest.mark.parametrize(
    "change",
    [
        "",
        "grading.grade = lambda *a, **k: 2.0",
        "grading.examine = lambda one, *a: Result(one.id, 'passed', '')",
        "Result.passed = True",
        "checking.same = lambda *a: True",
        "sys.modules[grading.__name__] = types.SimpleNamespace(grade=lambda *a, **k: 2.0)",
        "sys.modules['attn_edu'] = sys.modules['attn_edu.exercises'] = None",
    ],
)
def test_the_course_of_the_files_gives_the_points(change, tmp_path):
    code = f"LINE = {anew.LINE!r}\n{BEFORE}{change}\n{AFTER}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": anew.ROOT},
        capture_output=True,
        text=True,
    )
    assert done.stdout.endswith("points 0.0 2.0\n"), done.stdout + done.stderr
