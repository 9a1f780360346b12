"""The bill as a plotly figure, with menus of sizes, and a button that measures here."""

from collections.abc import Sequence

import ipywidgets

from attn_edu.costs import KINDS, Measurement, collected, matmul_rate, survey
from attn_edu.figures import the_bill
from attn_edu.views.bill import SHOWN, WHAT

SIZES = {  # argument of `the_bill`: what stands beside its menu, and its choices
    "d_model": ("Width d", (64, 128, 256, 512, 1024)),
    "n_heads": ("Heads", (1, 2, 4, 8, 16)),
    "window": ("Window", (16, 32, 64, 128, 256, 512)),
    "block": ("Block", (16, 32, 64, 128, 256, 512)),
    "rank": ("Rank", (16, 32, 64, 128, 256)),
    "landmarks": ("Landmarks", (16, 32, 64, 128)),
    "features": ("Features", (16, 32, 64, 128, 256)),
    "batch": ("Batch", (1, 2, 4, 8, 16, 32)),
}
START = {
    "d_model": 256, "n_heads": 4, "window": 128, "block": 128, "rank": 128, "landmarks": 64,
    "features": 64, "batch": 1,
}  # fmt: skip
FIXED = {"groups": 2, "latent": 64}
LENGTHS = (128, 256, 512, 1024, 2048)


class BillWithClock(ipywidgets.VBox):
    """Menus of all sizes over `the_bill`, a choice of kinds, and "Measure on my machine".

    What was measured belongs to the sizes of that moment: another size takes it away.

    Args:
        shown: the kinds that are drawn first.
        lengths: where the button measures.

    Attributes:
        chart: the figure that is shown.
        measured: kind -> n -> `Measurement`, after the button.
    """

    def __init__(self, shown: Sequence[str] = SHOWN, lengths: Sequence[int] = LENGTHS):
        self._lengths, self.measured, self._rate = tuple(lengths), {}, None
        self.sizes = {
            name: ipywidgets.Dropdown(options=choices, value=START[name], description=label)
            for name, (label, choices) in SIZES.items()
        }
        self.of = ipywidgets.Dropdown(
            options=[(name, of) for of, name in WHAT.items()], description="Count"
        )
        self.shown = ipywidgets.SelectMultiple(
            options=[(form.label, kind) for kind, form in KINDS.items()],
            value=tuple(shown), description="Kinds", rows=9,
        )  # fmt: skip
        self.button = ipywidgets.Button(description="Measure on my machine", icon="clock-o")
        self.progress = ipywidgets.IntProgress(layout={"visibility": "hidden"})
        self.button.layout.width = "16em"
        self._out = ipywidgets.Output()
        for size in self.sizes.values():
            size.observe(self._forget, names="value")
        for choice in (self.of, self.shown):
            choice.observe(lambda _: self._draw(), names="value")
        self.button.on_click(lambda _: self.measure())
        sizes = ipywidgets.VBox(list(self.sizes.values()))
        choices = ipywidgets.VBox([self.of, self.shown, self.button, self.progress])
        super().__init__([ipywidgets.HBox([sizes, choices]), self._out])
        self._draw()

    def measure(self) -> dict[str, dict[int, Measurement]]:
        """What the button does: a forward pass of each kind that is shown, at each length."""
        kinds = self.shown.value
        self.progress.max, self.progress.value = len(kinds) * len(self._lengths), 0
        self.progress.layout.visibility, self.button.disabled = "visible", True
        try:
            self._rate = matmul_rate()
            self.measured = collected(self._ticking(survey(kinds, self._lengths, **self._values())))
        finally:
            self.progress.layout.visibility, self.button.disabled = "hidden", False
        self._draw()
        return self.measured

    def _ticking(self, found):
        for one in found:
            self.progress.value += 1
            yield one

    def _values(self) -> dict[str, int]:
        return {name: size.value for name, size in self.sizes.items()} | FIXED

    def _forget(self, _) -> None:
        self.measured = {}
        self._draw()

    def _draw(self) -> None:
        if not self.shown.value:
            return
        points = {kind: at for kind, at in self.measured.items() if kind in self.shown.value}
        values = {**self._values(), "shown": self.shown.value, "of": self.of.value}
        self.chart = the_bill(**values, measured=points, rate=self._rate)
        self._out.outputs = ()
        self._out.append_display_data(self.chart)

    def __repr__(self) -> str:
        return (
            "The bill with menus: run this cell. "
            "Where no widgets show: .chart is the picture, .measure() measures."
        )
