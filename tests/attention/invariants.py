"""What must hold for every kind of attention, each as a function of one `Kind`.

`invariant` collects them in `INVARIANTS`, by name. They use no softmax of their own: the truth
comes from loops, from perturbations, and from running the same thing another way.
"""

import warnings

import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.testing import assert_close

from attn_edu.attention import attention_map, padding_mask, reference_attention

from .kinds import BATCH, HEADS, N_KEY

INVARIANTS = {}
DTYPES = {torch.float32: 1e-5, torch.bfloat16: 6e-2, torch.float16: 6e-3}


def invariant(function):
    INVARIANTS[function.__name__] = function
    return function


def close(got, wanted, tolerance=1e-12):
    assert_close(got, wanted, rtol=tolerance, atol=tolerance)


def gradients(kind, inputs, mask, rows=slice(None)):
    """Gradients of a weighted sum of the output's rows, one for each input."""
    inputs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    output = kind(*inputs, mask)
    factors = torch.linspace(0.5, 2.0, output.shape[-1], dtype=output.dtype)
    return torch.autograd.grad((output * factors)[..., rows, :].sum(), inputs)


@invariant
def equals_the_loops(kind):
    for mask in kind.masks():
        query, key, value = kind.inputs(BATCH)
        visible = kind.visible(mask)
        if kind.explicit is None:
            scale = kind.options.get("scale")
            wanted = reference_attention(query, key, value, mask=visible, scale=scale)
        else:
            wanted = kind.explicit(query, key, value, visible)
        close(kind(query, key, value, mask), wanted)


@invariant
def rows_sum_to_one_over_visible_keys(kind):
    for mask in kind.masks():
        query, key, _ = kind.inputs(BATCH)
        options = dict(kind.options) if mask is None else {**kind.options, "mask": mask}
        weights = attention_map(kind.function, query, key, **options)
        visible = kind.visible(mask)
        assert weights.shape == (BATCH, kind.n_query, N_KEY)
        assert (weights >= 0).all()
        assert (weights[:, ~visible] == 0).all()
        close(weights.sum(dim=-1), visible.any(dim=-1).double().expand(BATCH, -1))


@invariant
def the_map_is_the_map_that_was_used(kind):
    for mask in kind.masks():
        query, key, value = kind.inputs(BATCH, HEADS)
        options = dict(kind.options) if mask is None else {**kind.options, "mask": mask}
        weights = attention_map(kind.function, query, key, **options)
        close(weights @ value, kind(query, key, value, mask))


@invariant
def linear_in_value(kind):
    for mask in kind.masks():
        query, key, value = kind.inputs(BATCH)
        *_, other = kind.inputs(BATCH, seed=5)
        wanted = 2 * kind(query, key, value, mask) - 3 * kind(query, key, other, mask)
        close(kind(query, key, 2 * value - 3 * other, mask), wanted)


@invariant
def hidden_keys_and_values_do_not_count(kind):
    """Each query by itself: change, by finite amounts, all that it may not see."""
    for mask in kind.masks():
        query, key, value = kind.inputs(BATCH)
        output = kind(query, key, value, mask)
        for i, visible in enumerate(kind.visible(mask)):
            row = gradients(kind, (query, key, value), mask, rows=i)[0]
            for amount in (1.0, -50.0, 1e30):
                change = torch.where(visible, 0.0, amount)[:, None]  # (n_key, 1)
                changed = query, key + change, value - change
                close(kind(*changed, mask)[:, i], output[:, i])
                close(gradients(kind, changed, mask, rows=i)[0], row)


@invariant
def hidden_keys_and_values_get_no_gradient(kind):
    for mask in kind.masks():
        for i, visible in enumerate(kind.visible(mask)):
            of_query, of_key, of_value = gradients(kind, kind.inputs(BATCH), mask, rows=i)
            assert (of_key[:, ~visible] == 0).all()
            assert (of_value[:, ~visible] == 0).all()
            others = torch.arange(kind.n_query) != i
            assert (of_query[:, others] == 0).all()
            if visible.sum() > 1:  # one visible key gets all the weight, whatever its score
                assert (of_key[:, visible] != 0).any()
                assert (of_value[:, visible] != 0).all()


