"""Words of others on their way into a page, a picture or a message of the kernel."""

import re

# What XML does not allow: control characters, halves of surrogate pairs, two code points at the end
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SIGNS = {chr(code): chr(0x2400 + code) for code in range(32)}  # ␀, ␇, ␛ …


def as_label(text: str) -> str:
    """The text with a visible sign in place of each character that no SVG or page may hold."""
    return _FORBIDDEN.sub(lambda found: _SIGNS.get(found[0], "\ufffd"), text)
