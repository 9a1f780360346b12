"""Every output that shows words of its caller, made with any words; and numbers that are odd."""

import math

import torch

from attn_edu.exercises import check
from attn_edu.figures import HeadScores, Promises, Texts, curves, curves_by_step
from attn_edu.views import (
    AttentionMap,
    AttentionSteps,
    Bill,
    Guesses,
    HeadSplit,
    Ledger,
    MaskReach,
)
from attn_edu.views.ledger import Finding

WORDS = [
    "<img src=x onerror=window.pwned=1>",
    '"><svg onload=window.pwned=1><b class="',
    "' onfocus='window.pwned=1' autofocus='",
    "</script><script>window.pwned=1</script>",
    "</SCRIPT ><!--<script>",
    "]]></text><script>window.pwned=1</script>",
    "${window.pwned=1}`\\'+(window.pwned=1)+'",
    '<a href="javascript:window.pwned=1">a link</a>',
    "{{payload}} {0} %s \\u003cscript>",
    "\u2028window.pwned=1\u2029",
    "&lt;b&gt;&amp;",
    "\u202eשלום مرحبا",
    "👩‍👩‍👧🏳️‍🌈",
    "\x00\x1b\x07\ud800\uffff",
]
LINES = [0.0, 0.5, 1.0]


def link(word):
    return Finding("true if …", word, "03_multi_head.ipynb#A-listing", word)


def promises(word):
    kept = {"holds": True, "measured": None, "note": word}
    broken = {"holds": False, "measured": 0.5, "note": word}
    return {
        "implementations": [word, "b"],
        "properties": [word, "q"],
        "descriptions": {word: word},
        "packages": {word: "p", "b": word},
        "results": {word: {word: kept, "q": broken}, "b": {word: broken, "q": kept}},
    }


def raises(word):
    def answer(*inputs):
        raise RuntimeError(word)

    return check("02.scores", answer)


SHOWN = {
    "AttentionMap": lambda w: AttentionMap(torch.eye(3), [w, "b", w], title=w),
    "AttentionMap of two sides": lambda w: AttentionMap(
        torch.eye(3).repeat(1, 2, 1, 1), query_tokens=[w, "b", w], key_tokens=["a", w, w], grid=True
    ),
    "AttentionSteps": lambda w: AttentionSteps(*torch.ones(3, 2, 2), [w, "b"], title=w),
    "MaskReach": lambda w: MaskReach({w: torch.eye(2).bool(), "b": [torch.eye(2).bool()] * 2},
                                     [w, "b"], title=w),
    "HeadSplit": lambda w: HeadSplit(2, 2, 2, [w, "b"], title=w),
    "Bill": lambda w: Bill(title=w),
    "Guesses": lambda w: Guesses({w: w, "b": w}, title=w),
    "Ledger": lambda w: Ledger({w: w, "b": w}, {w: link(w)}, {w: "false"}, title=w),
    "curves": lambda w: curves(
        {w: (LINES, LINES), "b": (LINES, LINES, LINES, LINES)},
        x=w, y=w, title=w, summary=w, levels={w + w: 0.5}, dots={"b": (LINES, LINES)},
    ),
    "curves_by_step": lambda w: curves_by_step(
        {w: {w: (LINES, LINES)}, "b": {w: (LINES, LINES)}}, slider=w, x=w, y=w, title=w, summary=w
    ),
    "Texts": lambda w: Texts({w: w, "b": w}, slider=w, title=w),
    "HeadScores": lambda w: HeadScores({w: [[0.5, 1.0]], f"b{w}": [[0.0, 1.0]]}, title=w),
    "Promises": lambda w: Promises(promises(w)),
    "Result": raises,
}  # fmt: skip

ODD = {
    "NaN": [[math.nan, 0.5], [0.5, 0.5]],
    "only NaN": [[math.nan] * 2] * 2,
    "infinite": [[math.inf, 0.0], [0.5, 0.5]],
    "minus infinite": [[-math.inf, 0.0], [0.5, 0.5]],
    "negative": [[-1.0, 2.0], [0.5, 0.5]],
    "sums to 3": [[1.0, 2.0], [1.0, 2.0]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "huge": [[1e300, -1e300], [1e300, 1e300]],
    "tiny": [[1e-320, 0.0], [1e-45, 1e-30]],
    "whole": [[3, -2], [0, 1]],
}


def html_of(output) -> str:
    """What a notebook would show of it, as HTML."""
    if hasattr(output, "_repr_html_") and not hasattr(output, "_repr_mimebundle_"):
        return output._repr_html_()
    return output._repr_mimebundle_()["text/html"]
