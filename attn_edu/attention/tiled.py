"""Exact attention in tiles: an online softmax, and never the whole matrix of weights."""

import math
from numbers import Integral

import torch
from torch import Tensor

from attn_edu.attention.dot_product import check_inputs, weighted_sum


def tiled_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    block_query: int = 128,
    block_key: int = 512,
    mask: Tensor | None = None,
    causal: bool = False,
) -> Tensor:
    """``softmax(query keyᵀ / √d) value``, from one tile of the scores after another.

    A softmax needs the largest score of a row and the sum of the row. Both can be kept up to date
    while the row arrives in pieces (Milakov & Gimelshein, 2018): when a larger score turns up, what
    has been summed so far shrinks by ``exp(old largest - new largest)``. So it is enough to hold
    one tile of scores at a time (Rabe & Staats, 2021; Dao et al., 2022, *FlashAttention*). The
    result is that of `scaled_dot_product_attention`, up to the rounding of sums in another order.

    Args:
        query: ``(…, n_query, d)``; the leading axes of all four tensors broadcast.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        block_query: how many queries a tile holds, at least 1.
        block_key: how many keys a tile holds, at least 1.
        mask: boolean, broadcastable to ``(…, n_query, n_key)``; ``True`` = may attend.
        causal: whether the positions after a query are hidden as well. With more keys than queries
            the queries are the last positions, as in `causal_mask`. Tiles that are hidden
            altogether are not computed.

    Returns:
        ``(…, n_query, d_value)``, in the dtype and on the device of the inputs; half-precision
        tiles are computed in float32. A query that may attend to nothing gets zeros. Beside the
        inputs and the output it holds one tile, ``(…, block_query, block_key)``; the backward pass
        computes the tiles again instead of storing them. (A second derivative stores them.)

    Raises:
        ValueError: a wrong shape, dtype or device; a block below 1; with ``causal`` fewer keys than
            queries.
        TypeError: an argument is not a tensor, or ``causal`` neither True nor False.
    """
    lead, _ = check_inputs(query, key, value, mask=mask)
    n_query, n_key = query.shape[-2], key.shape[-2]
    for name, block in (("block_query", block_query), ("block_key", block_key)):
        if isinstance(block, bool) or not isinstance(block, Integral) or block < 1:
            raise ValueError(f"{name}: got {block!r}; accepted is an integer of at least 1.")
    if not isinstance(causal, bool):
        raise TypeError(f"causal: got {type(causal).__name__}; accepted is True or False.")
    if causal and n_key < n_query:
        raise ValueError(
            f"causal: got n_query = {n_query}, n_key = {n_key}; accepted is n_key >= n_query."
        )
    wide = torch.promote_types(query.dtype, torch.float32)
    flat = [
        tensor.to(wide).expand(*lead, -1, -1).reshape(lead.numel(), *tensor.shape[-2:])
        for tensor in (query, key, value)
    ]
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], n_query, n_key)  # a view: the copy is never made
    output, _ = _Tiled.apply(*flat, mask, lead, (block_query, block_key), causal)
    return output.reshape(*lead, *output.shape[-2:]).to(query.dtype)