@invariant
def what_nobody_sees_may_hold_anything(kind):
    """inf and NaN as well: in keys and values of no query, in a query that sees nothing."""
    for mask in kind.masks():
        clean = kind.inputs(BATCH)
        visible = kind.visible(mask)
        for rubbish in (float("nan"), float("inf"), -float("inf"), 1e300):
            dirty = [tensor.clone() for tensor in clean]
            dirty[0][:, ~visible.any(dim=1)] = rubbish
            dirty[1][:, ~visible.any(dim=0)] = rubbish
            dirty[2][:, ~visible.any(dim=0)] = rubbish
            close(kind(*dirty, mask), kind(*clean, mask))
            for got, wanted in zip(gradients(kind, dirty, mask), gradients(kind, clean, mask)):
                close(got, wanted)


@invariant
def a_value_that_is_not_finite_reaches_only_who_sees_it(kind):
    """Causal attention: NaN at a position changes nothing before it. Nor the gradient there."""
    for mask in kind.masks():
        clean = kind.inputs(BATCH)
        wanted, wanted_gradient = kind(*clean, mask), gradients(kind, clean, mask)[0]
        for j, seen in enumerate(kind.visible(mask).unbind(dim=1)):
            for rubbish in (float("nan"), float("inf")):
                query, key, value = (tensor.clone() for tensor in clean)
                value[:, j] = rubbish
                got = kind(query, key, value, mask)
                close(got[:, ~seen], wanted[:, ~seen])
                assert not got[:, seen].isfinite().any()
                gradient = gradients(kind, (query, key, value), mask)[0]
                close(gradient[:, ~seen], wanted_gradient[:, ~seen])


@invariant
def a_query_that_sees_nothing_gets_zeros(kind):
    for mask in kind.masks():
        inputs = kind.inputs(BATCH)
        blind = ~kind.visible(mask).any(dim=-1)
        assert (kind(*inputs, mask)[:, blind] == 0).all()
        with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
            warnings.simplefilter("ignore")
            all_gradients = gradients(kind, inputs, mask)
        assert all(gradient.isfinite().all() for gradient in all_gradients)
        assert (all_gradients[0][:, blind] == 0).all()
        for gradient in gradients(kind, inputs, mask, rows=blind):
            assert (gradient == 0).all()


@invariant
def padding_changes_nothing(kind):
    """A sequence in a padded batch gets what it gets alone, and so do its gradients."""
    if not kind.takes_mask:
        return
    lengths = [N_KEY - 3, N_KEY, 0]
    inputs = kind.inputs(len(lengths))
    mask = padding_mask(lengths, N_KEY)
    output = kind(*inputs, mask)
    for b, length in enumerate(lengths):
        if length == 0:
            assert (output[b] == 0).all()
            continue
        n_query = kind.n_query if kind.takes_cross else length
        rows = slice(n_query)
        ends = (n_query, length, length)
        alone = [tensor[b, :end] for tensor, end in zip(inputs, ends)]
        close(output[b, rows], kind(*alone))
        padded = [tensor[b : b + 1] for tensor in inputs]
        of_padded = gradients(kind, padded, mask[b : b + 1], rows=rows)
        for got, wanted, end in zip(of_padded, gradients(kind, alone, None), ends):
            close(got[0, :end], wanted)
            assert (got[0, end:] == 0).all()


@invariant
def order_of_keys_does_not_count(kind):
    """One common permutation of keys, values and the mask's columns changes nothing."""
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    for mask in kind.masks() if kind.pattern is None else []:
        query, key, value = kind.inputs(BATCH)
        moved = None if mask is None else mask[:, order]
        wanted = kind(query, key, value, mask)
        close(kind(query, key[:, order], value[:, order], moved), wanted)
        with torch.no_grad():  # and the other way round: to move the keys alone does count
            alone = kind(query, key[:, order], value, mask)
        assert not torch.allclose(alone, wanted)


@invariant
def order_of_positions_moves_the_output_along(kind):
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    query = kind.inputs(BATCH, n_key=N_KEY)[1]  # as many queries as keys
    _, key, value = kind.inputs(BATCH, seed=3)
    own = torch.rand(N_KEY, N_KEY, generator=torch.Generator().manual_seed(2)) < 0.7
    masks = [None, own] if kind.takes_mask is True else [None]
    for mask in masks if kind.pattern is None else []:
        moved = None if mask is None else mask[order][:, order]
        output = kind(query, key, value, mask)
        got = kind(query[:, order], key[:, order], value[:, order], moved)
        close(got, output[:, order])


