"""What `bench/attention.py` measures: groups of rows, each with the goal that it is held against.

A group is a generator; it is given how many rounds to time, and yields `Row`s.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from attn_edu.attention import (
    KeyValueCache,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    causal_mask,
    grouped_query_attention,
    linear_attention,
    padding_mask,
    performer_features,
    scaled_dot_product_attention,
    sliding_window_attention,
    tiled_attention,
)
from attn_edu.costs import cost
from attn_edu.costs.layers import layer
from bench import peers
from bench.meter import exponent, medians, peak, sgemm_rate
from bench.peers import MissingPeerError

N_HEADS, D_HEAD, WINDOW = 8, 64, 128
D_MODEL = N_HEADS * D_HEAD
GROUPS: dict[str, Callable[[int], Iterator["Row"]]] = {}

causal_sdpa = partial(F.scaled_dot_product_attention, is_causal=True)
window_attention = partial(sliding_window_attention, window=WINDOW)
causal_linear = partial(linear_attention, causal=True)


@dataclass(frozen=True)
class Row:
    """One number. ``value`` None: not measured, and ``what`` ends with the reason.

    ``note`` says what stands behind it, such as the two times of a ratio.
    """

    what: str
    value: float | None
    unit: str = "×"
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is no goal, or no number."""
        if self.value is None or (self.at_least is None and self.at_most is None):
            return None
        if self.at_least is not None:
            return self.value >= self.at_least
        return self.value <= self.at_most


def group(function):
    GROUPS[function.__name__] = function
    return function


def heads(n: int, *, n_heads: int = N_HEADS, d: int = D_HEAD, count: int = 3) -> list[torch.Tensor]:
    """Random query, key, value, ``(1, n_heads, n, d)``, always the same."""
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(1, n_heads, n, d, generator=draw) for _ in range(count)]


def against(what: str, goals: dict[str, float], functions: dict[str, Callable], rounds: int):
    """Rows: how many times faster the function ``ours`` is than each of the others."""
    seconds = medians(functions, rounds)
    for name, goal in goals.items():
        if name in seconds:
            ratio = seconds[name] / seconds["ours"]
            note = times(seconds[name], seconds["ours"])
            yield Row(f"{what}: faster than {name}", ratio, at_least=goal, note=note)


def times(theirs: float, ours: float) -> str:
    """Two times, in the order in which they are divided."""
    return f"{1000 * theirs:.4g} / {1000 * ours:.4g} ms"


def with_peer(name: str, make: Callable[[], Callable], functions: dict) -> Row | None:
    """Add a peer's function, or give the row that says why it is not there."""
    try:
        functions[name] = make()
    except MissingPeerError as error:
        return Row(f"{name}: skipped, {error}", None)


def backward(function: Callable, inputs: list[torch.Tensor]) -> Callable[[], None]:
    """A call that also computes the gradients of all inputs."""
    inputs = [x.clone().requires_grad_() for x in inputs]

    def both():
        torch.autograd.grad(function(*inputs).sum(), inputs)

    return both


# ---- speed ------------------------------------------------------------------------------------


@group
def window(rounds, n=8192):
    """Sliding window of 128, causal, forward."""
    inputs = heads(n)
    functions = {"ours": partial(window_attention, *inputs), "SDPA": partial(causal_sdpa, *inputs)}
    local = with_peer(
        "local-attention", lambda: partial(peers.local_attention(WINDOW), *inputs), functions
    )
    goals = {"SDPA": 15.0, "local-attention": 5.5}
    yield from filter(None, [local])
    yield from against(f"sliding window, n={n}", goals, functions, rounds)


@group
def flex(rounds, n=8192):
    """The same against torch's compiled flex_attention; to compile it takes some 20 s."""
    inputs = heads(n)
    flex = peers.compiled_flex_attention(WINDOW, n)
    name = "compiled flex_attention"
    functions = {"ours": partial(window_attention, *inputs), name: partial(flex, *inputs)}
    error = (functions["ours"]() - functions[name]()).abs().max().item()
    assert error < 1e-4, f"flex_attention computes something else: {error}"
    yield from against(f"sliding window, n={n}", {name: 2.0}, functions, rounds)


