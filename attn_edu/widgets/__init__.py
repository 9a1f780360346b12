"""Controls for where the kernel must answer: another sentence, the reader's own words.

Thin: a control, a live view, and the function that turns the control's value into a map. The
arithmetic is in that function, which the notebook shows. Where ipywidgets or anywidget is missing,
`attn_edu.widgets.without` stands in.
"""

from attn_edu.optional import first_missing
from attn_edu.widgets.playground import Playground, Reading

if first_missing("ipywidgets", "anywidget"):
    from attn_edu.widgets.without import BillWithClock, FollowedMap, Retrain, choose, type_words
else:
    from attn_edu.widgets.bill import BillWithClock
    from attn_edu.widgets.followed_map import FollowedMap, choose, type_words
    from attn_edu.widgets.retrain import Retrain

__all__ = [
    "BillWithClock",
    "FollowedMap",
    "Playground",
    "Reading",
    "Retrain",
    "choose",
    "type_words",
]
