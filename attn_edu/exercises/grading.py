"""Points for an answer, in a cell that nbgrader grades: all of them, or none."""

import sys
from collections.abc import Callable

from attn_edu.exercises.catalogue import exercise
from attn_edu.exercises.checking import examine
from attn_edu.exercises.definition import Exercise
from attn_edu.exercises.result import Result

RESULT_MIME = "application/vnd.attn-edu.result+json"


def grade(exercise_id: str, answer: Callable | str, points: float, draw: int = 0) -> float:
    """Show what `check` would say on the inputs of that draw, and return the points.

    Nothing that the answer does raises an exception here: a cell that ends with one shows nobody
    what is wrong with the answer.

    Args:
        exercise_id: for example ``"02.scores"``.
        answer: the function, or its name in the notebook, where it may be missing.
        points: what a right answer earns.
        draw: which random numbers the inputs are made of; 0 is the draw of `check`. No known
            mistake may pass on it (`attn_edu.assign.notebook.draws` gives such a draw).

    Returns:
        ``points`` for a right answer, else 0. As the value of a cell it is what nbgrader takes.

    Raises:
        KeyError: an unknown id.
    """
    one = exercise(exercise_id)
    try:
        result = _examined(one, answer, draw)
    except Exception as error:  # the notebook has changed what the check is made of
        result = Result(one.id, "form", f"It could not be graded: {type(error).__name__}.")
    earned = float(points) if result.passed else 0.0
    _show(result, _outcome(one, result, earned, float(points)))
    return earned


def _examined(one: Exercise, answer: Callable | str, draw: int) -> Result:
    if isinstance(answer, str):
        name, answer = answer, _defined(answer)
        if answer is None:
            message = (
                f"There is no function `{name}` in this notebook. Did the cell that defines it run "
                "without an error?"
            )
            return Result(one.id, "form", message)
    result = examine(one, answer, draw)
    if result.passed and not _tells_wrong_from_right(one, draw):
        message = (
            "A known mistake passes in this notebook too: something in it has changed PyTorch or "
            "the check."
        )
        return Result(one.id, "form", message)
    return result


def _defined(name: str) -> object:
    """What the notebook calls by that name; `None` if nothing."""
    return vars(sys.modules["__main__"]).get(name)


def _tells_wrong_from_right(one: Exercise, draw: int) -> bool:
    """Whether each mistake is still seen, after the answer has run in the same process."""
    return not any(examine(one, one.wrong(belief), draw).passed for belief in one.misconceptions)


def _outcome(one: Exercise, result: Result, earned: float, points: float) -> dict:
    """What the class summary reads, as JSON."""
    return {
        "exercise": one.id,
        "status": result.status,
        "misconceptions": _names(one, result),
        "points": earned,
        "out_of": points,
    }


def _names(one: Exercise, result: Result) -> list[str]:
    """The misconceptions of a result, one by one."""
    if result.misconception is None:
        return []
    for group in one.beliefs():
        names = [belief.name for belief in group]
        if " + ".join(names) == result.misconception:
            return names
    return [result.misconception]  # more work than is allowed


def _show(result: Result, outcome: dict) -> None:
    """One output with three forms in a notebook, text elsewhere."""
    try:
        from IPython import get_ipython
        from IPython.display import publish_display_data
    except ImportError:
        get_ipython = lambda: None  # noqa: E731
    if get_ipython() is None:
        print(result)
        return
    forms = {
        "text/plain": str(result),
        "text/html": result._repr_html_(),
        RESULT_MIME: outcome,
    }
    publish_display_data(forms)
