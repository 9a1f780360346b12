"""Exercises of chapter 12: one text looks at another."""

import math

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal

# 12.cross_attention


def cross_attention(decoder, encoder, w_query, w_key, w_value, encoder_mask):
    query = decoder @ w_query  # (batch, n_target, d_model)
    key, value = encoder @ w_key, encoder @ w_value  # (batch, n_source, d_model)
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (batch, n_target, n_source)
    if encoder_mask is not None:
        scores = scores.masked_fill(~encoder_mask[:, None], -math.inf)  # (batch, 1, n_source)
    return scores.softmax(dim=-1) @ value  # (batch, n_target, d_model)


def _hidden(scores, mask):
    return scores.masked_fill(~mask, -math.inf), 1


def _ignored(scores, mask):
    return scores, 1


def _added(scores, mask):
    return scores + mask, 1


def _zero_times_infinity(scores, mask):
    return scores + (1 - mask.to(scores.dtype)) * -math.inf, 1


def _zeroed(scores, mask):
    return scores * mask, 1


def _afterwards(scores, mask):
    return scores, mask


def _all(scores):
    return scores


def _triangle(scores):
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~seen, -math.inf)


def _cross(
    decoder,
    encoder,
    w_query,
    w_key,
    w_value,
    encoder_mask,
    *,
    sides="dee",  # whose queries, keys and values: decoder or encoder
    matrices="qkv",  # which weight makes queries, keys and values
    query_made=True,
    key_made=True,
    value_made=True,
    apply=torch.matmul,
    source=lambda encoder, mask: encoder,
    scale=lambda query, key: 1 / math.sqrt(query.shape[-1]),
    polarity=lambda mask: mask,
    place=lambda mask: mask[:, None],
    hide=_hidden,
    future=_all,
    normal=lambda scores: scores.softmax(dim=-1),
    after=lambda output, decoder: output,
):
    text = {"d": decoder, "e": source(encoder, encoder_mask)}
    weights = {"q": w_query, "k": w_key, "v": w_value}
    query, key, value = (
        apply(text[side], weights[matrix]) if made else text[side]
        for side, matrix, made in zip(sides, matrices, (query_made, key_made, value_made))
    )
    scores, factor = future(query @ key.mT * scale(query, key)), 1
    if encoder_mask is not None:
        scores, factor = hide(scores, place(polarity(encoder_mask)))
    return after((normal(scores) * factor) @ value, decoder)


def _cases():
    def texts(batch, n_target, n_source, d, seed):
        decoder, encoder = (
            normal(batch, n_target, d, seed=seed),
            normal(batch, n_source, d, seed=seed + 1),
        )
        size = 1 / math.sqrt(d)
        return decoder, encoder, *(normal(d, d, seed=seed + i, size=size) for i in (2, 3, 4))

    def real(n, *lengths):
        """Padding at the end; in front where the length is negative. Some in every text."""
        mask = torch.arange(n) < torch.tensor(lengths).abs()[:, None]
        return torch.stack([row.flip(0) if k < 0 else row for row, k in zip(mask, lengths)])

    return [
        Case((*texts(1, 2, 3, 2, 10), None), "2 target words, 3 source words, no mask"),
        Case((*texts(1, 2, 3, 2, 10), real(3, 2)), "2 target words, 3 source words, 1 padded"),
        Case((*texts(2, 3, 5, 4, 20), None), "a batch of 2, no mask"),
        Case((*texts(2, 3, 5, 4, 30), real(5, 4, 2)), "a batch of 2, 1 and 3 words of padding"),
        Case((*texts(3, 7, 4, 6, 40), real(4, 1, -3, 2)), "more target than source words"),
        Case((*texts(2, 4, 4, 3, 50), None), "as many target as source words, no mask"),
        Case((*texts(3, 4, 4, 5, 60), real(4, 2, 3, -1)), "as many target as source words, padded"),
        Case((*texts(2, 2, 2, 2, 70), real(2, 1, -1)), "2 texts of 2 words, in each 1 padded"),
    ]


