"""`make bench ARGS=language`: the control is the same model, and both are what they are called."""

import functools
import math

import pytest
import torch

from attn_edu.models import count_parameters
from bench import language


@pytest.fixture(scope="module")
def models():
    return {name: model.eval() for name, model in language.candidates().items()}


def test_ours_and_the_control_start_as_the_same_function(models):
    tokens = torch.randint(64, (3, 11), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours, theirs = models["attn_edu"](tokens), models["torch"](tokens)
    assert ours.std() > 0.1
    torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-4)
    assert len({count_parameters(model) for model in models.values()}) == 1


def test_their_layers_do_not_start_alike(models):
    first, second, *_ = models["torch"].stack.layers
    for name, weight in first.state_dict().items():
        if weight.ndim == 2:
            assert not weight.equal(second.state_dict()[name]), name


@pytest.mark.parametrize("name", ["attn_edu", "torch"])
def test_neither_sees_the_future(models, name):
    tokens = torch.arange(9)[None]
    changed = tokens.clone()
    changed[0, 5] = 40
    with torch.no_grad():
        moved = (models[name](changed) - models[name](tokens)).abs().amax(dim=-1)[0]
    assert (moved[:5] < 1e-5).all() and (moved[5:] > 1e-3).all()


def test_both_take_the_same_step(models):
    """The same batch gives the same gradients: the loss after it is the same too."""
    read, answers = language.draw(torch.Generator().manual_seed(3))
    assert read.shape == answers.shape == (12, 64) and read[:, 1:].equal(answers[:, :-1])
    norms = []
    for model in models.values():
        model.zero_grad()
        language.loss(model(read), answers).backward()
        norms.append(torch.stack([p.grad.norm() for p in model.parameters()]).norm().item())
        model.zero_grad()
    tied = models["attn_edu"].output.weight is models["attn_edu"].tokens.weight
    assert tied and norms[0] > 0.1
    assert norms[0] == pytest.approx(norms[1], rel=1e-3)


def test_a_model_that_says_nothing_has_the_loss_of_a_blind_guess():
    class Silent(torch.nn.Module):
        def forward(self, tokens):
            return torch.zeros(*tokens.shape, 64)

    assert language.held_out_loss(Silent(), every=5) == pytest.approx(math.log(64), rel=1e-5)


def test_it_prints_both_and_puts_the_threads_back(monkeypatch, capsys):
    monkeypatch.setattr(
        language, "held_out_loss", functools.partial(language.held_out_loss, every=200)
    )
    monkeypatch.setattr(language, "milliseconds", lambda models, rounds: dict.fromkeys(models, 2.0))
    threads = torch.get_num_threads()
    language.main(["--steps", "2"])
    assert torch.get_num_threads() == threads
    printed = capsys.readouterr().out
    assert "384,000" in printed and "ours takes 1.00 of the control's time" in printed
    assert printed.count("nats (") == 2
