"""The bill of a layer before it runs, and where two kinds of layer cost the same."""

from dataclasses import dataclass
from numbers import Integral
from types import SimpleNamespace

from attn_edu.costs.closed_forms import KINDS

LONGEST = 2**24  # how far `crossover` looks


@dataclass(frozen=True)
class Cost:
    """What one forward pass of a layer costs.

    Attributes:
        flops: multiplications and additions in matrix products and convolutions.
        bytes: held at the worst moment, in float32; inputs and weights of the layer not counted.
        sequential_steps: how many steps wait for the one before.
        path_length: steps from the first position to the last, in layers or in states;
            ``math.inf`` where no number of layers gets there.
    """

    flops: int
    bytes: int
    sequential_steps: int
    path_length: float


def cost(
    kind: str, n: int, d_model: int, n_heads: int = 1, *, batch: int = 1, projections: bool = True,
    **options: int,
) -> Cost:  # fmt: skip
    """Count one forward pass of a layer of ``kind`` over sequences of length ``n``.

    One multiplication and one addition count as two flops, as in torch's ``FlopCounterMode``; what
    is not a matrix product or a convolution (softmax, bias, activation, means) counts as none. A
    mask saves nothing unless the code leaves tiles out: ``"causal"`` costs what ``"attention"``
    does. The bytes are those of the layers in `layer`, on a CPU with one thread, without gradients:
    within a tenth of what `measure` finds, for local attention at lengths of several windows, for
    an LSTM with torch 2.11 or newer (with torch 2.9 it takes up to three times as much).

    Args:
        kind: a key of `KINDS`: ``"attention"``, ``"causal"``, ``"fused"``, ``"tiled"``,
            ``"sliding_window"``, ``"block"``, ``"linformer"``, ``"nystrom"``, ``"linear"``,
            ``"causal_linear"``, ``"performer"``, ``"multi_query"``, ``"grouped_query"``,
            ``"latent"``, ``"rnn"``, ``"gru"``, ``"lstm"`` or ``"cnn"``.
        n: length.
        d_model: width of the input and the output; of the state of a recurrent network.
        n_heads: heads; must divide ``d_model``. Recurrent networks and convolutions have none.
        batch: how many sequences.
        projections: whether to count what works on each position by itself: the projections to
            queries, keys, values and output, and the input's product in a recurrent network.
        options: what the kind needs: ``window`` (sliding_window, cnn), ``block`` (block), ``rank``
            (linformer), ``landmarks`` (nystrom), ``features`` a head (performer), ``groups`` of
            heads that share keys (grouped_query), ``latent`` numbers a position (latent).

    Raises:
        KeyError: an unknown kind.
        ValueError: a size that is missing, no integer or below 1; heads or groups that do not
            divide; an option that the kind does not have.

    Example:
        >>> cost("attention", n=128, d_model=64).flops == cost("lstm", n=128, d_model=64).flops
        True
    """
    sizes = _sizes(kind, n, d_model, n_heads, batch, options)
    sizes.projections = projections
    sizes.strided = projections and batch > 1 and n_heads > 1  # heads lie apart in memory
    form = KINDS[kind]
    flops, held = form.core(sizes), form.held(sizes)
    if projections:
        flops += form.around(sizes)
        if form.kept(sizes):  # queries, keys and values stay; then heads, merged heads and output
            after = 3 if form.merged(sizes) and n_heads > 1 else 2
            held = form.kept(sizes) + max(held, after * n * d_model)
    return Cost(
        flops=int(batch * flops),
        bytes=round(4 * batch * held),
        sequential_steps=form.steps(sizes),
        path_length=form.path(sizes),
    )


def pairs_compared(kind: str, n: int, **options: int) -> int:
    """How many pairs of a query and a key one head compares; 0 where none are.

    Arguments and errors as in `cost`.

    Example:
        >>> pairs_compared("causal", 4), pairs_compared("sliding_window", 4, window=2)
        (10, 7)
    """
    return KINDS[_known(kind)].pairs(_sizes(kind, n, 1, 1, 1, options))


def crossover(
    kind_a: str, kind_b: str, d_model: int, n_heads: int = 1, *, of: str = "flops",
    batch: int = 1, projections: bool = True, **options: int,
) -> int | None:  # fmt: skip
    """Up to which length the kind that is cheaper for short sequences costs no more.

    Args:
        kind_a, kind_b: as in `cost`; the order does not matter.
        of: ``"flops"``, ``"bytes"`` or ``"sequential_steps"``.
        options: those of both kinds; each takes what it has.

    Returns:
        The last length at which it costs at most as much, if the order changes once; ``None`` if it
        never changes, up to 2²⁴. (Where tiles stick out over the end, a few lengths around it may
        be the other way round.)

    Raises:
        KeyError: an unknown kind.
        ValueError: as `cost`, or ``of`` is none of the three.

    Example:
        >>> [crossover("attention", "lstm", d_model) for d_model in (64, 256, 512)]
        [128, 512, 1024]
    """
    if of not in ("flops", "bytes", "sequential_steps"):
        raise ValueError(f"of: got {of!r}; accepted are 'flops', 'bytes', 'sequential_steps'.")
    known = {name for kind in (kind_a, kind_b) for name in KINDS[_known(kind)].options}
    for name in options:
        if name not in known:
            raise ValueError(f"{name}: got one, but neither {kind_a!r} nor {kind_b!r} has it.")

    def difference(n: int) -> int:
        a, b = (
            cost(
                kind, n, d_model, n_heads, batch=batch, projections=projections,
                **{name: options[name] for name in KINDS[kind].options if name in options},
            )
            for kind in (kind_a, kind_b)
        )  # fmt: skip
        return getattr(a, of) - getattr(b, of)

    far = difference(LONGEST)
    if far == 0:
        return None
    sign = 1 if far > 0 else -1  # from the right: the dearer one for long sequences
    low, high = 0, LONGEST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sign * difference(middle) > 0 else (middle, high)
    return low or None


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise KeyError(f"kind: got {kind!r}; accepted are {', '.join(map(repr, KINDS))}.")
    return kind


def _sizes(kind, n, d_model, n_heads, batch, options) -> SimpleNamespace:
    """All sizes under the names of the formulae, each an integer of at least 1."""
    wanted = KINDS[_known(kind)].options
    for name in options:
        if name not in wanted:
            accepted = ", ".join(wanted) or "no option"
            raise ValueError(f"{name}: got one for kind {kind!r}; accepted is {accepted}.")
    options = {name: options.get(name) for name in wanted}
    given = {"n": n, "d_model": d_model, "n_heads": n_heads, "batch": batch, **options}
    for name, size in given.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise ValueError(f"{name}: got {size!r}; accepted is an integer of at least 1.")
    if d_model % n_heads:
        raise ValueError(f"n_heads: got {n_heads}, which does not divide d_model = {d_model}.")
    if "groups" in options and n_heads % options["groups"]:
        got = options["groups"]
        raise ValueError(f"groups: got {got}, which does not divide n_heads = {n_heads}.")
    if "rank" in options:
        options["rank"] = min(options["rank"], n)  # no more mixtures than positions
    head = {"d": d_model, "h": n_heads, "e": d_model // n_heads}
    return SimpleNamespace(n=n, batch=batch, **head, **options)