CROSS_ATTENTION = Exercise(
    id="12.cross_attention",
    title="Cross-attention",
    statement=(
        "`decoder` (batch, n_target, d_model) is the text being written, `encoder` (batch, "
        "n_source, d_model) the one that was read. One head: the written text looks at the one "
        "that was read. Weights (d_model, d_model) are applied as `x @ w`. `encoder_mask` is "
        "`None` or boolean (batch, n_source), `True` = a word, `False` = padding, at the end or in "
        "front; each text has at least one word. Return (batch, n_target, d_model)."
    ),
    starter=(
        "def cross_attention(decoder, encoder, w_query, w_key, w_value, encoder_mask):\n"
        "    # decoder (batch, n_target, d_model), encoder (batch, n_source, d_model)\n"
        "    # -> (batch, n_target, d_model)\n"
        "    ...  # your code here\n"
    ),
    reference=cross_attention,
    why=(
        "Whoever writes asks: the queries come from the decoder. Whoever was read answers: keys "
        "and values come from the encoder, and so does the mask, with an axis of 1 for the "
        "queries. Nothing of the source lies in the future, so there is no triangle."
    ),
    model=_cross,
    cases=_cases,
    misconceptions=(
        Misconception(
            "queries from the encoder",
            "The text being written asks, so queries come from the decoder; keys and values come "
            "from the encoder. Here it is the other way round.",
            {"sides": "edd"},
        ),
        Misconception(
            "keys from the decoder",
            "A key belongs to the word that is looked at, and that is a word of the source.",
            {"sides": "dde"},
        ),
        Misconception(
            "values from the decoder",
            "What is taken away are values of the source: with the decoder's own values, nothing "
            "of the source is carried over.",
            {"sides": "ded"},
        ),
        Misconception(
            "self-attention in the decoder",
            "Queries, keys and values all come from the decoder, so the source is never read.",
            {"sides": "ddd"},
        ),
        Misconception(
            "self-attention in the encoder",
            "Queries, keys and values all come from the encoder: there must be one row for each "
            "word of the target.",
            {"sides": "eee"},
        ),
        Misconception(
            "mask ignored",
            "Padding of the source takes its share of the weights. Hide it with −∞ before the "
            "softmax.",
            {"hide": _ignored},
        ),
        Misconception(
            "mask over the queries",
            "The mask says which words of the source are padding, and these are columns of the "
            "scores: (batch, 1, n_source), with the axis of 1 in the middle.",
            {"place": lambda mask: mask[:, :, None]},
        ),
        Misconception(
            "no axis for the queries",
            "(batch, n_source) against (batch, n_target, n_source) takes the batch for the target "
            "words: one text's padding hides another's words. Put an axis of 1 in the middle.",
            {"place": lambda mask: mask},
        ),
        Misconception(
            "one mask for all texts",
            "Each text of the batch has its own padding; here all are hidden by the first one's.",
            {"place": lambda mask: mask[:1, None]},
        ),
        Misconception(
            "mask upside down",
            "`True` is a word and may be looked at. Here words are hidden and padding is seen.",
            {"polarity": lambda mask: ~mask},
        ),
        Misconception(
            "mask of 0 and 1 added to the scores",
            "Adding 1 to a visible score hides nothing. What is hidden needs −∞.",
            {"hide": _added},
        ),
        Misconception(
            "hidden scores set to 0",
            "A score of 0 hides nothing: the softmax gives it a share like any other. What is "
            "hidden needs −∞.",
            {"hide": _zeroed},
        ),
        Misconception(
            "padded words set to 0",
            "A source word of zeros has the score 0, and e⁰ = 1: it takes its share of the weights "
            "and brings nothing. What is hidden needs the score −∞.",
            {
                "source": lambda encoder, mask: (
                    encoder if mask is None else encoder * mask[..., None]
                ),
                "hide": _ignored,
            },
        ),
        Misconception(
            "NaN from infinity",
            "What is hidden needs exactly −∞: `masked_fill(~mask, -inf)`. `(1 - mask) * -inf` is "
            "NaN where the mask is 1, as 0 · ∞ is no number; and so is a softmax with +∞ in it.",
            {"hide": _zero_times_infinity},
        ),
        Misconception(
            "masked after the softmax",
            "Padding has already taken its share, so the rows no longer sum to 1. Hide it before.",
            {"hide": _afterwards},
        ),
        Misconception(
            "causal mask",
            "The source is there from the start: every word being written may look at all of it. "
            "The triangle belongs to the decoder's attention to itself.",
            {"future": _triangle},
        ),
        Misconception(
            "keys and values exchanged",
            "w_key makes what is compared with the queries, w_value what is taken away.",
            {"matrices": "qvk"},
        ),
        Misconception(
            "the weights of queries and keys exchanged",
            "w_query is for the text that asks, the decoder, and w_key for the one that is read.",
            {"matrices": "kqv"},
        ),
        Misconception(
            "the weights of queries and values exchanged",
            "w_query makes what asks, from the decoder, and w_value what is taken away, from the "
            "encoder.",
            {"matrices": "vkq"},
        ),
        Misconception(
            "one weight for keys and values",
            "w_key makes what is compared with the queries, w_value what is taken away: both from "
            "the encoder, each with a weight of its own.",
            {"matrices": "qkk"},
        ),
        Misconception(
            "one weight for queries and keys",
            "w_query makes what asks, from the decoder, and w_key what is compared with it, from "
            "the encoder: each has a weight of its own.",
            {"matrices": "qqv"},
        ),
        Misconception(
            "w_key for the queries as well",
            "w_query makes what asks, from the decoder, and w_key what is compared with it, from "
            "the encoder: each has a weight of its own.",
            {"matrices": "kkv"},
        ),
        Misconception(
            "one weight for all three",
            "Queries, keys and values have a weight of their own: w_query, w_key, w_value.",
            {"matrices": "qqq"},
        ),
        Misconception(
            "w_query left out",
            "A query is `decoder @ w_query`, not the decoder's vector itself.",
            {"query_made": False},
        ),
        Misconception(
            "w_key left out",
            "A key is `encoder @ w_key`, not the encoder's vector itself.",
            {"key_made": False},
        ),
        Misconception(
            "w_value left out",
            "A value is `encoder @ w_value`, not the encoder's vector itself.",
            {"value_made": False},
        ),
        Misconception(
            "weights turned round",
            "They are applied as `x @ w`. (`nn.Linear` keeps the transpose, which is not meant.)",
            {"apply": lambda x, w: x @ w.mT},
        ),
        Misconception(
            "not scaled",
            "Divide the scores by √d_model, the width of a query.",
            {"scale": lambda query, key: 1.0},
        ),
        Misconception(
            "divided by d_model",
            "The standard deviation of a dot product grows with √d_model: this is too flat.",
            {"scale": lambda query, key: 1 / query.shape[-1]},
        ),
        Misconception(
            "multiplied by √d_model",
            "The scale makes the scores smaller: divide by √d_model.",
            {"scale": lambda query, key: math.sqrt(query.shape[-1])},
        ),
        Misconception(
            "scaled by the length of the target",
            "The scale is the width of a query, √d_model; a longer target changes nothing.",
            {"scale": lambda query, key: 1 / math.sqrt(query.shape[-2])},
        ),
        Misconception(
            "scaled by the length of the source",
            "The scale is the width of a query, √d_model; a longer source changes nothing.",
            {"scale": lambda query, key: 1 / math.sqrt(key.shape[-2])},
        ),
        Misconception(
            "softmax over the target words",
            "Each word of the target shares its attention out among the words of the source: the "
            "rows sum to 1 (`dim=-1`).",
            {"normal": lambda scores: scores.softmax(dim=-2)},
        ),
        Misconception(
            "softmax over the batch",
            "Texts of a batch have nothing to do with each other. The softmax runs over the words "
            "of the source: `dim=-1`, as `F.softmax` without `dim` does not.",
            {"normal": lambda scores: scores.softmax(dim=0)},
        ),
        Misconception(
            "softmax over all scores of a text",
            "Each word of the target has weights of its own: the softmax runs along a row, "
            "`dim=-1`.",
            {"normal": lambda scores: scores.flatten(1).softmax(dim=-1).view_as(scores)},
        ),
        Misconception(
            "no softmax",
            "Scores may be negative and of any size; the softmax makes a row of weights of them.",
            {"normal": lambda scores: scores},
        ),
        Misconception(
            "the decoder added",
            "The sum with what was there before belongs to the block around it, not to the "
            "attention.",
            {"after": lambda output, decoder: output + decoder},
        ),
    ),
    hints=(
        "Who asks? Who answers? Write query, key and value first, each from one of the two texts.",
        "The scores have a column for each word of the source. `encoder_mask[:, None]` has the "
        "shape (batch, 1, n_source).",
        "Scores `query @ key.mT / math.sqrt(d_model)`, `masked_fill(~encoder_mask[:, None], "
        "-math.inf)`, softmax over the last axis, times the values.",
    ),
    minutes=8,
    difficulty=2,
)

EXERCISES = (CROSS_ATTENTION,)
