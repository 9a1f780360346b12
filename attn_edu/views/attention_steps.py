"""Attention step by step: scores, scaled, masked, softmax, times value."""

from __future__ import annotations

import math

import numpy as np

from attn_edu.views import picture
from attn_edu.views.payload import as_array, as_mask, pack
from attn_edu.views.view import View, positive, positive_int, words

MASKS = ("none", "causal", "window", "block", "given")
LONGEST = 1024


def named_mask(name: str, n: int, size: int) -> np.ndarray | None:
    """A mask of `attn_edu.attention` by name, ``(n, n)``, True = may attend; None for "none"."""
    from attn_edu.attention import block_mask, causal_mask, sliding_window_mask

    if name == "none":
        return None
    makers = {
        "causal": lambda: causal_mask(n),
        "window": lambda: sliding_window_mask(n, size),
        "block": lambda: block_mask(n, size),
    }
    return makers[name]().numpy()


def compute_stages(query, key, value, mask, scale: float, temperature: float) -> dict:
    """Every stage in float64, from the attention of this package.

    ``scores``, ``scaled``, ``masked`` (-inf where hidden) and ``weights`` are ``(n, n)``, ``output``
    is ``(n, d_v)``. The page computes the same with `js/math.js`.
    """
    import torch

    from attn_edu.attention import attention_map, scaled_dot_product_attention

    query, key, value = (torch.tensor(x, dtype=torch.float64) for x in (query, key, value))
    mask = None if mask is None else torch.tensor(mask)
    options = {"mask": mask, "scale": scale / temperature}
    scores = query @ key.mT
    scaled = scores * options["scale"]
    masked = scaled if mask is None else scaled.masked_fill(~mask, -torch.inf)
    weights = attention_map(scaled_dot_product_attention, query, key, **options)
    output = scaled_dot_product_attention(query, key, value, **options)
    names = ("scores", "scaled", "masked", "weights", "output")
    return {name: x.numpy() for name, x in zip(names, (scores, scaled, masked, weights, output))}


