"""Exercises that know what you got wrong: four verbs, and one object an exercise.

``check`` runs your answer and says what it saw, ``hint`` helps a little, ``solution`` tells all,
``progress`` shows how far you are. The objects are in ``chapter_NN.py``.
"""

from attn_edu.exercises.catalogue import exercise, exercises
from attn_edu.exercises.checking import check
from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.records import hint, progress, solution
from attn_edu.exercises.result import Result

__all__ = [
    "Case",
    "Exercise",
    "Misconception",
    "Result",
    "check",
    "exercise",
    "exercises",
    "hint",
    "progress",
    "solution",
]
