"""Attention without the softmax: a product of features, in time and memory linear in the length.

``exp(query · key)`` is replaced by ``φ(query) · φ(key)``. The weights ``φ(Q) φ(K)ᵀ`` need then not
be computed: ``(φ(Q) φ(K)ᵀ) V = φ(Q) (φ(K)ᵀ V)``, and the bracket on the right is a small matrix,
whatever the length. Summed up from left to right, it is the state of a recurrent network.
"""

import itertools

import torch
from torch import Tensor

from attn_edu.attention.dot_product import check_inputs, check_tensor, weighted_sum
from attn_edu.attention.feature_maps import FeatureMap, elu_plus_one, full_precision, wide

CHUNK = 64  # positions that are compared with each other at once, in the causal form

State = tuple[Tensor, Tensor]


def linear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    feature_map: FeatureMap = elu_plus_one,
    causal: bool = False,
) -> Tensor:
    """``φ(Q) φ(K)ᵀ V``, each row divided by its sum of weights (Katharopoulos et al., 2020).

    Args:
        query: ``(…, n_query, d)``; the leading axes of all tensors broadcast.
        key: ``(…, n_key, d)``.
        value: ``(…, n_key, d_value)``.
        mask: boolean, ``(…, 1, n_key)``, such as a padding mask: which keys there are. A mask that
            differs from query to query would need the whole matrix of weights.
        feature_map: ``(…, n, d) -> (…, n, m)``, each position by itself: it is called on pieces of
            the sequence. Where it gives negative numbers, rows of weights still sum to 1, but
            weights may be negative, and large where a sum comes near 0.
        causal: whether a query sees only the keys up to its own position. With more keys than
            queries, the queries are the last positions, as in `causal_mask`.

    Returns:
        ``(…, n_query, d_value)``, in the dtype of the inputs; sums are kept in float32 at least,
        also under ``torch.autocast``. A query gets zeros where no key is there, or where all
        weights are 0 (features so small that they round to it).

    Raises:
        ValueError: a wrong shape, dtype or device; a mask with a row for each query; features that
            do not fit; with ``causal``, fewer keys than queries.
        TypeError: an argument is not a tensor, or ``feature_map`` no function.

    Example:
        >>> query, key, value = torch.randn(3, 2, 5, 4)
        >>> weights = elu_plus_one(query) @ elu_plus_one(key).mT
        >>> explicit = weights / weights.sum(dim=-1, keepdim=True) @ value
        >>> torch.allclose(linear_attention(query, key, value), explicit, atol=1e-6)
        True
    """
    lead, _ = check_inputs(query, key, value, mask=mask)
    n_query, n_key = query.shape[-2], key.shape[-2]
    if causal and n_key < n_query:
        raise ValueError(
            f"key: got {n_key} keys for {n_query} queries; accepted with causal is at least as "
            "many, because every query is one of the positions that the keys stand for."
        )
    if mask is not None:
        query, key, value, mask = _hide(query, key, value, mask, causal)

    def features(name: str, x: Tensor, present: Tensor | None = None) -> Tensor:
        found = _features(name, feature_map, x)  # (…, rows, m)
        return found if present is None else found.masked_fill(~present, 0)

    if not causal:
        state = _absorb(None, features("key", key, mask), value)
        return _read(state, features("query", query)).to(value.dtype)

    before = n_key - n_query  # keys that every query sees
    keys, values, masks = (
        (None, None) if x is None else x.split([before, n_query], dim=-2)
        for x in (key, value, mask)
    )
    state = _absorb(None, features("key", keys[0], masks[0]), values[0])

    def chunks():
        """The output, a chunk of queries at a time; only the state is carried on."""
        nonlocal state
        pieces = [x.split(CHUNK, dim=-2) for x in (query, keys[1], values[1])]
        present = itertools.repeat(None) if mask is None else masks[1].split(CHUNK, dim=-2)
        for q, k, v, there in zip(*pieces, present):
            phi_query, phi_key = features("query", q), features("key", k, there)
            yield _read(state, phi_query, phi_key, v).to(value.dtype)
            state = _absorb(state, phi_key, v)

    parts = chunks()
    first = next(parts)
    if first.requires_grad:
        return torch.cat([first, *parts], dim=-2)
    output = first.new_empty(*lead, n_query, value.shape[-1])  # parts and their cat: twice as much
    for rows, part in zip(output.split(CHUNK, dim=-2), itertools.chain([first], parts)):
        rows.copy_(part)
    return output


