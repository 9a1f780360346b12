"""The Transformer, built from the parts of the chapters (Vaswani et al., 2017).

A `TransformerBlock` is attention and a feed-forward network, each added to what came in. A stack of
them is an encoder; with attention to a second text in every block, a decoder.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from attn_edu.attention import MultiHeadAttention
from attn_edu.models.checks import check_one_of, check_positive

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class FeedForward(nn.Module):
    """Two linear layers with a bend between them, at each position by itself.

    Args:
        d_model: width of input and output.
        d_feedforward: width between the two layers; ``4 · d_model`` when ``None``.
        activation: ``"relu"`` (Vaswani et al., 2017) or ``"gelu"`` (Hendrycks & Gimpel, 2016).
        dropout: share of the numbers between the layers that training sets to 0.
        bias: whether the layers add a bias.
    """

    def __init__(
        self,
        d_model: int,
        d_feedforward: int | None = None,
        *,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
    ):
        super().__init__()
        d_feedforward = 4 * d_model if d_feedforward is None else d_feedforward
        check_positive("d_feedforward", d_feedforward)
        check_one_of("activation", activation, ACTIVATIONS)
        self.widen = nn.Linear(d_model, d_feedforward, bias=bias)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = nn.Dropout(dropout)
        self.narrow = nn.Linear(d_feedforward, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d_model)`` -> ``(…, d_model)``."""
        return self.narrow(self.dropout(self.activation(self.widen(x))))