@invariant
def inputs_are_left_alone(kind):
    for mask in kind.masks():
        inputs = kind.inputs(BATCH) + ([] if mask is None else [mask])
        copies = [tensor.clone() for tensor in inputs]
        versions = [tensor._version for tensor in inputs]
        output = kind(*inputs)
        output.zero_()  # the output shares no memory with an input either
        assert [tensor._version for tensor in inputs] == versions
        assert all(torch.equal(a, b) for a, b in zip(inputs, copies))


@invariant
def dtype_is_kept(kind):
    for dtype, tolerance in DTYPES.items():
        for mask in kind.masks():
            inputs = kind.inputs(BATCH, dtype=dtype)
            output = kind(*inputs, mask)
            assert output.dtype == dtype
            close(output.double(), kind(*(x.double() for x in inputs), mask), tolerance)


@invariant
def device_is_kept(kind):
    devices = ["cpu", "meta"]
    devices += ["cuda"] if torch.cuda.is_available() else []
    devices += ["mps"] if torch.backends.mps.is_available() else []
    for device in devices:
        for mask in kind.masks():
            inputs = kind.inputs(BATCH, dtype=torch.float32, device=device)
            output = kind(*inputs, None if mask is None else mask.to(device))
            assert output.device.type == device
            assert output.shape == kind(*kind.inputs(BATCH), mask).shape


@invariant
def layout_does_not_count(kind):
    for mask in kind.masks():
        inputs = kind.inputs(BATCH)
        wanted = kind(*inputs, mask)
        turned = [tensor.mT.contiguous().mT for tensor in inputs]
        strided = [tensor.repeat_interleave(2, dim=-1)[..., ::2] for tensor in inputs]
        for layout in (turned, strided):
            assert not any(tensor.is_contiguous() for tensor in layout)
            close(kind(*layout, mask), wanted)
        single = kind.inputs()
        expanded = [tensor.expand(HEADS, BATCH, *tensor.shape) for tensor in single]
        close(kind(*expanded, mask), kind(*single, mask).expand(HEADS, BATCH, -1, -1))


@invariant
def any_leading_axes(kind):
    """None, one, two or three of them: each example gets what it gets alone."""
    for mask in kind.masks():
        for lead in ((), (BATCH,), (BATCH, HEADS), (1, HEADS, BATCH)):
            inputs = kind.inputs(*lead)
            output = kind(*inputs, mask)
            assert output.shape == (*lead, kind.n_query, inputs[2].shape[-1])
            for index in torch.cartesian_prod(*map(torch.arange, lead)) if lead else []:
                index = tuple(index.reshape(-1).tolist())
                close(output[index], kind(*(tensor[index] for tensor in inputs), mask))


@invariant
def leading_axes_broadcast(kind):
    query, _, value = kind.inputs(BATCH, 1)
    key = kind.inputs(HEADS, seed=4)[1]
    full = [x.expand(BATCH, HEADS, *x.shape[-2:]) for x in (query, key, value)]
    for mask in kind.masks():
        close(kind(query, key, value, mask), kind(*full, mask))
    if kind.takes_mask:
        batches = padding_mask([N_KEY - 2, N_KEY], N_KEY)[:, None]  # (batch, 1, 1, n_key)
        n_rows = 1 if kind.takes_mask == "keys" else kind.n_query
        close(kind(*full, batches), kind(*full, batches.expand(-1, HEADS, n_rows, -1)))
        single = kind.inputs()  # a mask may bring leading axes of its own
        bare = kind(*single, batches[:, 0])
        close(bare, kind(*(x.expand(BATCH, *x.shape) for x in single), batches[:, 0]))


@invariant
def gradients_are_those_of_finite_differences(kind):
    for mask in kind.masks():
        inputs = [tensor.requires_grad_() for tensor in kind.inputs(1)]
        assert gradcheck(kind, (*inputs, mask), fast_mode=True)
        assert gradgradcheck(kind, (*inputs, mask), fast_mode=True)


@invariant
def large_scores_stay_finite(kind):
    """They saturate the softmax and must not overflow it, nor lose to a "big" negative number."""
    for mask in kind.masks():
        options = dict(kind.options) if mask is None else {**kind.options, "mask": mask}
        for size in (30, 1e6):  # scores in the thousands, and of 1e12
            query, key, value = kind.inputs(BATCH)
            output = kind(size * query, size * key, value, mask)
            assert output.isfinite().all()
            assert output.abs().max() <= value.abs().max() * (1 + 1e-12)
            weights = attention_map(kind.function, size * query, size * key, **options)
            close(weights.sum(dim=-1), kind.visible(mask).any(dim=-1).double().expand(BATCH, -1))
