"""How far information travels, and how many steps wait for each other (Vaswani et al., 2017)."""

KINDS = ("rnn", "cnn", "attention")


def path_length(n: int, kind: str, window: int | None = None) -> int:
    """How many steps the first token's information takes to reach the last (Vaswani et al., 2017).

    A recurrent network carries it from state to state, ``n - 1`` steps. A causal convolution takes
    it ``window - 1`` positions further in each layer. Attention takes it there at once.

    Args:
        n: length, at least 1. The path of a single token to itself is 0.
        kind: ``"rnn"``, ``"cnn"`` or ``"attention"``.
        window: for the CNN, how many positions one output sees, at least 2.

    Raises:
        ValueError: an unknown kind, a length below 1, or a CNN without a window of at least 2.

    Example:
        >>> [path_length(9, kind, window=3) for kind in ("rnn", "cnn", "attention")]
        [8, 4, 1]
    """
    _check(n, kind)
    if kind == "rnn":
        return n - 1
    if kind == "attention":
        return min(n - 1, 1)
    if window is None or window < 2:
        raise ValueError(f"window: got {window}; accepted for a CNN is an integer of at least 2.")
    return -(-(n - 1) // (window - 1))  # rounded up


def sequential_steps(n: int, kind: str, *, layers: int = 1) -> int:
    """How many steps must wait for the one before (Vaswani et al., 2017, table 1).

    All positions of a convolution or of attention are computed at once; a state waits for the one
    before it. Layers wait for each other, except that a recurrent network may start a layer's first
    state as soon as the layer below has its own: ``n + layers - 1``.

    Raises:
        ValueError: an unknown kind, or a size below 1.
    """
    _check(n, kind)
    if layers < 1:
        raise ValueError(f"layers: got {layers}; accepted is an integer of at least 1.")
    return n + layers - 1 if kind == "rnn" else layers


def receptive_field(window: int, layers: int) -> int:
    """How many positions the last one sees through causal windows: ``1 + layers · (window - 1)``.

    The same for a causal convolution and for sliding-window attention (Beltagy et al., 2020).

    Raises:
        ValueError: a window below 1 or a negative number of layers.
    """
    if window < 1:
        raise ValueError(f"window: got {window}; accepted is an integer of at least 1.")
    if layers < 0:
        raise ValueError(f"layers: got {layers}; accepted is an integer of at least 0.")
    return 1 + layers * (window - 1)


def _check(n: int, kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}; accepted are {', '.join(map(repr, KINDS))}.")
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n: got {n!r}; accepted is an integer of at least 1.")
