"""The training loop: reproducible, stops when told, leaves no bar behind."""

import math

import pytest
import torch
from torch import nn

from attn_edu.training import accuracy, train


def line(generator):
    x = torch.randn(8, 3, generator=generator)
    return x, x @ torch.tensor([[1.0], [2.0], [-3.0]])


def fitted(seed=0, steps=40, **options):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(3, 1), nn.Dropout(0.1))
    options = {"loss": nn.functional.mse_loss, "lr": 0.1, "progress": False, **options}
    return model, train(model, options.pop("batches", line), steps=steps, seed=seed, **options)


def test_the_loss_falls_and_the_same_seed_gives_the_same_losses():
    _, first = fitted()
    _, again = fitted()
    _, other = fitted(seed=1)
    assert first.losses == again.losses != other.losses
    assert sum(first.losses[-5:]) < 0.5 * sum(first.losses[:5])
    assert first.steps == 40
    assert not first.stopped_early


def test_it_is_the_plain_loop():
    """Five steps written out: gradients from zero each time, clipped, then Adam."""
    model, history = fitted(steps=5, clip=0.5)
    torch.manual_seed(7)
    plain = nn.Sequential(nn.Linear(3, 1), nn.Dropout(0.1))
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    adam = torch.optim.Adam(plain.parameters(), lr=0.1)
    for loss in history.losses:
        x, y = line(generator)
        value = (plain(x) - y).square().mean()
        assert value.item() == pytest.approx(loss)
        grads = torch.autograd.grad(value, list(plain.parameters()))
        norm = torch.cat([g.flatten() for g in grads]).norm()
        for p, g in zip(plain.parameters(), grads):
            p.grad = g * min(1, 0.5 / norm.item())
        adam.step()
    for got, wanted in zip(model.parameters(), plain.parameters()):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-6)


def test_an_iterable_is_gone_through_again():
    seen = []

    class Watched(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))

        def forward(self, x):
            seen.append(x.item())
            return self.w * x

    batches = [(torch.tensor([i]), torch.tensor([0.0])) for i in (1.0, 2.0, 3.0)]
    train(Watched(), batches, loss=nn.functional.mse_loss, steps=7, progress=False)
    assert seen == [1, 2, 3, 1, 2, 3, 1]


def test_a_tuple_of_inputs_is_several_arguments():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))

        def forward(self, x, y):
            return self.w * (x - 2 * y)

    batches = [((torch.tensor([5.0]), torch.tensor([1.0])), torch.tensor([0.0]))]
    history = train(Two(), batches, loss=nn.functional.mse_loss, steps=1, progress=False)
    assert history.losses == [9.0]


def test_gradients_are_clipped():
    """One step of Adam hides the gradient's size; the gradient that is left shows it."""
    model, _ = fitted(steps=1, clip=0.01, lr=1e-9)
    norm = math.sqrt(sum(p.grad.square().sum().item() for p in model.parameters()))
    assert norm == pytest.approx(0.01, rel=1e-3)


def test_patience_ends_a_run_that_no_longer_improves():
    def flat(generator):
        return torch.zeros(2, 3), torch.ones(2, 1)

    frozen = nn.Linear(3, 1)
    loss = nn.functional.mse_loss
    history = train(
        frozen, flat, loss=lambda a, b: loss(a, b) * 0 + 1, steps=99, patience=6, progress=False
    )
    assert history.stopped_early
    assert history.steps == 7


def test_scores_are_kept_at_their_steps():
    _, history = fitted(steps=7, evaluate=lambda: 5.0, every=3)
    assert history.scores == [(0, 5.0), (3, 5.0), (6, 5.0)]


def test_a_look_at_the_model_in_evaluation_mode_changes_no_step():
    torch.manual_seed(7)
    model = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1))

    def losses(**options):
        for parameter in model.parameters():
            parameter.data.fill_(0.1)
        options |= {"loss": nn.functional.mse_loss, "steps": 6, "progress": False}
        return train(model, line, **options).losses

    wanted = losses()
    assert losses(evaluate=lambda: float(model.eval().training), every=2) == wanted
    assert model.training


def test_the_bar_removes_itself(capsys):
    fitted(steps=3, progress=True)
    out, err = capsys.readouterr()
    assert err == ""
    assert out.rstrip("\r").split("\r")[-1].strip() == ""


def test_a_loss_that_is_not_finite_stops_the_run():
    def broken(generator):
        return torch.full((2, 3), math.inf), torch.ones(2, 1)

    with pytest.raises(FloatingPointError, match=r"step 0.*lr"):
        fitted(batches=broken)


@pytest.mark.parametrize("name", ["steps", "lr", "clip", "patience", "every"])
def test_numbers_must_be_above_zero(name):
    with pytest.raises(ValueError, match=f"{name}: got 0"):
        fitted(**{name: 0})


def test_no_batches_is_an_error():
    with pytest.raises(ValueError, match="batches: got nothing"):
        fitted(batches=[])


def rates(monkeypatch, **options):
    """The lr of each step, as the optimiser had it."""
    seen, step = [], torch.optim.AdamW.step

    def watched(self, *args):
        seen.append({group["lr"] for group in self.param_groups})
        return step(self, *args)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    fitted(lr=0.2, **options)
    assert all(len(rate) == 1 for rate in seen)
    return [rate.pop() for rate in seen]


def test_lr_stays_warms_up_and_follows_the_cosine(monkeypatch):
    assert rates(monkeypatch, steps=3) == [0.2] * 3
    warm = rates(monkeypatch, steps=6, warmup=4)
    assert warm == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.2, 0.2])
    both = rates(monkeypatch, steps=10, warmup=2, schedule="cosine")
    wave = [0.1 * (1 + math.cos(math.pi * i / 8)) for i in range(8)]
    assert both == pytest.approx([0.1, 0.2, *wave])
    assert rates(monkeypatch, steps=3, warmup=9) == pytest.approx([0.2 / 9, 0.4 / 9, 0.6 / 9])


def test_weight_decay_shrinks_matrices_and_no_vector():
    """Without gradients nothing else moves a weight: each step takes off lr · decay of it."""

    def flat(generator):
        return torch.zeros(2, 3), torch.zeros(2, 1)

    model = nn.Linear(3, 1)
    matrix, vector = (p.detach().clone() for p in model.parameters())
    nothing = lambda output, target: (output * 0).sum()  # noqa: E731
    train(model, flat, loss=nothing, steps=5, lr=0.1, weight_decay=0.3, progress=False)
    torch.testing.assert_close(model.weight.detach(), matrix * (1 - 0.03) ** 5)
    assert torch.equal(model.bias.detach(), vector)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("warmup", -1),
        ("weight_decay", -0.1),
        ("schedule", "linear"),
        ("weight_decay", math.nan),
        ("steps", 1.5),
        ("every", 2.5),
        ("patience", 0.5),
    ],
)
def test_options_out_of_range_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name}: got"):
        fitted(**{name: value})


def test_accuracy_counts_in_evaluation_mode_and_puts_the_mode_back():
    model = nn.Sequential(nn.Identity(), nn.Dropout(0.99))
    logits = torch.eye(3)[[0, 1, 2, 2, 1]]
    assert accuracy(model, logits, torch.tensor([0, 1, 2, 0, 0]), batch=2) == 3 / 5
    assert model.training
    model.eval()
    accuracy(model, logits, torch.tensor([0, 1, 2, 0, 0]))
    assert not model.training
