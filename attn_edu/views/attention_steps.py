"""Attention step by step: scores, scaled, masked, softmax, times value."""

from __future__ import annotations

import math

import numpy as np

from attn_edu.views.checks import (
    as_array,
    as_count,
    as_mask,
    as_positive,
    as_title,
    as_words,
    one_of,
)
from attn_edu.views.payload import pack
from attn_edu.views.picture import heat, side_by_side
from attn_edu.views.view import View, looks, weights_table

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

    ``scores``, ``scaled``, ``masked`` (-inf where hidden) and ``weights`` are ``(n, n)``,
    ``output`` is ``(n, d_v)``. The page computes the same with `js/math.js`.
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

    Sliders for the temperature and for what the scores are divided by, and a menu for the mask.
    The page does the arithmetic itself, in float64; one word can be followed through every step.

    Args:
        query, key: ``(n, d)``; value: ``(n, d_v)``: tensors, arrays or lists of finite numbers,
            n at most 1,024.
        tokens: the n words; positions when absent.
        mask: boolean, broadcasts to ``(n, n)``, True = may attend; or the name of the mask to
            start with: "none", "causal", "window" or "block".
        temperature: scores are divided by it; above 1 flattens the weights, below 1 sharpens.
        scale: scores are multiplied by it; 1 / sqrt(d) when absent (Vaswani et al., 2017).
        title: a caption.
        size: words in a window (the word itself included) or in a block.

    Raises:
        ValueError: shapes that do not fit each other, numbers that are not finite, a temperature
            or scale that is not positive, an unknown mask, labels that do not fit.
        TypeError: a mask that is neither boolean nor a name.

    Example:
        >>> AttentionSteps([[2.0], [0.0]], [[1.0], [0.0]], [[1.0], [3.0]], ["good", "day"])
        Attention step by step, 2 words, d = 1, scale 1, temperature 1, mask none: “good” looks \
most at “good” (0.88).
    """

    _entry, _start = "steps", "mountSteps"

    def __init__(
        self, query, key, value, tokens=None, *, mask=None,
        temperature=1.0, scale=None, title=None, size=2,
    ):  # fmt: skip
        self.query, self.key = _matrix(query, "query"), _matrix(key, "key")
        self.value = _matrix(value, "value")
        n, d = self.query.shape
        if self.key.shape != (n, d):
            raise ValueError(f"key must have query's shape {(n, d)}, got {self.key.shape}")
        if len(self.value) != n:
            raise ValueError(f"value must have {n} rows, as query, got {len(self.value)}")
        self.tokens = as_words(tokens, n)
        self.size = as_count(size, "size")
        self.given = None
        if mask is None or isinstance(mask, str):
            self.mask = one_of(mask or "none", MASKS[:-1], "mask")
        else:
            self.given, self.mask = np.broadcast_to(as_mask(mask, (n, n)), (n, n)), "given"
        self.temperature = as_positive(temperature, "temperature")
        self.scale = 1 / math.sqrt(d) if scale is None else as_positive(scale, "scale")
        self.title = as_title(title)

    @property
    def shape(self) -> tuple[int, int]:
        """How many words ask, and how many are looked at: the same."""
        return len(self.tokens), len(self.tokens)

    def live(self):
        """The same view as a widget, `attn_edu.views.live.LiveSteps`: it needs a kernel."""
        from attn_edu.views.live import LiveSteps

        names = ("query", "key", "value", "tokens", "given", "title")
        return LiveSteps(self, {name: getattr(self, name) for name in names})

    def stages(self) -> dict[str, np.ndarray]:
        """The numbers of every panel, in float64, as `compute_stages` gives them."""
        named = self.mask != "given"
        mask = named_mask(self.mask, len(self.tokens), self.size) if named else self.given
        settings = (mask, self.scale, self.temperature)
        return compute_stages(self.query, self.key, self.value, *settings)

    # ---- words ----------------------------------------------------------------------------------

    def _setting(self) -> str:
        n, d = self.query.shape
        mask = f"{self.mask} of {self.size}" if self.mask in ("window", "block") else self.mask
        words = f"{n} words" if n > 1 else "1 word"
        scaling = f"scale {self.scale:.3g}, temperature {self.temperature:.3g}"
        return f"Attention step by step, {words}, d = {d}, {scaling}, mask {mask}"

    def summary(self) -> str:
        """One sentence: the setting, and where the first word looks most."""
        weights = self.stages()["weights"]
        return f"{self._setting()}: {looks(weights, 0, self.tokens, self.tokens)}."

    def describe(self) -> str:
        """The five panels in words; also the text for a screen reader."""
        at = self.stages()
        w, scores, scaled = at["weights"], at["scores"], at["scaled"]
        some = [looks(w, i, self.tokens, self.tokens) for i in range(min(8, len(w)))]
        hidden = int(np.isneginf(at["masked"]).sum())
        return (
            f"{self.title + '. ' if self.title else ''}{self._setting()}."
            f" Scores from {scores.min():.2f} to {scores.max():.2f};"
            f" scaled, from {scaled.min():.2f} to {scaled.max():.2f};"
            f" {hidden} of {w.size} cells masked."
            f" Weights: {'; '.join(some)}{'' if len(w) <= 8 else '; and so on'}."
        )

    # ---- parts of the output --------------------------------------------------------------------

    def _caption(self) -> str:
        return self.title or "Attention step by step"

    def _table(self):
        what = "Weights after the softmax"
        return weights_table(self.stages()["weights"], self.tokens, self.tokens, what)

    def _svg(self) -> str:
        at, few = self.stages(), len(self.tokens) <= 12
        hidden = np.isneginf(at["masked"])
        at["masked"] = np.where(hidden, 0.0, at["masked"])
        titles = {
            "scores": "1 scores",
            "scaled": "2 scaled",
            "masked": f"3 masked: {self.mask}",
            "weights": "4 softmax",
            "output": "5 output: weights × value",
        }
        weight_colour = "linear" if len(self.tokens) <= 20 else "sqrt"
        return side_by_side(
            heat(
                at[name],
                rows=self.tokens,
                cols=() if name == "output" else self.tokens,
                title=title,
                side=420 if few else 280,
                largest=38,
                colour=weight_colour if name == "weights" else "score",
                numbers=few and at[name].shape[1] <= 12,
                hidden=hidden if name in ("masked", "weights") else None,
            )
            for name, title in titles.items()
        )

    def _payload(self) -> dict:
        arrays = {name: pack(getattr(self, name), exact=True) for name in ("query", "key", "value")}
        settings = ("mask", "size", "temperature", "scale", "tokens")
        return {
            "name": "attention-steps",
            "n": len(self.tokens),
            "d": self.query.shape[1],
            "dv": self.value.shape[1],
            **arrays,
            "given": None if self.given is None else pack(self.given),
            **{name: getattr(self, name) for name in settings},
            "selection": [0, None],
        }


def _matrix(values, name: str) -> np.ndarray:
    """Finite numbers of shape (n, d), or an error that names them."""
    array = as_array(values, name)
    if array.ndim != 2 or array.size == 0:
        advice = "choose one sentence and one head"
        raise ValueError(f"{name} must have shape (n, d), got {array.shape}: {advice}")
    if len(array) > LONGEST:
        raise ValueError(f"{name} must have at most {LONGEST} rows, got {len(array)}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or inf")
    return array
