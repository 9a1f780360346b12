"""The pointer, held against a loop over places, and against what it must not depend on."""

import math

import pytest
import torch

from attn_edu.attention import scaled_dot_product_attention
from attn_edu.models import Pointer
from attn_edu.models.pointer import RelativeAttention, biased_attention

SIGNS, WORDS, WIDTH = 5, 17, 12  # tokens 0 to 16 are words, 17 to 21 signs


def make(**options) -> Pointer:
    torch.manual_seed(0)
    options = {"n_heads": 3, "n_layers": 2} | options
    return Pointer(WORDS + SIGNS, SIGNS, WIDTH, **options).eval()


ROW = [4, 18, 2, 18, 7, 20, 8, 20, 5]
EVERY = ({}, {"reader": "lstm"}, {"match": True}, {"reader": "lstm", "match": True})


def test_relative_attention_is_a_loop_over_pairs():
    torch.manual_seed(0)
    layer, x = RelativeAttention(12, 3, reach=2).double(), torch.randn(2, 7, 12).double()
    mask = torch.rand(2, 7, 7) < 0.6
    mask[:, 3] = False  # one that sees nothing
    with torch.no_grad():
        query, key = (part(x).view(2, 7, 3, 4) for part in (layer.query, layer.key))
        maps = layer.map(x, mask=mask)
    for b, h, i in [(0, 0, 0), (1, 2, 6), (0, 1, 4), (1, 1, 3)]:
        odds = []
        for j in range(7):
            score = (
                query[b, i, h] @ key[b, j, h] / 2 + layer.distance[h, min(max(j - i, -2), 2) + 2]
            )
            odds.append(math.exp(score.item()) if mask[b, i, j] else 0.0)
        wanted = torch.tensor(odds).double() / max(sum(odds), 1e-9)
        torch.testing.assert_close(maps[b, h, i], wanted)
    values = layer.value(x).view(2, 7, 3, 4).transpose(1, 2)
    wanted = layer.out((maps @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, mask=mask), wanted)


def test_without_a_bias_it_is_plain_attention():
    query, key, value = torch.randn(3, 2, 5, 4)
    mask = torch.rand(5, 5) < 0.7
    for options in ({}, {"mask": mask}):
        plain = scaled_dot_product_attention(query, key, value, **options)
        biased = biased_attention(query, key, value, bias=torch.zeros(()), **options)
        torch.testing.assert_close(biased, plain)


@pytest.mark.parametrize("options", EVERY)
def test_padding_and_companions_change_nothing(options):
    model = make(**options)
    other = [3, 21, 2, 21, 17, 19, 6, 17, 18, 9, 3, 5]
    batch = torch.tensor([ROW + [0] * 5, [*other, 0, 0]])
    with torch.no_grad():
        torch.testing.assert_close(model(batch)[:1], model(torch.tensor([ROW])))
        torch.testing.assert_close(model(batch)[1:], model(torch.tensor([other])))


def test_odds_of_a_names_places_add_up():
    model, tokens = make(), torch.tensor([ROW])
    with torch.no_grad():
        x = model.stack(model.tokens(tokens), mask=(tokens != 0)[:, None])
        scores = (x[0] @ model.score.weight[0] + model.score.bias).tolist()
        logits = model(tokens)[0].tolist()
    for sign in range(SIGNS):
        places = [i for i, t in enumerate(ROW) if t == WORDS + sign and i > ROW.index(2)]
        if places:
            wanted = math.log(sum(math.exp(scores[i]) for i in places))
            assert logits[sign] == pytest.approx(wanted, abs=1e-5)
        else:
            assert logits[sign] < -1000


def test_a_name_of_the_question_alone_is_no_answer():
    tokens = torch.tensor([[4, 19, 2, 18, 7, 20]])
    assert (make()(tokens)[0] > -1000).tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("options", EVERY)
def test_every_part_gets_a_gradient(options):
    model = make(**options)
    tokens = torch.tensor([ROW, [4, 18, 2, 18, 20, 19, 8, 20, 0]])
    torch.nn.functional.cross_entropy(model(tokens), torch.tensor([3, 2])).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0 or name.endswith(("key.bias", "score.bias")), name


def test_maps_are_the_weights_of_the_stack():
    model, tokens = make(), torch.tensor([[*ROW, 0]])
    maps = model.maps(tokens)
    assert maps.shape == (2, 1, 3, 10, 10)
    torch.testing.assert_close(maps.sum(dim=-1), torch.ones(2, 1, 3, 10))
    assert maps[..., -1].abs().max() == 0  # nobody looks at padding
    wanted = model.stack.maps(model.tokens(tokens), mask=(tokens != 0)[:, None])
    torch.testing.assert_close(maps, wanted)


def test_at_the_start_a_token_looks_for_its_like():
    tokens = torch.tensor([[*ROW]])
    alike, not_alike = (make(alike=factor).maps(tokens)[0, 0] for factor in (2.0, None))
    copies = tokens[0][:, None] == tokens[0]
    share = [(maps * copies).sum(-1).mean() for maps in (alike, not_alike)]
    assert share[0] > 2 * share[1]


def test_the_match_is_told_for_the_text_alone():
    model = make(match=True)
    tokens = torch.tensor([ROW])
    with torch.no_grad():
        told = model._embed(tokens) - model.tokens(tokens)  # (1, n, width)
    matching = torch.tensor([False] * 3 + [t in ROW[:2] for t in ROW[3:]])
    torch.testing.assert_close(told[0], model.match.weight[matching.long()])


@pytest.mark.parametrize("reader", ["transformer", "lstm"])
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda row: row[0], "accepted is .batch, n. of int64"),
        (lambda row: row[:0], "neither of them 0"),
        (lambda row: row.float(), "of torch.float32"),
        (lambda row: row + 100, "numbers from"),
        (lambda row: -row, "numbers from"),
        (lambda row: row * 0, "padding alone"),
    ],
)
def test_rows_that_do_not_fit_are_named(reader, change, named):
    with pytest.raises(ValueError, match=named):
        make(reader=reader)(change(torch.tensor([ROW])))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"reader": "gru"}, "reader"),
        ({"reader": "lstm", "n_layers": 0}, "n_layers"),
        ({"n_heads": 5}, "n_heads"),
    ],
)
def test_what_does_not_fit_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        make(**options)
    with pytest.raises(ValueError, match="vocabulary - n_signs"):
        Pointer(5, 5, WIDTH)
    with pytest.raises(ValueError, match="reader"):
        make(reader="lstm").maps(torch.tensor([ROW]))