def linear_attention_step(
    state: State | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    feature_map: FeatureMap = elu_plus_one,
) -> tuple[State, Tensor]:
    """One position of causal linear attention: a recurrent network whose state is a matrix.

    ``S ← S + φ(k) vᵀ``, ``z ← z + φ(k)``, output ``φ(q)ᵀ S / φ(q)ᵀ z`` (Katharopoulos et al., 2020,
    eq. 16–20).

    Args:
        state: ``(S, z)``: the sums so far, ``(…, m, d_value)`` and ``(…, m)``, for ``m`` features;
            ``None`` before the first position. It is not changed.
        query, key: ``(…, d)``, of one position.
        value: ``(…, d_value)``.
        feature_map: as in `linear_attention`.

    Returns:
        The next state, and the output ``(…, d_value)``. Step by step this gives the rows of
        ``linear_attention(…, causal=True)``.

    Raises:
        ValueError, TypeError: as `linear_attention`; or the state is not a pair that fits.
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor, axes="dim")
    query, key, value = (tensor.unsqueeze(-2) for tensor in (query, key, value))
    check_inputs(query, key, value)
    phi_query = _features("query", feature_map, query)  # (…, 1, m)
    phi_key = _features("key", feature_map, key)
    if state is not None:
        _check_state(state, phi_key.shape[-1], value.shape[-1])
    state = _absorb(state, phi_key, value)
    return state, _read(state, phi_query).squeeze(-2).to(value.dtype)


def _absorb(state: State | None, phi_key: Tensor, value: Tensor) -> State:
    """The state ``(S, z)`` after some more positions: ``(…, m, d_value)`` and ``(…, m)``."""
    with full_precision(phi_key):
        products = phi_key.mT @ value.to(phi_key.dtype)
        total = phi_key.sum(dim=-2)
    return (products, total) if state is None else (state[0] + products, state[1] + total)


def _read(state: State, phi_query: Tensor, phi_key=None, value=None) -> Tensor:
    """What queries find in the state, and in the positions of their own chunk up to themselves."""
    products, total = state
    with full_precision(phi_query):
        sums = phi_query @ products  # (…, n_query, d_value)
        weight = phi_query @ total.unsqueeze(-1)  # (…, n_query, 1)
        if phi_key is not None:
            weights = (phi_query @ phi_key.mT).tril()  # (…, chunk, chunk)
            earlier = torch.ones(weights.shape[-2:], dtype=torch.bool, device=weights.device).tril()
            sums = sums + weighted_sum(weights, value.to(weights.dtype), earlier)
            weight = weight + weights.sum(dim=-1, keepdim=True)
    return sums / weight.masked_fill(weight == 0, 1)


def _hide(query, key, value, mask, causal):
    """What plays no part becomes 0: NaN there has no influence. Also the mask, one row a key."""
    if mask.shape[-2] != 1:
        raise ValueError(
            f"mask: got {tuple(mask.shape)}; accepted is (…, 1, n_key), the same for every query, "
            "such as a padding mask. For a causal mask use causal=True."
        )
    n_query, n_key = query.shape[-2], key.shape[-2]
    mask = mask.mT.expand(*mask.shape[:-2], n_key, 1)
    seen = mask.any(dim=-2, keepdim=True)  # whether the query sees any key
    if causal:
        seen = mask.long().cumsum(dim=-2)[..., n_key - n_query :, :] > 0  # (…, n_query, 1)
    query = torch.where(seen, query, 0)
    return query, torch.where(mask, key, 0), torch.where(mask, value, 0), mask


def _features(name: str, feature_map: FeatureMap, x: Tensor) -> Tensor:
    if not callable(feature_map):
        got = type(feature_map).__name__
        raise TypeError(f"feature_map: got {got}; accepted is a function (…, n, d) -> (…, n, m).")
    found = feature_map(x)
    if not isinstance(found, Tensor) or found.shape[:-1] != x.shape[:-1]:
        got = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ValueError(
            f"feature_map: gave {got} for a {name} of {tuple(x.shape)}; accepted is a tensor with "
            "the same axes but the last."
        )
    return found.to(wide(found))


def _check_state(state, n_features: int, d_value: int) -> None:
    if not isinstance(state, tuple | list) or len(state) != 2:
        raise TypeError(f"state: got {type(state).__name__}; accepted is None or the pair (S, z).")
    for name, part, axes in zip("Sz", state, ("m, d_value", "m")):
        check_tensor(f"state ({name})", part, axes=axes)
    products, total = state
    if products.shape[-2:] != (n_features, d_value) or total.shape[-1] != n_features:
        raise ValueError(
            f"state: got S {tuple(products.shape)} and z {tuple(total.shape)}; accepted is "
            f"S (…, {n_features}, {d_value}) and z (…, {n_features})."
        )
