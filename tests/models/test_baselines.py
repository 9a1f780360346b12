"""The readers: what reaches what (by perturbation), the bias of the forget gate, equal budgets."""

import pytest
import torch

from attn_edu.models import (
    READERS,
    Attending,
    Convolutional,
    Recurrent,
    SequenceClassifier,
    count_parameters,
    make_reader,
    matched_width,
)

B, T, D = 2, 7, 6


def moved(reader, position):
    """Which outputs move when the input at one position does: (T,) booleans."""
    torch.manual_seed(1)
    x = torch.randn(B, T, D, dtype=torch.float64)
    y = x.clone()
    y[:, position] += torch.randn(D, dtype=torch.float64)
    reader = reader.double()
    return ((reader(x) - reader(y)).abs().amax(dim=(0, 2)) > 0).tolist()


@pytest.mark.parametrize("name", READERS)
def test_every_reader_keeps_the_shape(name):
    assert make_reader(name, D)(torch.zeros(B, T, D)).shape == (B, T, D)


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_a_recurrent_reader_sees_the_past_only(kind):
    torch.manual_seed(0)
    assert moved(Recurrent(kind, D), 3) == [t >= 3 for t in range(T)]


@pytest.mark.parametrize("causal", [True, False])
def test_attention_sees_the_past_or_everything(causal):
    torch.manual_seed(0)
    assert moved(Attending(D, n_heads=2, causal=causal), 3) == [
        t >= 3 or not causal for t in range(T)
    ]


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"window": 3}, {2, 3, 4}),
        ({"window": 3, "layers": 2}, {1, 2, 3, 4, 5}),
        ({"window": 2, "causal": True}, {3, 4}),
        ({"window": 3, "layers": 2, "causal": True}, {3, 4, 5, 6}),
    ],
)
def test_a_convolution_sees_its_window(options, seen):
    torch.manual_seed(0)
    # every unit of a layer passes: without this a ReLU may hide a path
    reader = Convolutional(D, **options)
    for layer in reader.layers:
        torch.nn.init.constant_(layer.bias, 5.0)
    assert moved(reader, 3) == [t in seen for t in range(T)]


def test_the_recurrent_reader_is_the_formula():
    torch.manual_seed(0)
    reader = Recurrent("rnn", D).double()
    x = torch.randn(1, T, D, dtype=torch.float64)
    w = dict(reader.layer.named_parameters())
    h = torch.zeros(D, dtype=torch.float64)
    for t in range(T):
        h = torch.tanh(
            w["weight_ih_l0"] @ x[0, t] + w["bias_ih_l0"] + w["weight_hh_l0"] @ h + w["bias_hh_l0"]
        )
        torch.testing.assert_close(reader(x)[0, t], h)


def test_the_forget_bias_opens_the_gate_that_keeps_the_cell():
    """With all weights 0, each step multiplies the cell by sigmoid(bias), and by nothing else."""
    reader = Recurrent("lstm", D, forget_bias=1.5)
    with torch.no_grad():
        for name in ("weight_ih_l0", "weight_hh_l0"):
            getattr(reader.layer, name).zero_()
        gates = reader.layer.bias_ih_l0 + reader.layer.bias_hh_l0
        candidate = torch.sigmoid(gates[:D]) * torch.tanh(gates[2 * D : 3 * D])
        start = torch.full((1, 1, D), 3.0)
        _, (_, cell) = reader.layer(torch.zeros(1, 1, D), (torch.zeros(1, 1, D), start))
    keep = torch.sigmoid(torch.tensor(1.5))
    torch.testing.assert_close(cell[0, 0], keep * 3.0 + candidate)


def test_the_classifier_adds_fields_and_positions_and_reads_the_end_or_the_mean():
    torch.manual_seed(0)
    identity = torch.nn.Identity()
    tokens = torch.tensor([[[0, 3], [2, 1], [1, 0]], [[2, 2], [0, 0], [1, 1]]])  # (2, 3, 2)
    for answer_from in ("last", "mean"):
        model = SequenceClassifier(identity, (3, 4), D, 5, max_length=T, answer_from=answer_from)
        names, things = (e.weight for e in model.embeddings)
        rows = []
        for sequence in tokens.tolist():
            x = [
                names[a] + things[b] + model.positions.weight[t]
                for t, (a, b) in enumerate(sequence)
            ]
            rows.append(model.head(x[-1] if answer_from == "last" else sum(x) / 3))
        torch.testing.assert_close(model(tokens), torch.stack(rows))


@pytest.mark.parametrize("name", READERS)
def test_widths_are_matched_to_a_budget(name):
    def make(width):
        return SequenceClassifier(make_reader(name, width), (9,), width, 4)

    state = torch.random.get_rng_state()
    width = matched_width(make, 5000)
    assert torch.equal(torch.random.get_rng_state(), state), "drew random numbers"
    gaps = {w: abs(count_parameters(make(w)) - 5000) for w in (width - 1, width, width + 1)}
    assert min(gaps, key=gaps.get) == width
    assert gaps[width] < 0.04 * 5000


def test_parameters_are_counted():
    model = torch.nn.Linear(3, 4)
    model.bias.requires_grad_(False)
    assert count_parameters(model) == 12


@pytest.mark.parametrize(
    ("call", "error", "names"),
    [
        (lambda: Recurrent("elman", D), ValueError, "kind.*elman.*rnn"),
        (lambda: Recurrent("gru", D, forget_bias=1.0), ValueError, "forget_bias.*gru"),
        (lambda: Recurrent("rnn", 0), ValueError, "width.*0"),
        (lambda: Convolutional(D, window=4), ValueError, "window.*4.*odd"),
        (lambda: Convolutional(D, layers=0), ValueError, "layers.*0"),
        (lambda: make_reader("transformer", D), KeyError, "transformer.*attention"),
        (
            lambda: SequenceClassifier(torch.nn.Identity(), (3,), D, 2, answer_from="first"),
            ValueError,
            "answer_from.*first.*mean",
        ),
        (
            lambda: matched_width(lambda w: torch.nn.Linear(w, 500), 20),
            ValueError,
            "parameters.*20",
        ),
        (lambda: matched_width(lambda w: torch.nn.Linear(w, w), 0), ValueError, "parameters.*0"),
    ],
)
def test_bad_input_is_named(call, error, names):
    with pytest.raises(error, match=names):
        call()
