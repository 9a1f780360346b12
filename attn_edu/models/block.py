"""One block of a Transformer: attention and a network for each position (Vaswani et al., 2017)."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from attn_edu.attention import MultiHeadAttention
from attn_edu.models.checks import check_positive, check_width
from attn_edu.models.feedforward import FeedForward


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
        feedforward: makes the network, ``feedforward(d_model)``; a `FeedForward` when ``None``.
        norm: makes each norm, ``norm(d_model)``, for example ``torch.nn.RMSNorm`` (Zhang and
            Sennrich, 2019); ``torch.nn.LayerNorm`` when ``None``.

    Raises:
        ValueError: sizes that do not fit, or an unknown name; or an option for a part that comes
            ready made.

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
        feedforward: Callable[[int], nn.Module] | None = None,
        norm: Callable[[int], nn.Module] | None = None,
    ):
        super().__init__()
        check_positive("d_model", d_model)
        if attention is not None and position is not None:
            raise ValueError(f"position: got {position!r}; an attention of your own sets its own.")
        if feedforward is not None and d_feedforward is not None:
            got = f"d_feedforward: got {d_feedforward!r}"
            raise ValueError(f"{got}; a feedforward of your own sets its own.")
        if attention is None:
            attention = partial(MultiHeadAttention, bias=bias, position=position)
        if feedforward is None:
            feedforward = partial(
                FeedForward,
                d_feedforward=d_feedforward,
                activation=activation,
                dropout=dropout,
                bias=bias,
            )
        norm = partial(nn.LayerNorm, bias=bias) if norm is None else norm
        self.d_model, self.pre_norm = d_model, pre_norm
        self.attention, self.attention_norm = attention(d_model, n_heads), norm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads, bias=bias) if cross else None
        self.cross_norm = norm(d_model) if cross else None
        self.feedforward, self.feedforward_norm = feedforward(d_model), norm(d_model)
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
            ValueError: a memory without ``cross``, ``cross`` without a memory, or another width.
            TypeError: ``x`` is no tensor.
        """
        check_width("x", x, self.d_model)
        if (memory is None) != (self.cross_attention is None):
            got, accepted = ("none", "one") if memory is None else ("one", "none")
            raise ValueError(f"memory: got {got}; this block accepts {accepted} (see cross).")
        x = self._look_around(x, mask, cache)
        if memory is not None:
            look = self.cross_attention
            x = self._add(x, self.cross_norm, lambda x: look(x, memory, mask=memory_mask))
        return self._add(x, self.feedforward_norm, self.feedforward)

    def _look_around(self, x: Tensor, mask: Tensor | None, cache=None) -> Tensor:
        look = self.attention
        return self._add(x, self.attention_norm, lambda x: look(x, mask=mask, cache=cache))

    def _add(self, x: Tensor, norm: nn.Module, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre_norm:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))

    def map(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """The weights of the self-attention, ``(…, n_heads, n, n)``."""
        check_width("x", x, self.d_model)
        return self.attention.map(self.attention_norm(x) if self.pre_norm else x, mask=mask)

    def cross_map(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """The weights of the attention to the memory, ``(…, n_heads, n, n_memory)``.

        Arguments as `forward`.

        Raises:
            ValueError: the block was made without ``cross``, or another width.
        """
        if self.cross_attention is None:
            raise ValueError("memory: got one; this block accepts none (see cross).")
        check_width("x", x, self.d_model)
        x = self._look_around(x, mask)
        x = self.cross_norm(x) if self.pre_norm else x
        return self.cross_attention.map(x, memory, mask=memory_mask)

    def load_torch(
        self, other: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer
    ) -> "TransformerBlock":
        """Copy the weights of torch's own layer, so that both give the same output.

        Returns:
            This block, for chaining.

        Raises:
            TypeError: not a torch layer of this kind (a decoder layer when ``cross``).
            ValueError: other sizes, another order of the norms, activation, bias or epsilon; or a
                block with parts that torch's layer has not.
        """
        cross = self.cross_attention is not None
        accepted = nn.TransformerDecoderLayer if cross else nn.TransformerEncoderLayer
        if not isinstance(other, accepted):
            raise TypeError(f"other: got {type(other).__name__}; accepted: nn.{accepted.__name__}.")
        ours = type(self.attention), type(self.feedforward)
        if ours != (MultiHeadAttention, FeedForward):
            parts = " and ".join(part.__name__ for part in ours)
            raise ValueError(f"other: got torch's layer; this block is made of {parts}.")
        theirs, ours = other.linear1, self.feedforward.widen
        for what, got, wanted in (
            ("norm_first", other.norm_first, self.pre_norm),
            ("dim_feedforward", theirs.out_features, ours.out_features),
            ("bias", theirs.bias is not None, ours.bias is not None),
        ):
            if got != wanted:
                raise ValueError(f"other: got {what} = {got}; accepted is {wanted}.")
        probe = torch.linspace(-2, 2, 9)
        activation = self.feedforward.activation
        if not torch.allclose(other.activation(probe), activation(probe), atol=1e-5):
            raise ValueError(f"other: got another activation; accepted is {activation}.")
        self.attention.load_torch(other.self_attn)
        load_norm(self.attention_norm, other.norm1)
        if cross:
            self.cross_attention.load_torch(other.multihead_attn)
            load_norm(self.cross_norm, other.norm2)
        load_norm(self.feedforward_norm, other.norm3 if cross else other.norm2)
        self.feedforward.widen.load_state_dict(other.linear1.state_dict())
        self.feedforward.narrow.load_state_dict(other.linear2.state_dict())
        return self


def load_norm(ours: nn.LayerNorm, theirs: nn.Module) -> None:
    """Copy the weights of a layer norm; refuse one that would give another output."""
    got, wanted = (
        (type(norm).__name__, getattr(norm, "eps", None), _shapes(norm)) for norm in (theirs, ours)
    )
    if got != wanted:
        raise ValueError(f"other: got a norm (kind, eps, weights) = {got}; accepted is {wanted}.")
    ours.load_state_dict(theirs.state_dict())


def _shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}