@group
def window_training(rounds, n=8192):
    """Sliding window of 128, causal, forward and backward."""
    inputs = heads(n)
    with torch.enable_grad():
        functions = {
            "ours": backward(window_attention, inputs),
            "SDPA": backward(causal_sdpa, inputs),
        }
        local = with_peer(
            "local-attention", lambda: backward(peers.local_attention(WINDOW), inputs), functions
        )
        goals = {"SDPA": 10.0, "local-attention": 2.2}
        yield from filter(None, [local])
        yield from against(f"sliding window, forward + backward, n={n}", goals, functions, rounds)


@group
def linear(rounds):
    """Causal linear attention."""
    inputs = heads(8192)
    functions = {"ours": partial(causal_linear, *inputs), "SDPA": partial(causal_sdpa, *inputs)}
    yield from against("causal linear, n=8192", {"SDPA": 9.0}, functions, rounds)
    inputs = heads(1024)
    functions = {
        "ours": partial(causal_linear, *inputs),
        "the textbook's cumulative sum": partial(peers.cumulative_sum, *inputs),
    }
    name = "performer-pytorch (266 features, ours 64)"
    found = with_peer(
        name, lambda: partial(peers.performer(D_HEAD, causal=True), *inputs), functions
    )
    goals = {"the textbook's cumulative sum": 25.0, name: 20.0}
    yield from filter(None, [found])
    yield from against("causal linear, n=1024", goals, functions, min(rounds, 5))
    features = performer_features(D_HEAD, 266, generator=torch.Generator().manual_seed(0))
    functions["ours"] = partial(causal_linear, *inputs, feature_map=features)
    functions.pop("the textbook's cumulative sum")
    if name in functions:
        functions["performer-pytorch, both with 266 features"] = functions.pop(name)
        goals = {"performer-pytorch, both with 266 features": None}
        yield from against("causal linear, n=1024", goals, functions, min(rounds, 5))


@group
def low_rank(rounds, n=8192):
    """Linformer and Nyström with their projections, against the packages of that name."""
    x = torch.randn(1, n, D_MODEL, generator=torch.Generator().manual_seed(0))
    work = {
        "linformer": ("Linformer, rank 128", {"rank": 128}, peers.linformer, (D_MODEL, n, 128, 8)),
        "nystrom": ("Nyström, 64 landmarks", {"landmarks": 64}, peers.nystrom, (D_MODEL, 8, 64)),
    }
    rate = 1e9 * sgemm_rate()
    for kind, (label, options, package, sizes) in work.items():
        what = f"{label}, n={n}: "
        functions = {"ours": partial(layer(kind, n, D_MODEL, N_HEADS, **options), x)}
        found = with_peer(package.__name__, lambda: partial(package(*sizes), x), functions)  # noqa: B023
        if found:
            yield found
            continue
        ours, theirs = medians(functions, rounds).values()
        name = what + f"faster than the module of {kind}"
        yield Row(name, theirs / ours, at_least=2.0, note=times(theirs, ours))
        least = cost(kind, n, D_MODEL, N_HEADS, **options).flops / rate
        name = what + "what ratio torch.mm's rate would give"
        yield Row(name, theirs / least, note=times(theirs, least))


@group
def tiled(rounds):
    """Attention in tiles: time, error and memory."""
    for n in (1024, 2048, 4096):
        inputs = heads(n)
        functions = {
            "ours": partial(tiled_attention, *inputs),
            "SDPA": partial(F.scaled_dot_product_attention, *inputs),
            "naive": partial(peers.naive, *inputs),
        }
        seconds = medians(functions, rounds)
        what = f"tiled, n={n}"
        ours, sdpa, naive = (seconds[name] for name in ("ours", "SDPA", "naive"))
        yield Row(f"{what}: time of SDPA", ours / sdpa, at_most=1.8, note=times(ours, sdpa))
        ratio = naive / ours
        yield Row(f"{what}: faster than naive", ratio, at_least=1.5, note=times(naive, ours))
        exact = peers.naive(*(x[:, :1].double() for x in inputs))
        error = (tiled_attention(*inputs)[:, :1] - exact).abs().max().item()
        yield Row(f"{what}: largest error", error, unit="", at_most=1e-6)
    smaller = peak(functions["naive"]) / peak(functions["ours"])
    yield Row("tiled, n=4096: less memory than naive", smaller, at_least=60.0)


