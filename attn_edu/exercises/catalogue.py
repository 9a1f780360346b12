"""All exercises of the course, by id. A new chapter is one more import here."""

from attn_edu.exercises import (
    chapter_01,
    chapter_02,
    chapter_03,
    chapter_04,
    chapter_05,
    chapter_06,
    chapter_07,
    chapter_08,
    chapter_09,
    chapter_10,
    chapter_11,
    chapter_12,
    chapter_13,
)
from attn_edu.exercises.definition import Exercise

_CHAPTERS = (
    chapter_01,
    chapter_02,
    chapter_03,
    chapter_04,
    chapter_05,
    chapter_06,
    chapter_07,
    chapter_08,
    chapter_09,
    chapter_10,
    chapter_11,
    chapter_12,
    chapter_13,
)
_EXERCISES = {one.id: one for chapter in _CHAPTERS for one in chapter.EXERCISES}


def exercises() -> list[Exercise]:
    """All of them, in the order of the course."""
    return list(_EXERCISES.values())


def exercise(exercise_id: str) -> Exercise:
    """One exercise by its id, for example ``"02.scores"``.

    Raises:
        KeyError: an unknown id.
    """
    try:
        return _EXERCISES[exercise_id]
    except (KeyError, TypeError):
        accepted = ", ".join(_EXERCISES)
        raise KeyError(f"exercise_id: got {exercise_id!r}; accepted are {accepted}") from None
