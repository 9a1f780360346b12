"""Matrices that move: attention maps, attention step by step, masks and their reach, split heads.
Beside them the bill, and a form and a table for claims: guess first, then see what runs say.

Each view is an object that shows itself in a notebook cell as one self-contained piece of HTML.
It needs no kernel and no network once it is made; ``view.live()`` gives the same picture as a
widget that Python can read, set and observe.
"""

from attn_edu.views.attention_map import AttentionMap
from attn_edu.views.attention_steps import AttentionSteps
from attn_edu.views.bill import Bill
from attn_edu.views.guesses import Guesses
from attn_edu.views.head_split import HeadSplit
from attn_edu.views.ledger import Ledger
from attn_edu.views.mask_reach import MaskReach

__all__ = ["AttentionMap", "AttentionSteps", "Bill", "Guesses", "HeadSplit", "Ledger", "MaskReach"]
