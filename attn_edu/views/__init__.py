"""Matrices that move: an attention map, attention step by step, and the splitting of heads.

Each view is an object that shows itself in a notebook cell as one self-contained piece of HTML.
It needs no kernel and no network once it is made; ``view.live()`` gives the same picture as a
widget that Python can read, set and observe.
"""

from attn_edu.views.attention_map import AttentionMap
from attn_edu.views.attention_steps import AttentionSteps
from attn_edu.views.head_split import HeadSplit

__all__ = ["AttentionMap", "AttentionSteps", "HeadSplit"]