@group
def decoding(rounds, n=16_384, n_heads=16):
    """One new query, 16 heads, and a cache: heads that share keys; a latent cache."""
    query = heads(1, n_heads=n_heads, count=1)[0]
    for what, groups, goal in (("grouped-query (4)", 4, 1.7), ("multi-query", 1, 4.0)):
        key, value = heads(n, n_heads=groups, count=2)
        functions = {
            "ours": partial(grouped_query_attention, query, key, value),
            "SDPA with enable_gqa": partial(
                F.scaled_dot_product_attention, query, key, value, enable_gqa=True
            ),
        }
        goals = {"SDPA with enable_gqa": goal}
        yield from against(f"{what}, cache of {n}", goals, functions, 2 * rounds)
    torch.manual_seed(0)
    latent = MultiHeadLatentAttention(n_heads * D_HEAD, n_heads, 128, d_rotary=32)
    past, now = torch.randn(1, 4096, n_heads * D_HEAD), torch.randn(1, 1, n_heads * D_HEAD)
    functions = {}
    for name, absorb in (("ours", True), ("the expanded form", False)):
        cache = KeyValueCache()
        latent(past, cache=cache)
        functions[name] = partial(latent, now, cache=cache, absorb=absorb)
    goals = {"the expanded form": 8.0}
    yield from against("latent, absorbed, cache of 4096", goals, functions, rounds)


