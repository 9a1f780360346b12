"""The packages that people would install instead, each behind one small function.

They are no part of the course: only `make bench` and the conformance suite use them. What is not
installed is skipped by name.

    .venv/bin/pip install -e ".[bench]"
"""

import contextlib
import importlib
import importlib.metadata
import io
import math
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

INSTALL = '.venv/bin/pip install -e ".[bench]"'
NAMES = ("local-attention", "linformer", "performer-pytorch", "nystrom-attention")


class MissingPeerError(ImportError):
    """A peer is not installed here."""


def version(name: str) -> str | None:
    """The installed version of a package, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _load(name: str):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name.replace("-", "_"))
    except ImportError as error:
        raise MissingPeerError(f"{name} is not installed ({INSTALL}): {error}") from error


def local_attention(window: int, *, causal: bool = True, **options) -> Callable[..., Tensor]:
    """`local-attention` with ``exact_windowsize``: a query sees ``window + 1`` positions."""
    kind = _load("local-attention").LocalAttention
    fixed = {"exact_windowsize": True, "use_rotary_pos_emb": False, **options}
    return kind(window_size=window, causal=causal, **fixed)


def linformer(d_model: int, n: int, rank: int, n_heads: int) -> nn.Module:
    """`linformer`: self-attention with its projections."""
    return _load("linformer").LinformerSelfAttention(
        d_model, n, k=rank, heads=n_heads, dim_head=d_model // n_heads
    )


def nystrom(d_model: int, n_heads: int, landmarks: int, **options) -> nn.Module:
    """`nystrom-attention`: self-attention with its projections, without its convolution."""
    return _load("nystrom-attention").NystromAttention(
        d_model, d_model // n_heads, n_heads, num_landmarks=landmarks, residual=False, **options
    )


def performer(d_head: int, features: int | None = None, *, causal: bool = False) -> nn.Module:
    """`performer-pytorch`: random features of ``features`` dimensions (d log d when None)."""
    loaded = _load("performer-pytorch")
    with contextlib.redirect_stdout(io.StringIO()):  # it prints that it found no CUDA code
        return loaded.FastAttention(d_head, nb_features=features, causal=causal)


# ---- what needs no package: the textbook's forms, and torch's own ------------------------------


def naive(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The formula, with the whole matrix of weights."""
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    return scores.softmax(dim=-1) @ value


def cumulative_sum(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal linear attention as it is often written: one matrix of state for every position."""
    query, key = F.elu(query) + 1, F.elu(key) + 1
    states = (key[..., :, None] * value[..., None, :]).cumsum(dim=-3)  # (…, n, d, d_value)
    total = key.cumsum(dim=-2)
    found = (query[..., None, :] @ states).squeeze(-2)
    return found / (query * total).sum(dim=-1, keepdim=True)


def compiled_flex_attention(window: int, n: int) -> Callable[..., Tensor]:
    """torch's flex_attention under a causal window; to compile it takes some 20 s."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def near(_batch, _head, i, j):
        return (i >= j) & (i - j < window)

    blocks = create_block_mask(near, None, None, n, n, device="cpu")
    compiled = torch.compile(flex_attention)
    return lambda query, key, value: compiled(query, key, value, block_mask=blocks)


class BareAttention(nn.Module):
    """The least around torch's fused kernel: four projections, and the heads split and merged."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.n_heads = n_heads
        self.inputs = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(3))
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        heads = (
            layer(x).unflatten(-1, (self.n_heads, -1)).transpose(-3, -2) for layer in self.inputs
        )
        found = F.scaled_dot_product_attention(*heads)  # (…, n_heads, n, d_head)
        return self.out(found.transpose(-3, -2).flatten(-2))