class _Tiled(torch.autograd.Function):
    """``(b, n, d)`` tensors -> the output, and ``log_total``: the log of each row's sum of exp."""

    @staticmethod
    def forward(query, key, value, mask, lead, blocks, causal):
        b, n_query, d = query.shape
        output = query.new_empty(b, n_query, value.shape[2])
        log_total = query.new_empty(b, n_query, 1)
        # The same memory for every tile: new memory would cost more time than the arithmetic.
        buffer = query.new_empty(b * min(blocks[0], n_query) * min(blocks[1], key.shape[1]))
        for rows, tiles in _tiles(query, key, value, mask, lead, blocks, causal):
            m = rows.stop - rows.start
            largest = query.new_full((b, m, 1), -math.inf)
            total = query.new_zeros(b, m, 1)
            sums = query.new_zeros(b, m, value.shape[2])
            blind = torch.ones_like(total, dtype=torch.bool)  # attends to nothing so far
            for _, q, k, v, hidden in tiles:
                scores = buffer[: b * m * k.shape[1]].view(b, m, k.shape[1])
                torch.baddbmm(scores, q, k.mT, beta=0, alpha=1 / math.sqrt(d), out=scores)
                blind &= hidden is not None and hidden.all(dim=-1, keepdim=True)
                if hidden is not None:
                    scores.masked_fill_(hidden, -math.inf)
                before, largest = largest, torch.maximum(largest, scores.amax(-1, keepdim=True))
                shift = largest.masked_fill(largest == -math.inf, 0)  # nothing seen so far
                powers = torch.sub(scores, shift, out=scores).exp_()
                shrink = (before - shift).exp_()  # what was summed so far, seen from the new shift
                total.mul_(shrink).add_(powers.sum(dim=-1, keepdim=True))
                if hidden is None:
                    torch.baddbmm(sums.mul_(shrink), powers, v, out=sums)
                else:  # NaN in a value is for those who see it
                    sums.mul_(shrink).add_(weighted_sum(powers, v, ~hidden))
            total.masked_fill_(blind, 1)
            torch.div(sums, total, out=output[:, rows])
            log_total[:, rows] = largest.masked_fill(blind, 0) + total.log()
        return output, log_total

    @staticmethod
    def setup_context(ctx, inputs, outputs):
        query, key, value, mask, *ctx.tiling = inputs
        ctx.save_for_backward(query, key, value, mask, *outputs)

    @staticmethod
    def backward(ctx, grad_output, grad_log_total):
        """The weights of a tile come back as ``exp(scores - log_total)`` (Dao et al., 2022).

        Every operation here can be differentiated again: `log_total` is an output for that reason.
        """
        query, key, value, mask, output, log_total = ctx.saved_tensors
        scale = 1 / math.sqrt(query.shape[2])
        grads = [grad_output.new_zeros(tensor.shape) for tensor in (query, key, value)]
        grad_query, grad_key, grad_value = grads
        # The softmax's own part: d score = weight · (d weight - the row's mean of d weight).
        mean = (grad_output * output).sum(dim=-1, keepdim=True) - grad_log_total  # (b, n_query, 1)
        for rows, tiles in _tiles(query, key, value, mask, *ctx.tiling):
            grad = grad_output[:, rows]
            for columns, q, k, v, hidden in tiles:
                scores = scale * (q @ k.mT)
                if hidden is not None:
                    scores = scores.masked_fill(hidden, -math.inf)
                weights = (scores - log_total[:, rows]).exp()
                grad_value[:, columns] += weights.mT @ grad
                grad_scores = scale * weights * (grad @ v.mT - mean[:, rows])
                if hidden is not None:
                    grad_scores = grad_scores.masked_fill(hidden, 0)  # not 0 times NaN
                grad_query[:, rows] += grad_scores @ k
                grad_key[:, columns] += grad_scores.mT @ q
        return *grads, None, None, None, None


def _tiles(query, key, value, mask, lead, blocks, causal):
    """For each block of queries: its place, and the tiles that it needs, one after another."""
    n_query, n_key = query.shape[1], key.shape[1]
    for i in range(0, n_query, blocks[0]):
        rows = slice(i, min(i + blocks[0], n_query))
        seen = rows.stop + n_key - n_query if causal else n_key  # the rest is hidden
        columns = [slice(j, min(j + blocks[1], seen)) for j in range(0, seen, blocks[1])]
        yield rows, (_tile(query, key, value, mask, lead, causal, rows, part) for part in columns)


def _tile(query, key, value, mask, lead, causal, rows, columns):
    """Where the tile's keys are, its part of each tensor, and what is hidden (None: nothing)."""
    q, k, v = query[:, rows], key[:, columns], value[:, columns]
    ahead = key.shape[1] - query.shape[1]
    hidden = None if mask is None else ~mask[..., rows, columns]
    if hidden is not None and hidden.ndim > 2:
        hidden = hidden.expand(*lead, -1, -1).reshape(-1, *hidden.shape[-2:])
    if causal and columns.stop > rows.start + ahead + 1:
        i, j = (torch.arange(s.start, s.stop, device=query.device) for s in (rows, columns))
        future = j > i[:, None] + ahead
        hidden = future if hidden is None else hidden | future
    if hidden is not None:  # what plays no part is 0, since a weight of 0 times NaN is NaN
        unseen = hidden.all(dim=-2).unsqueeze(-1)
        q = torch.where(hidden.all(dim=-1, keepdim=True), 0, q)
        k, v = torch.where(unseen, 0, k), torch.where(unseen, 0, v)
    return columns, q, k, v, hidden
