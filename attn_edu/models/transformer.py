"""Stacks of blocks: the encoder and the decoder (Vaswani et al., 2017)."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn

from attn_edu.models.block import TransformerBlock, load_norm
from attn_edu.models.checks import check_positive


class TransformerStack(nn.Module):
    """Blocks one after the other.

    Args:
        d_model, n_heads, d_feedforward: sizes of each block.
        n_layers: how many blocks, at least 1.
        final_norm: whether a layer norm comes last; when ``None``, with ``pre_norm`` only, where
            nothing else bounds what the last block gives.
        norm: makes every norm, the last one too; see `TransformerBlock`.
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
        norm: Callable[[int], nn.Module] | None = None,
        **options,
    ):
        super().__init__()
        check_positive("n_layers", n_layers)
        norm = partial(nn.LayerNorm, bias=bias) if norm is None else norm
        options = {**options, "pre_norm": pre_norm, "bias": bias, "norm": norm}
        self.blocks = nn.ModuleList(
            TransformerBlock(d_model, n_heads, d_feedforward, **options) for _ in range(n_layers)
        )
        last = pre_norm if final_norm is None else final_norm
        self.norm = norm(d_model) if last else None

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

    def cross_maps(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """The attention of every block to the memory, ``(n_layers, …, n_heads, n, n_memory)``.

        Raises:
            ValueError: the blocks were made without ``cross``; see `TransformerBlock.cross_map`.
        """
        maps = []
        for block in self.blocks:
            maps.append(block.cross_map(x, memory, mask=mask, memory_mask=memory_mask))
            x = block(x, memory, mask=mask, memory_mask=memory_mask)
        return torch.stack(maps)

    def load_torch(self, other: nn.TransformerEncoder | nn.TransformerDecoder):
        """Copy the weights of torch's stack; see `TransformerBlock.load_torch`.

        Raises:
            TypeError: not a stack of torch's layers.
            ValueError: another number of layers, a final norm too many or too few, or a layer or
                norm that does not fit.
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
            load_norm(self.norm, other.norm)
        return self


class TransformerEncoder(TransformerStack):
    """A stack that reads one text, ``encoder(x, mask=padding)``; see `TransformerStack`."""


class TransformerDecoder(TransformerStack):
    """A stack that reads a second text beside its own, ``decoder(x, memory, mask=causal)``.

    It masks nothing by itself: give `causal_mask` where the future must stay hidden.
    """

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options, cross=True)