class AttentionSteps(View):
    """One head of attention in five pictures that a reader can move.

    Sliders for the temperature and for what the scores are divided by, a menu for the mask; the page does the
    arithmetic itself, in float64, and one word can be followed through every step.

    Args:
        query, key: ``(n, d)``; value: ``(n, d_v)``: tensors, arrays or lists of finite numbers, n at most 1,024.
        tokens: the n words; positions when absent.
        mask: boolean, broadcasts to ``(n, n)``, True = may attend; or the name of the mask to start with:
            ``"none"``, ``"causal"``, ``"window"`` or ``"block"``.
        temperature: scores are divided by it; above 1 flattens the weights, below 1 sharpens them.
        scale: scores are multiplied by it; 1 / sqrt(d) when absent (Vaswani et al., 2017).
        title: a caption.
        size: words in a window (the word itself included) or in a block.

    Raises:
        ValueError: shapes that do not fit each other, numbers that are not finite, a temperature or scale that is
            not positive, an unknown mask, labels that do not fit.
        TypeError: a mask that is neither boolean nor a name.

    Example:
        >>> AttentionSteps([[1., 0.], [0., 1.]], [[1., 0.], [0., 1.]], [[1., 2.], [3., 4.]], ["good", "day"])
        Attention step by step, 2 words, d = 2, scale 0.707, temperature 1, mask none: “good” looks most at “good” (0.67).
    """

    _entry, _start = "steps", "mountSteps"

    def __init__(
        self,
        query,
        key,
        value,
        tokens=None,
        *,
        mask=None,
        temperature=1.0,
        scale=None,
        title=None,
        size=2,
    ):
        self.query, self.key, self.value = (
            as_array(x, name) for x, name in ((query, "query"), (key, "key"), (value, "value"))
        )
        for name in ("query", "key", "value"):
            array = getattr(self, name)
            if array.ndim != 2 or array.size == 0:
                raise ValueError(
                    f"{name} must have shape (n, d), got {array.shape}: choose one sentence and one head"
                )
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite, got NaN or inf")
        n, d = self.query.shape
        if self.key.shape != (n, d):
            raise ValueError(f"key must have the shape of query, {(n, d)}, got {self.key.shape}")
        if len(self.value) != n:
            raise ValueError(f"value must have {n} rows, as query and key, got {len(self.value)}")
        if n > LONGEST:
            raise ValueError(f"query must have at most {LONGEST} rows, got {n}")
        self.tokens = words(tokens, n)
        self.size = positive_int(size, "size")
        self.given = None
        if mask is None or isinstance(mask, str):
            self.mask = mask or "none"
            if self.mask not in MASKS[:-1]:
                raise ValueError(f"mask must be boolean or one of {MASKS[:-1]}, got {mask!r}")
        else:
            self.given, self.mask = np.broadcast_to(as_mask(mask, (n, n)), (n, n)), "given"
        self.temperature = positive(temperature, "temperature")
        self.scale = 1 / math.sqrt(d) if scale is None else positive(scale, "scale")
        self.title = title

    def stages(self) -> dict[str, np.ndarray]:
        """The numbers of every panel, in float64, as `compute_stages` gives them."""
        mask = (
            self.given
            if self.mask == "given"
            else named_mask(self.mask, len(self.tokens), self.size)
        )
        return compute_stages(self.query, self.key, self.value, mask, self.scale, self.temperature)

    @property
    def shape(self) -> tuple[int, int]:
        """How many words ask, and how many are looked at: the same."""
        return len(self.tokens), len(self.tokens)

    def live(self):
        """The same view as a widget (`attn_edu.views.live.LiveSteps`); needs a kernel to answer."""
        from attn_edu.views.live import LiveSteps

        names = ("query", "key", "value", "tokens", "given", "title")
        return LiveSteps(self, {name: getattr(self, name) for name in names})

    # ---- words ------------------------------------------------------------------------------------

    def _setting(self) -> str:
        n, d = self.query.shape
        mask = f"{self.mask} of {self.size}" if self.mask in ("window", "block") else self.mask
        return f"{n} words, d = {d}, scale {self.scale:.3g}, temperature {self.temperature:.3g}, mask {mask}"

    def _look(self, w: np.ndarray, i: int) -> str:
        if not w[i].any():
            return f"“{self.tokens[i]}” may look at no word"
        j = int(w[i].argmax())
        return f"“{self.tokens[i]}” looks most at “{self.tokens[j]}” ({w[i, j]:.2f})"

    def summary(self) -> str:
        """One sentence: the setting, and where the first word looks most."""
        return (
            f"Attention step by step, {self._setting()}: {self._look(self.stages()['weights'], 0)}."
        )

    def describe(self) -> str:
        """The five panels in words; also the text for a screen reader."""
        at = self.stages()
        w, scores, scaled = at["weights"], at["scores"], at["scaled"]
        what = self.title + ". " if self.title else ""
        looks = "; ".join(self._look(w, i) for i in range(min(8, len(w))))
        hidden = int(np.isneginf(at["masked"]).sum())
        return (
            f"{what}Attention step by step, {self._setting()}. Scores from {scores.min():.2f} to {scores.max():.2f};"
            f" scaled, from {scaled.min():.2f} to {scaled.max():.2f}; {hidden} of {w.size} cells masked."
            f" Weights: {looks}{'' if len(w) <= 8 else '; and so on'}."
        )

    # ---- parts of the output ------------------------------------------------------------------------

    def _caption(self) -> str:
        return self.title or "Attention step by step"

    def _table(self):
        w, t = self.stages()["weights"], self.tokens
        if len(t) <= 16:
            return (
                "Weights after the softmax",
                ["word", *t],
                [[t[i], *(f"{x:.3f}" for x in w[i])] for i in range(len(t))],
            )
        order = np.argsort(-w, -1, kind="stable")[:, :3]
        rows = [
            [t[i], *(f"{t[j]} {w[i, j]:.3f}" for j in order[i])] for i in range(min(len(t), 128))
        ]
        cut = "" if len(t) <= 128 else f" (the first 128 of {len(t)} words)"
        return f"The three largest weights of each word{cut}", ["word", "1st", "2nd", "3rd"], rows

    def _svg(self) -> str:
        at, t = self.stages(), self.tokens
        few = len(t) <= 12
        hidden = np.isneginf(at["masked"])
        titles = (
            "1  scores",
            "2  scaled",
            f"3  masked: {self.mask}",
            "4  softmax",
            "5  weights × value",
        )
        panels = []
        for name, title in zip(at, titles, strict=True):
            values = np.where(hidden, 0.0, at[name]) if name == "masked" else at[name]
            dim = name == "output"
            cols = [] if dim else t
            panels.append(
                picture.heat(
                    values,
                    rows=t,
                    cols=cols,
                    title=title,
                    side=420 if few else 280,
                    largest=38,
                    colour="score" if name != "weights" else ("linear" if len(t) <= 20 else "sqrt"),
                    numbers=few and values.shape[1] <= 12,
                    hidden=hidden if name in ("masked", "weights") else None,
                )  # fmt: skip
            )
        return picture.side_by_side(panels)

    def _payload(self) -> dict:
        n, d = self.query.shape
        return {
            "name": "attention-steps",
            "n": n, "d": d, "dv": self.value.shape[1], "tokens": self.tokens, "size": self.size,
            "query": pack(self.query, exact=True), "key": pack(self.key, exact=True), "value": pack(self.value, exact=True),
            "given": None if self.given is None else pack(self.given),
            "mask": self.mask, "temperature": self.temperature, "scale": self.scale, "selection": [0, None],
        }  # fmt: skip