@group
def strassen(rounds):
    """Strassen's product where it wins, and on attention's shape, where it loses."""
    try:
        from attn_edu.matmul import strassen
    except ImportError as error:
        yield Row(f"Strassen: skipped, {error}", None)
        return
    a, b = torch.randn(2, 4096, 4096, generator=torch.Generator().manual_seed(0))
    functions = {
        "ours": partial(strassen, a, b, cutoff=1024),
        "torch.mm": partial(torch.mm, a, b),
    }
    yield from against("Strassen, 4096³", {"torch.mm": 1.08}, functions, rounds)
    for n in (1024, 4096):
        query, key = torch.randn(n, D_HEAD), torch.randn(D_HEAD, n)
        functions = {
            "ours": partial(strassen, query, key, cutoff=D_HEAD // 2),
            "torch.mm": partial(torch.mm, query, key),
        }
        seconds = medians(functions, rounds)
        ours, theirs = seconds["ours"], seconds["torch.mm"]
        what, note = f"Strassen, {n}×64×{n}: slower than torch.mm", times(ours, theirs)
        yield Row(what, ours / theirs, at_least=1.0, note=note)


@group
def multi_head(rounds):
    """`MultiHeadAttention`, when no map is asked for."""
    torch.manual_seed(0)
    ours, bare = MultiHeadAttention(D_MODEL, N_HEADS), peers.BareAttention(D_MODEL, N_HEADS)
    torchs = nn.MultiheadAttention(D_MODEL, N_HEADS, batch_first=True)
    for n in (1024, 2048, 4096):
        x = torch.randn(1, n, D_MODEL)
        functions = {
            "ours": partial(ours, x),
            "bare": partial(bare, x),
            "nn": partial(torchs, x, x, x),
        }
        seconds = medians(functions, rounds)
        own, bare_, theirs = (seconds[name] for name in functions)
        what = f"MultiHeadAttention, n={n}: "
        note = times(own, bare_)
        yield Row(what + "time of bare SDPA", own / bare_, at_most=1.1, note=note)
        what, note = what + "faster than nn.MultiheadAttention with weights", times(theirs, own)
        yield Row(what, theirs / own, at_least=2.0, note=note)


# ---- memory -----------------------------------------------------------------------------------


@group
def memory(_rounds):
    """Peaks of what torch allocates, in multiples of the output or of a peer's."""
    inputs = heads(8192)
    output = inputs[2].nbytes
    ours = peak(partial(window_attention, *inputs))
    yield Row("sliding window, n=8192: memory, of its output", ours / output, at_most=2.1)
    functions = {}
    found = with_peer(
        "local-attention", lambda: partial(peers.local_attention(WINDOW), *inputs), functions
    )
    yield from filter(None, [found])
    for name, function in functions.items():
        ratio = peak(function) / ours
        yield Row(f"sliding window, n=8192: less memory than {name}", ratio, at_least=8.0)
    ours = peak(partial(causal_linear, *inputs))
    yield Row("causal linear, n=8192: memory, of its output", ours / output, at_most=1.1)


@group
def growth(_rounds):
    """How memory grows with the length, from 2048 to 16,384, for every linear kind."""
    sizes = [2048, 16_384]
    kinds = {
        "sliding_window": {"window": WINDOW},
        "block": {"block": WINDOW},
        "linear": {},
        "causal_linear": {},
        "performer": {"features": 128},
        "linformer": {"rank": 128},
        "nystrom": {"landmarks": 64},
        "tiled": {},
        "fused": {},
    }
    for kind, options in kinds.items():
        peaks = []
        for n in sizes:
            x = torch.randn(1, n, D_MODEL)
            peaks.append(peak(partial(layer(kind, n, D_MODEL, N_HEADS, **options), x)))
        yield Row(
            f"{kind}: memory grows as n to the power", exponent(sizes, peaks), "", at_most=1.05
        )


@group
def square_path(_rounds, n=2048):
    """torch's kernel falls back to code that holds the n×n weights; no call of ours takes it."""
    query, key, value = heads(n)
    two = [torch.cat([x, x]) for x in (query, key, value)]
    padding = padding_mask([n - 100, n], n)[:, None]
    key_heads, value_heads = heads(n, n_heads=2, count=2)
    bare = [x[0] for x in (query, key, value)]
    attend = scaled_dot_product_attention
    calls = {
        "no mask": partial(attend, query, key, value),
        "causal mask": partial(attend, query, key, value, mask=causal_mask(n)),
        "padding mask": partial(attend, *two, mask=padding),
        "d_value of 32": partial(attend, query, key, value[..., :32]),
        "d_value of 96": partial(attend, query, key, torch.cat([value, value[..., :32]], -1)),
        "3 axes": partial(attend, *bare),
        "5 axes": partial(attend, *(x[None] for x in (query, key, value))),
        "keys not contiguous": partial(attend, query, key.mT.contiguous().mT, value),
        "grouped heads": partial(grouped_query_attention, query, key_heads, value_heads),
        "sliding window": partial(window_attention, query, key, value),
    }
    for name, call in calls.items():
        ratio = peak(call) / call().nbytes
        yield Row(f"n={n}, {name}: memory, of the output", ratio, at_most=3.0)


# ---- the limit, and points for the picture ----------------------------------------------------


@group
def limit(rounds):
    """How near the arithmetic comes to what this machine's matrix product reaches."""
    best = sgemm_rate()
    yield Row("torch.mm, 1024³ in float32", best, "GFLOP/s")
    n = 4096
    inputs = heads(n)
    flops = 4 * N_HEADS * n * n * D_HEAD
    functions = {
        "SDPA": partial(F.scaled_dot_product_attention, *inputs),
        "our tiled_attention": partial(tiled_attention, *inputs),
        "our scaled_dot_product_attention": partial(scaled_dot_product_attention, *inputs),
    }
    for name, seconds in medians(functions, rounds).items():
        rate = flops / seconds / 1e9
        yield Row(f"{name}, n={n} ({100 * rate / best:.0f} % of torch.mm)", rate, "GFLOP/s")
    inputs = heads(8192)
    pairs = 8192 * WINDOW - WINDOW * (WINDOW - 1) // 2
    seconds = medians({"": partial(window_attention, *inputs)}, rounds)[""]
    rate = 4 * N_HEADS * pairs * D_HEAD / seconds / 1e9
    what = f"our sliding window, n=8192, needed pairs ({100 * rate / best:.0f} % of torch.mm)"
    yield Row(what, rate, "GFLOP/s")


def points(rounds: int, sizes=(256, 512, 1024, 2048, 4096, 8192)) -> Iterator[dict]:
    """Seconds of CPU and peak bytes of a whole layer of each kind, d_model 512, 8 heads."""
    kinds = {
        "attention": {},
        "fused": {},
        "sliding_window": {"window": WINDOW},
        "block": {"block": WINDOW},
        "linformer": {"rank": 128},
        "nystrom": {"landmarks": 64},
        "linear": {},
        "causal_linear": {},
        "performer": {"features": 128},
        "tiled": {},
        "lstm": {},
        "gru": {},
        "cnn": {"window": 5},
    }
    for n in sizes:
        x = torch.randn(1, n, D_MODEL, generator=torch.Generator().manual_seed(0))
        torch.manual_seed(0)
        layers = {
            kind: partial(layer(kind, n, D_MODEL, N_HEADS, **options), x)
            for kind, options in kinds.items()
            if n <= 4096 or kind != "attention"
        }
        for kind, seconds in medians(layers, rounds).items():
            size = {"n": n, "d_model": D_MODEL, "n_heads": N_HEADS, **kinds[kind]}
            yield {"kind": kind, **size, "seconds": seconds, "peak_bytes": peak(layers[kind])}
