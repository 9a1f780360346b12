"""A button that trains a model again, in front of the reader."""

from collections.abc import Callable
from typing import Any

import ipywidgets
from IPython.display import display


class Retrain(ipywidgets.VBox):
    """A button; below it the progress of the training, then what came of it.

    Args:
        run: trains a model of its own and returns what is to be seen: a figure, or words. What it
            prints, progress bars included, stands below the button while it runs.
        label: what the button says; the number of steps or minutes belongs there.

    Attributes:
        result: what ``run`` returned last; ``None`` before.

    Raises:
        TypeError: ``run`` cannot be called.
    """

    def __init__(self, run: Callable[[], Any], label: str = "Train again"):
        if not callable(run):
            raise TypeError(f"run: got {type(run).__name__}; accepted is a function.")
        self._run, self.result = run, None
        self.button = ipywidgets.Button(description=label, icon="refresh")
        self.button.layout.width, self.button.layout.align_self = "auto", "flex-start"
        self.button.on_click(lambda _: self.train())
        self._out = ipywidgets.Output()
        super().__init__([self.button, self._out])

    def train(self) -> Any:
        """What the button does; returns the result."""
        self.button.disabled = True
        self._out.clear_output()
        try:
            with self._out:
                self.result = self._run()
                (print if isinstance(self.result, str) else display)(self.result)
        finally:
            self.button.disabled = False
        return self.result

    def __repr__(self) -> str:
        # ipywidgets keeps 110 characters of it
        return (
            "A button: run this cell, and it trains. Where no widgets show: .train() does the same."
            f" “{self.button.description}”"
        )
