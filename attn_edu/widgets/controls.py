"""The form of a `Playground`, as a widget."""

from importlib.resources import files

import anywidget
import traitlets


class Controls(anywidget.AnyWidget):
    """The page sets what is asked; Python sets what was answered."""

    _esm = (files(__package__) / "playground.js").read_text("utf-8")
    _fixed = traitlets.Dict().tag(sync=True)  # label, models, examples, mark
    _asked = traitlets.Dict().tag(sync=True)  # text, model, number
    _answered = traitlets.Dict().tag(sync=True)  # text, model, said, and the number of the question