class TransformerBlock(nn.Module):
    """Attention, then a feed-forward network; each adds its answer to what it was asked.

    Args:
        d_model: width of input and output.
        n_heads: must divide ``d_model``.
        d_feedforward: see `FeedForward`.
        pre_norm: layer norm on what a part reads (``x + part(norm(x))``; Xiong et al., 2020), or,
            when false, on the sum (``norm(x + part(x))``; Vaswani et al., 2017).
        cross: whether the block also attends to a second text, the ``memory``.
        dropout: of the parts' answers and inside the feed-forward network, in training.
        activation: ``"gelu"`` or ``"relu"``.
        bias: whether linear layers and norms have one.
        position: ``None``, ``"rotary"`` or ``"alibi"``; see `MultiHeadAttention`.
        attention: makes the self-attention, ``attention(d_model, n_heads)`` -> a module that is
            called with ``(x, mask=…, cache=…)``; a `MultiHeadAttention` when ``None``.

    Raises:
        ValueError: sizes that do not fit, or an unknown name.

    Example:
        >>> import torch
        >>> block = TransformerBlock(d_model=12, n_heads=3)
        >>> block(torch.zeros(2, 5, 12)).shape
        torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_feedforward: int | None = None,
        *,
        pre_norm: bool = True,
        cross: bool = False,
        dropout: float = 0.0,
        activation: str = "gelu",
        bias: bool = True,
        position: str | None = None,
        attention: Callable[[int, int], nn.Module] | None = None,
    ):
        super().__init__()
        if attention is not None and position is not None:
            raise ValueError(f"position: got {position!r}; an attention of your own sets its own.")
        if attention is None:
            attention = partial(MultiHeadAttention, bias=bias, position=position)
        self.pre_norm = pre_norm
        self.attention = attention(d_model, n_heads)
        self.attention_norm = nn.LayerNorm(d_model, bias=bias)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, bias=bias) if cross else None
        self.cross_norm = nn.LayerNorm(d_model, bias=bias) if cross else None
        self.feedforward = FeedForward(
            d_model, d_feedforward, activation=activation, dropout=dropout, bias=bias
        )
        self.feedforward_norm = nn.LayerNorm(d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache=None,
    ) -> Tensor:
        """One round: look around, look at the memory, think for yourself.

        Args:
            x: ``(…, n, d_model)``.
            memory: ``(…, n_memory, d_model)``, for a block made with ``cross=True``.
            mask, memory_mask: who may attend to whom in ``x`` and in ``memory``; boolean, ``True``
                = may attend; see `MultiHeadAttention`.
            cache: a `KeyValueCache` for the positions before ``x``.

        Returns:
            ``(…, n, d_model)``.

        Raises:
            ValueError: a memory without ``cross``, or ``cross`` without a memory.
        """
        if (memory is None) != (self.cross_attention is None):
            got, accepted = ("none", "one") if memory is None else ("one", "none")
            raise ValueError(f"memory: got {got}; this block accepts {accepted} (see cross).")
        x = self._add(x, self.attention_norm, lambda x: self.attention(x, mask=mask, cache=cache))
        if memory is not None:
            look = self.cross_attention
            x = self._add(x, self.cross_norm, lambda x: look(x, memory, mask=memory_mask))
        return self._add(x, self.feedforward_norm, self.feedforward)

    def _add(self, x: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))

    def map(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """The weights of the self-attention, ``(…, n_heads, n, n)``."""
        return self.attention.map(self.attention_norm(x) if self.pre_norm else x, mask=mask)

    def load_torch(
        self, other: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
    ) -> "TransformerBlock":
        """Copy the weights of torch's own layer, so that both give the same output.

        Returns:
            This block, for chaining.

        Raises:
            TypeError: not a torch layer of this kind (a decoder layer when ``cross``).
            ValueError: other sizes, another order of the norms, activation, bias or epsilon.
        """
        cross = self.cross_attention is not None
        accepted = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
        if not isinstance(other, accepted):
            raise TypeError(f"other: got {type(other).__name__}; accepted: nn.{accepted.__name__}.")
        theirs, ours = other.linear1, self.feedforward.widen
        for what, got, wanted in (
            ("norm_first", other.norm_first, self.pre_norm),
            ("dim_feedforward", theirs.out_features, ours.out_features),
            ("layer_norm_eps", other.norm1.eps, self.attention_norm.eps),
            ("bias", theirs.bias is not None, ours.bias is not None),
        ):
            if got != wanted:
                raise ValueError(f"other: got {what} = {got}; accepted is {wanted}.")
        probe = torch.linspace(-2, 2, 9)
        activation = self.feedforward.activation
        if not torch.allclose(other.activation(probe), activation(probe), atol=1e-5):
            raise ValueError(f"other: got another activation; accepted is {activation}.")
        self.attention.load_torch(other.self_attn)
        pairs = [(self.attention_norm, other.norm1)]
        if cross:
            self.cross_attention.load_torch(other.multihead_attn)
            pairs += [(self.cross_norm, other.norm2), (self.feedforward_norm, other.norm3)]
        else:
            pairs += [(self.feedforward_norm, other.norm2)]
        pairs += [(self.feedforward.widen, other.linear1), (self.feedforward.narrow, other.linear2)]
        for ours, theirs in pairs:
            ours.load_state_dict(theirs.state_dict())
        return self


class TransformerStack(nn.Module):
    """Blocks one after the other.

    Args:
        d_model, n_heads, d_feedforward: sizes of each block.
        n_layers: how many blocks, at least 1.
        final_norm: whether a layer norm comes last; when ``None``, with ``pre_norm`` only, where
            nothing else bounds what the last block gives.
        options: handed on to each `TransformerBlock`.

    Raises:
        ValueError: sizes that do not fit, or an unknown name.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_feedforward: int | None = None,
        *,
        pre_norm: bool = True,
        final_norm: bool | None = None,
        bias: bool = True,
        **options,
    ):
        super().__init__()
        check_positive("n_layers", n_layers)
        options = {**options, "pre_norm": pre_norm, "bias": bias}
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, n_heads, d_feedforward, **options) for _ in range(n_layers)
        )
        last = pre_norm if final_norm is None else final_norm
        self.norm = nn.LayerNorm(d_model, bias=bias) if last else None

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        caches: Sequence | None = None,
    ) -> Tensor:
        """``(…, n, d_model)`` -> ``(…, n, d_model)``; arguments as `TransformerBlock.forward`.

        ``caches`` holds a `KeyValueCache` for each block.
        """
        if caches is not None and len(caches) != len(self.blocks):
            raise ValueError(f"caches: got {len(caches)}; accepted is one for each block.")
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks)):
            x = block(x, memory, mask=mask, memory_mask=memory_mask, cache=cache)
        return x if self.norm is None else self.norm(x)

    def maps(self, x: Tensor, memory: Tensor | None = None, *, mask: Tensor | None = None, **more):
        """The self-attention of every block, ``(n_layers, …, n_heads, n, n)``."""
        maps = []
        for block in self.blocks:
            maps.append(block.map(x, mask=mask))
            x = block(x, memory, mask=mask, **more)
        return torch.stack(maps)

    def load_torch(self, other: nn.TransformerEncoder | nn.TransformerDecoder):
        """Copy the weights of torch's stack; see `TransformerBlock.load_torch`.

        Raises:
            TypeError: not a stack of torch's layers.
            ValueError: another number of layers, a final norm too many or too few, or a layer that
                does not fit.
        """
        if not isinstance(other, nn.TransformerEncoder | nn.TransformerDecoder):
            raise TypeError(
                f"other: got {type(other).__name__}; "
                "accepted: nn.TransformerEncoder, nn.TransformerDecoder."
            )
        got = len(other.layers), other.norm is not None
        wanted = len(self.blocks), self.norm is not None
        if got != wanted:
            raise ValueError(f"other: got (layers, final norm) = {got}; accepted is {wanted}.")
        for ours, theirs in zip(self.blocks, other.layers):
            ours.load_torch(theirs)
        if self.norm is not None:
            self.norm.load_state_dict(other.norm.state_dict())
        return self


class TransformerEncoder(TransformerStack):
    """A stack that reads one text, ``encoder(x, mask=padding)``; see `TransformerStack`."""


class TransformerDecoder(TransformerStack):
    """A stack that reads a second text beside its own, ``decoder(x, memory, mask=causal)``.

    It masks nothing by itself: give `causal_mask` where the future must stay hidden.
    """

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options, cross=True)
