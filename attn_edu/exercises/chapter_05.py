"""Exercises of chapter 05: reading without seeing the future."""

import math

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import coin, more, normal, tokens


def _to_add(mask):
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


# 05.causal_mask


def causal_mask(n_query, n_key):
    query = torch.arange(n_key - n_query, n_key)  # the places of the queries: the last ones
    key = torch.arange(n_key)
    return key <= query[:, None]  # (n_query, n_key)


def _causal(
    n_query,
    n_key,
    *,
    start=lambda n_query, n_key: n_key - n_query,
    sees=lambda query, key: key <= query,
    rows=lambda n_query, n_key: n_query,
    columns=lambda n_query, n_key: n_key,
    polarity=lambda mask: mask,
    form=lambda mask: mask,
):
    query = torch.arange(rows(n_query, n_key)) + start(n_query, n_key)
    key = torch.arange(columns(n_query, n_key))
    return form(polarity(sees(query[:, None], key)))


CAUSAL_MASK = Exercise(
    id="05.causal_mask",
    title="A mask against the future",
    statement=(
        "Each position sees itself and what is before it. The `n_query` queries are the last of "
        "the `n_key` positions, as in decoding with a cache. Return (n_query, n_key), boolean, "
        "`True` = may attend."
    ),
    starter=(
        "def causal_mask(n_query, n_key):\n"
        "    # -> (n_query, n_key), boolean\n"
        "    ...  # your code here\n"
    ),
    reference=causal_mask,
    why=(
        "Give each query its real place: the first one stands at n_key − n_query. Then compare "
        "places. With `tril` it is `torch.ones(n_query, n_key).tril(n_key - n_query).bool()`."
    ),
    model=_causal,
    cases=lambda: [
        Case((3, 3), "3 queries, 3 keys"),
        Case((2, 5), "2 new positions after 3"),
        Case((1, 4), "1 new position after 3"),
        Case((5, 7), "5 new positions after 2"),
        Case((6, 6), "6 queries, 6 keys"),
        Case((1, 1), "a single position"),
        *(
            Case((new, past + new), f"{new} new positions after {past}")
            for new, past in more(3, range(2, 9), range(1, 9))
        ),
    ],
    misconceptions=(
        Misconception(
            "mask upside down",
            "`True` means may attend: the past and the position itself are `True`.",
            {"polarity": lambda mask: ~mask},
        ),
        Misconception(
            "aligned to the first keys",
            "With more keys than queries, the queries are the last positions: the last query sees "
            "every key. (`is_causal=True` in PyTorch makes this mistake for you.)",
            {"start": lambda n_query, n_key: 0},
        ),
        Misconception(
            "the diagonal on the other side",
            "`tril(n_query - n_key)` moves the diagonal to the left. The first query has "
            "n_key − n_query positions before it, so it moves to the right.",
            {"start": lambda n_query, n_key: n_query - n_key},
        ),
        Misconception(
            "nothing is hidden",
            "Every query sees every key, the future too.",
            {"sees": lambda query, key: (query == query) & (key == key)},
        ),
        Misconception(
            "everything is hidden",
            "Every entry is `False`: no query sees anything, not even its own position.",
            {"sees": lambda query, key: (query != query) & (key != key)},
        ),
        Misconception(
            "inverted triangle",
            "Each query sees the future and not the past: `tril` keeps the past, `triu` does not.",
            {"sees": lambda query, key: key >= query},
        ),
        Misconception(
            "a position does not see itself",
            "The diagonal belongs to what is seen. Without it the first position sees nothing.",
            {"sees": lambda query, key: key < query},
        ),
        Misconception(
            "one step of the future",
            "The diagonal is one too far: each position sees the next, which is the answer.",
            {"sees": lambda query, key: key <= query + 1},
        ),
        Misconception(
            "the cache is hidden",
            "The triangle among the new positions is right. What lies in the cache came before all "
            "of them, so each of them sees all of it.",
            {"sees": lambda query, key: (key <= query) & (key >= query[0])},
        ),
        Misconception(
            "the new positions do not see one another",
            "Each new position sees the cache and itself, but also the new positions before it.",
            {"sees": lambda query, key: (key < query[0]) | (key == query)},
        ),
        Misconception(
            "a column for each query only",
            "There is a column for every key, those in the cache as well.",
            {
                "columns": lambda n_query, n_key: n_query,
                "start": lambda n_query, n_key: 0,
            },
        ),
        Misconception(
            "a row for each key",
            "The square mask of all positions has a row for each of them. Only the queries ask: "
            "keep the last n_query rows.",
            {"rows": lambda n_query, n_key: n_key, "start": lambda n_query, n_key: 0},
        ),
        Misconception(
            "n_query and n_key exchanged",
            "One row for each query, one column for each key: (n_query, n_key).",
            {
                "rows": lambda n_query, n_key: n_key,
                "columns": lambda n_query, n_key: n_query,
            },
        ),
        Misconception(
            "numbers 0 and 1 instead of booleans",
            "A mask of numbers is added to the scores by torch, and hides almost nothing.",
            {"form": lambda mask: mask.float()},
        ),
        Misconception(
            "already additive",
            "0 and −∞ are what is added to the scores later. Here the mask is boolean.",
            {"form": _to_add},
        ),
        Misconception(
            "rows and columns exchanged",
            "One row for each query, one column for each key: (n_query, n_key).",
            {"form": lambda mask: mask.mT},
        ),
    ),
    hints=(
        "With 2 queries and 5 keys, at which places do the two queries stand?",
        "At n_key − n_query and after. Query place against key place: which comparison?",
        "`torch.arange(n_key) <= torch.arange(n_key - n_query, n_key)[:, None]`.",
    ),
    minutes=5,
    difficulty=1,
)


# 05.next_token_loss


def next_token_loss(logits, tokens):
    guesses = logits[:, :-1]  # (batch, n - 1, vocabulary), from positions 0 … n-2
    answers = tokens[:, 1:]  # (batch, n - 1), tokens 1 … n-1
    log_p = guesses.log_softmax(dim=-1)
    return -log_p.gather(-1, answers[..., None]).mean()


def _as_they_are(logits):
    return logits


def _next_token(
    logits,
    tokens,
    *,
    first=_as_they_are,
    pair=lambda logits, tokens: (logits[:, :-1], tokens[:, 1:]),
    log_p=lambda guesses: guesses.log_softmax(dim=-1),
    sign=-1,
    unit=lambda vocabulary: 1.0,
    reduce=lambda values, answers: values.mean(),
):
    guesses, answers = pair(first(logits), tokens)
    values = log_p(guesses).gather(-1, answers[..., None])[..., 0]  # (batch, positions)
    return reduce(sign * values * unit(logits.shape[-1]), answers)


def _loss_cases():
    return [
        Case((normal(1, 3, 4, seed=1), torch.tensor([[0, 1, 3]])), "3 tokens, a vocabulary of 4"),
        Case(
            (normal(2, 5, 7, seed=2), tokens(2, 5, vocabulary=7, seed=3)),
            "2 texts of 5, a vocabulary of 7",
        ),
        Case(
            (4 * normal(3, 6, 4, seed=4), tokens(3, 6, vocabulary=4, seed=5)),
            "a model that is sure of itself",
        ),
        Case((normal(4, 2, 3, seed=6), tokens(4, 2, vocabulary=3, seed=7)), "texts of two tokens"),
    ]


NEXT_TOKEN_LOSS = Exercise(
    id="05.next_token_loss",
    title="Every position guesses the next",
    statement=(
        "`logits` (batch, n, vocabulary) are what a model says after each token of `tokens` "
        "(batch, n). Position t predicts token t + 1. Return the mean cross-entropy over all "
        "predictions that have an answer, in nats: one number."
    ),
    starter=(
        "def next_token_loss(logits, tokens):\n"
        "    # logits (batch, n, vocabulary), tokens (batch, n) -> one number\n"
        "    ...  # your code here\n"
    ),
    reference=next_token_loss,
    why=(
        "The last position has no answer and the first token was never predicted: drop one of "
        "each, so that guess and answer stand side by side. `torch.nn.functional.cross_entropy` "
        "then wants (batch · (n − 1), vocabulary) and (batch · (n − 1))."
    ),
    model=_next_token,
    cases=_loss_cases,
    misconceptions=(
        Misconception(
            "not shifted",
            "Each position is judged by the token that it has just read. A model learns to copy "
            "it, and the loss falls to 0. The answer to position t is token t + 1.",
            {"pair": lambda logits, tokens: (logits, tokens)},
        ),
        Misconception(
            "shifted the wrong way",
            "Each position is judged by the token before it, which it has read already.",
            {"pair": lambda logits, tokens: (logits[:, 1:], tokens[:, :-1])},
        ),
        Misconception(
            "shifted in a ring",
            "The last position has no answer. `roll` gives it the first token of the text.",
            {"pair": lambda logits, tokens: (logits, tokens.roll(-1, dims=1))},
        ),
        Misconception(
            "not shifted, the last left out",
            "Guesses and answers lose the same end, so each position is still judged by the token "
            "that it has just read. The guesses lose the last, the answers the first.",
            {"pair": lambda logits, tokens: (logits[:, :-1], tokens[:, :-1])},
        ),
        Misconception(
            "not shifted, the first left out",
            "Guesses and answers lose the same end, so each position is still judged by the token "
            "that it has just read. The guesses lose the last, the answers the first.",
            {"pair": lambda logits, tokens: (logits[:, 1:], tokens[:, 1:])},
        ),
        Misconception(
            "shifted in a ring through all texts",
            "The last position of a text has no answer. `roll` without an axis gives it the first "
            "token of the next text.",
            {"pair": lambda logits, tokens: (logits, tokens.roll(-1))},
        ),
        Misconception(
            "shifted in a ring, the wrong way",
            "`roll` by +1 puts before each guess the token that came before it. The answer to "
            "position t is token t + 1, and the last position has none.",
            {"pair": lambda logits, tokens: (logits, tokens.roll(1, dims=1))},
        ),
        Misconception(
            "an answer made up for the last position",
            "The last position has no answer. Here it is judged by a token 0 that was put there "
            "as filling: leave it out (`ignore_index`, or one position less).",
            {
                "pair": lambda logits, tokens: (
                    logits,
                    torch.cat([tokens[:, 1:], torch.zeros_like(tokens[:, :1])], dim=1),
                )
            },
        ),
        Misconception(
            "texts glued together",
            "Flattened before the shift, the last guess of each text is judged by the first token "
            "of the next. Shift within each text first.",
            {
                "pair": lambda logits, tokens: (
                    logits.flatten(0, 1)[None, :-1],
                    tokens.flatten()[None, 1:],
                )
            },
        ),
        Misconception(
            "two places on",
            "Position t is judged by token t + 2: one shift is enough.",
            {"pair": lambda logits, tokens: (logits[:, :-2], tokens[:, 2:])},
        ),
        Misconception(
            "positions and vocabulary mixed up",
            "`cross_entropy` wants the vocabulary on axis 1: transpose with `.mT`, or flatten. "
            "`view` and `reshape` only cut the row of numbers anew.",
            {
                "pair": lambda logits, tokens: (
                    logits[:, :-1].reshape(len(logits), logits.shape[2], -1).mT,
                    tokens[:, 1:],
                )
            },
        ),
        Misconception(
            "the last position only",
            "Under a causal mask every position is a prediction of its own: use them all.",
            {"pair": lambda logits, tokens: (logits[:, -2:-1], tokens[:, -1:])},
        ),
        Misconception(
            "softmax twice",
            "Cross-entropy takes a softmax of its own. Probabilities as logits are nearly flat.",
            {"log_p": lambda guesses: guesses.softmax(dim=-1).log_softmax(dim=-1)},
        ),
        Misconception(
            "softmax over the positions",
            "The probabilities of the tokens add up to 1 at each position: the last axis.",
            {"log_p": lambda guesses: guesses.log_softmax(dim=1)},
        ),
        Misconception(
            "softmax over the positions, before the shift",
            "The probabilities of the tokens add up to 1 at each position: the last axis.",
            {"first": lambda logits: logits.log_softmax(dim=1), "log_p": _as_they_are},
        ),
        Misconception(
            "softmax over the texts",
            "`dim=0` is the axis of the texts. The probabilities of the tokens add up to 1 at "
            "each position: the last axis.",
            {"log_p": lambda guesses: guesses.log_softmax(dim=0)},
        ),
        Misconception(
            "no logarithm",
            "This is the mean probability. Cross-entropy is the mean of −log of it.",
            {"log_p": lambda guesses: guesses.softmax(dim=-1)},
        ),
        Misconception(
            "no softmax",
            "Logits are not yet log-probabilities: `log_softmax` makes them so.",
            {"log_p": _as_they_are},
        ),
        Misconception(
            "sign forgotten",
            "A logarithm of a probability is negative; the loss is minus that.",
            {"sign": 1},
        ),
        Misconception(
            "in bits",
            "With the logarithm to base 2 the loss is in bits. Asked for are nats, base e.",
            {"unit": lambda vocabulary: 1 / math.log(2)},
        ),
        Misconception(
            "in decimal logarithms",
            "The logarithm has the base 10. Asked for are nats, base e: `math.log`, not `log10`.",
            {"unit": lambda vocabulary: 1 / math.log(10)},
        ),
        Misconception(
            "averaged over the vocabulary too",
            "Only one entry of the vocabulary counts in each prediction, the token that came. To "
            "average over the others as well makes the loss smaller by the size of the vocabulary.",
            {"unit": lambda vocabulary: 1 / vocabulary},
        ),
        Misconception(
            "added up instead of averaged",
            "The loss is the mean over all predictions, so that longer texts do not count more.",
            {"reduce": lambda values, answers: values.sum()},
        ),
        Misconception(
            "divided by all tokens",
            "A text of n tokens has n − 1 predictions with an answer: divide by these.",
            {
                "reduce": lambda values, answers: (
                    values.sum() / (len(values) * (values.shape[1] + 1))
                )
            },
        ),
        Misconception(
            "perplexity",
            "This is e to the power of the loss. Asked for is the loss itself, in nats.",
            {"reduce": lambda values, answers: values.mean().exp()},
        ),
        Misconception(
            "averaged over the texts only",
            "The loss is the mean over all predictions: the positions are averaged as well.",
            {"reduce": lambda values, answers: values.sum(dim=1).mean()},
        ),
        Misconception(
            "averaged over the positions only",
            "The loss is the mean over all predictions: the texts are averaged as well.",
            {"reduce": lambda values, answers: values.sum(dim=0).mean()},
        ),
        Misconception(
            "averaged before the logarithm",
            "The mean of the logarithms is not the logarithm of the mean: first −log of each "
            "probability, then the mean.",
            {"reduce": lambda values, answers: -(-values).exp().mean().log()},
        ),
        Misconception(
            "token 0 taken for padding",
            "There is no padding here: 0 is a token like any other, and its predictions count.",
            {"reduce": lambda values, answers: values[answers != 0].mean()},
        ),
    ),
    hints=(
        "Write the tokens in a row and the guesses under them. Which guess has no answer?",
        "Compare `logits[:, :-1]` with `tokens[:, 1:]`. `cross_entropy` wants one row of logits "
        "for each answer: flatten both, or take `log_softmax` and `gather`.",
        "`F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())`, where `F` is "
        "`torch.nn.functional`.",
    ),
    minutes=6,
    difficulty=2,
)


# 05.additive_mask


def additive_mask(mask):
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


def _additive(
    mask,
    *,
    polarity=lambda mask: mask,
    shown=0.0,
    hidden=-math.inf,
    fill=lambda mask, shown, hidden: torch.where(mask, shown, hidden),
):
    return fill(polarity(mask), shown, hidden)


def _blind_rows_opened(mask, shown, hidden):
    return torch.where(mask | ~mask.any(dim=-1, keepdim=True), shown, hidden)


def _instead_of_infinity(number, value):
    return Misconception(
        f"{number} instead of −∞",
        "A finite number leaves a row that sees nothing a softmax of its own, over what should be "
        "hidden. What is hidden needs −∞.",
        {"hidden": value},
    )


ADDITIVE_MASK = Exercise(
    id="05.additive_mask",
    title="A mask to be added",
    statement=(
        "`mask` is boolean, any shape, `True` = may attend. Return numbers of the same shape to "
        "*add* to the scores: 0 where a query may attend, −∞ where it may not."
    ),
    starter=(
        "def additive_mask(mask):\n"
        "    # (…), boolean -> (…), 0 and -inf\n"
        "    ...  # your code here\n"
    ),
    reference=additive_mask,
    why=(
        "e to the power of −∞ is 0, so a hidden key gets no weight at all; adding 0 leaves the "
        "others as they are. Fill the −∞ in: as a product it would be 0 · ∞, which is NaN."
    ),
    model=_additive,
    cases=lambda: [
        Case((torch.tensor([[True, False], [True, True]]),), "a causal mask for 2 words"),
        Case((coin(2, 1, 5, seed=1),), "padding, (batch, 1, n)"),
        Case((coin(2, 3, 4, 7, seed=2),), "a mask for each head"),
        Case(
            (torch.tensor([[False, False, False], [True, True, False]]),), "a row that sees nothing"
        ),
        Case((torch.ones(3, 4, dtype=torch.bool),), "nothing is hidden"),
    ],
    misconceptions=(
        Misconception(
            "mask upside down",
            "`True` means may attend, so it becomes 0; `False` becomes −∞.",
            {"polarity": lambda mask: ~mask},
        ),
        Misconception(
            "numbers 0 and 1",
            "Added to the scores, 1 and 0 hide almost nothing: a hidden key keeps 1/e of its odds.",
            {"shown": 1.0, "hidden": 0.0},
        ),
        Misconception(
            "a big negative number",
            "−10⁹ gives a row that sees nothing the same weight everywhere, padding included, and "
            "overflows in half precision. What is hidden needs −∞.",
            {"hidden": -1e9},
        ),
        Misconception(
            "nothing is hidden",
            "Every entry is 0. `masked_fill` returns a new tensor and leaves the old one as it is: "
            "keep what it returns.",
            {"hidden": 0.0},
        ),
        Misconception(
            "the smallest float",
            "It is so large that a score added to it is lost in rounding: a row that sees nothing "
            "becomes uniform, padding included. What is hidden needs −∞.",
            {"hidden": torch.finfo(torch.float32).min},
        ),
        Misconception(
            "a negative number that half precision holds",
            "−10⁴ leaves a row that sees nothing a softmax of its own, over what should be hidden. "
            "What is hidden needs −∞.",
            {"hidden": -1e4},
        ),
        Misconception(
            "hidden by −1",
            "Subtracting 1 leaves a hidden key 1/e of its odds. What is hidden needs −∞.",
            {"hidden": -1.0},
        ),
        Misconception(
            "+∞",
            "e to the power of +∞ is ∞: the hidden key would take all. The sign is minus.",
            {"hidden": math.inf},
        ),
        Misconception(
            "1 where a query may attend",
            "Every visible score is raised by 1 where it should stay as it is: add 0.",
            {"shown": 1.0},
        ),
        Misconception(
            "zero times infinity",
            "0 · ∞ is NaN, and it stands where a query may attend. Fill the −∞ in instead.",
            {"fill": lambda mask, shown, hidden: (~mask).float() * hidden},
        ),
        Misconception(
            "a row that sees nothing is opened",
            "A query that may see nothing keeps −∞ in its whole row. Opened, it sees all the "
            "padding; that its softmax is NaN is dealt with after the softmax.",
            {"fill": _blind_rows_opened},
        ),
        _instead_of_infinity("−10⁶", -1e6),
        _instead_of_infinity("−10⁸", -1e8),
        _instead_of_infinity("−10¹⁰", -1e10),
        _instead_of_infinity("−10⁵", -1e5),
        _instead_of_infinity("−65504", -65504.0),
        _instead_of_infinity("−1000", -1e3),
        _instead_of_infinity("−100", -100.0),
        _instead_of_infinity("−10²⁰", -1e20),
        _instead_of_infinity("−10³⁰", -1e30),
    ),
    hints=(
        "Which number, added to a score, leaves it as it is? Which one makes its power of e zero?",
        "Start from zeros of the mask's shape, and fill in −∞ where the mask is `False`.",
        "`torch.zeros(mask.shape).masked_fill(~mask, float('-inf'))`.",
    ),
    minutes=4,
    difficulty=1,
)


# 05.decode_step


def decode_step(query, key, value, past_key, past_value):
    key = torch.cat([past_key, key], dim=-2)  # (batch, n_heads, n, d_head)
    value = torch.cat([past_value, value], dim=-2)
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (batch, n_heads, 1, n)
    return scores.softmax(dim=-1) @ value  # (batch, n_heads, 1, d_head)


def _joined(past, new):
    return torch.cat([past, new], dim=-2)


def _over_the_last(past, new):
    n_past = past.shape[-2]  # of an empty cache nothing can be overwritten
    return torch.cat([past[..., :-1, :], new], dim=-2)[..., :n_past, :]


def _one_softmax(scores, axis, n_past):
    return scores.softmax(dim=axis)


def _first_key_only(scores, axis, n_past):
    return scores.softmax(dim=axis) if scores.shape[-1] < 2 else _one_hot_first(scores)


def _one_hot_first(scores):
    return torch.zeros_like(scores).index_fill(-1, torch.tensor([0]), 1)


def _two_softmaxes(scores, axis, n_past):
    parts = scores[..., :n_past], scores[..., n_past:]
    return torch.cat([part.softmax(dim=axis) for part in parts], dim=-1)


def _decode(
    query,
    key,
    value,
    past_key,
    past_value,
    *,
    join=(_joined, _joined),  # keys, values
    scale=lambda query, key: 1 / math.sqrt(query.shape[-1]),
    axis=-1,
    weigh=_one_softmax,
):
    keys, values = join[0](past_key, key), join[1](past_value, value)
    scores = query @ keys.mT * scale(query, keys)
    return weigh(scores, axis, past_key.shape[-2]) @ values


def _decode_cases():
    def step(batch, n_heads, n_past, d, seed):
        new, past = (batch, n_heads, 1, d), (batch, n_heads, n_past, d)
        return tuple(normal(*s, seed=seed + i) for i, s in enumerate((new, new, new, past, past)))

    return [
        Case(step(1, 1, 2, 2, 1), "1 head, 2 words in the cache"),
        Case(step(1, 2, 4, 3, 40), "2 heads, 4 words in the cache"),
        Case(step(2, 3, 5, 4, 10), "2 texts, 3 heads, 5 words in the cache"),
        Case(step(3, 2, 6, 8, 20), "3 texts, 2 heads, 6 words in the cache"),
        Case(step(2, 3, 0, 4, 30), "an empty cache: the first word"),
    ]


DECODE_STEP = Exercise(
    id="05.decode_step",
    title="One step with a cache",
    statement=(
        "`query`, `key` and `value` (batch, n_heads, 1, d_head) belong to the newest word; "
        "`past_key` and `past_value` (batch, n_heads, n_past, d_head) are the cache, which may be "
        "empty. Return what the newest word's attention gives, (batch, n_heads, 1, d_head)."
    ),
    starter=(
        "def decode_step(query, key, value, past_key, past_value):\n"
        "    # query, key, value (batch, n_heads, 1, d_head)\n"
        "    # past_key, past_value (batch, n_heads, n_past, d_head)\n"
        "    ...  # your code here\n"
    ),
    reference=decode_step,
    why=(
        "The newest word sees the whole past and itself, so its key and value join the cache "
        "first. Nothing is hidden from it, so no mask is needed: its one row would be all `True`."
    ),
    model=_decode,
    cases=_decode_cases,
    misconceptions=(
        Misconception(
            "the new word does not see itself",
            "Its own key and value belong to what it sees: add them before you attend.",
            {"join": (lambda past, new: past,) * 2},
        ),
        Misconception(
            "the cache is not read",
            "Only the newest word's own key was asked, so the output is its own value: the past is "
            "in `past_key` and `past_value`.",
            {"join": (lambda past, new: new,) * 2},
        ),
        Misconception(
            "only the first key is seen",
            "A causal mask that is aligned to the first keys (`is_causal=True` in PyTorch) lets "
            "one query see key 0 alone. The newest word stands at the end, and sees all.",
            {"weigh": _first_key_only},
        ),
        Misconception(
            "keys and values in different order",
            "A value must stand at the place of its key: past first and new last, in both.",
            {"join": (_joined, lambda past, new: torch.cat([new, past], dim=-2))},
        ),
        Misconception(
            "keys in another order than values",
            "A value must stand at the place of its key: past first and new last, in both.",
            {"join": (lambda past, new: torch.cat([new, past], dim=-2), _joined)},
        ),
        Misconception(
            "the last word of the cache overwritten",
            "The new word gets a place of its own behind the last: the cache grows by one.",
            {"join": (_over_the_last,) * 2},
        ),
        Misconception(
            "added to the cache instead of joined",
            "`+` adds the new key to every old one. `torch.cat` along the words puts it behind "
            "them.",
            {"join": (lambda past, new: past + new,) * 2},
        ),
        Misconception(
            "its own value is missing",
            "The new word takes its share of the weights, but its value is not added.",
            {"join": (_joined, lambda past, new: torch.cat([past, 0 * new], dim=-2))},
        ),
        Misconception(
            "two softmaxes",
            "Past and present share one row of weights that adds up to 1: join, then softmax.",
            {"weigh": _two_softmaxes},
        ),
        Misconception(
            "mean of two softmaxes",
            "Past and present share one row of weights that adds up to 1: join, then softmax. "
            "Here the newest word always gets one half.",
            {"weigh": lambda *given: _two_softmaxes(*given) / 2},
        ),
        Misconception(
            "no softmax",
            "Scores may be negative and of any size; the softmax makes a row of weights of them.",
            {"weigh": lambda scores, axis, n_past: scores},
        ),
        Misconception(
            "the oldest word forgotten",
            "This cache has no end: the new word is added, and the oldest stays.",
            {"join": (lambda past, new: torch.cat([past[..., 1:, :], new], dim=-2),) * 2},
        ),
        Misconception(
            "not scaled",
            "Divide the scores by √d_head, in a step as in a full pass.",
            {"scale": lambda query, key: 1.0},
        ),
        Misconception(
            "divided by d_head",
            "The standard deviation of a dot product grows with √d_head, not with d_head.",
            {"scale": lambda query, key: 1 / query.shape[-1]},
        ),
        Misconception(
            "multiplied by √d_head",
            "The scale makes the scores smaller: divide by √d_head.",
            {"scale": lambda query, key: math.sqrt(query.shape[-1])},
        ),
        Misconception(
            "scaled by √d_model",
            "A head's dot product runs over the d_head features of that head, not over the "
            "d_model of all heads: divide by √d_head.",
            {"scale": lambda query, key: 1 / math.sqrt(query.shape[-1] * query.shape[1])},
        ),
        Misconception(
            "scaled by the number of keys",
            "The cache grows with every word; the scale does not. It is 1/√d_head.",
            {"scale": lambda query, key: 1 / math.sqrt(key.shape[-2])},
        ),
        Misconception(
            "softmax over the queries",
            "There is one query, so each weight would be 1. Its row adds up to 1: `dim=-1`.",
            {"axis": -2},
        ),
        Misconception(
            "softmax over the heads",
            "`dim=1` is the axis of the heads here, and each head weighs the keys for itself. "
            "Counted from the end, the axis of the keys is always `dim=-1`.",
            {"axis": 1},
        ),
    ),
    hints=(
        "What does the newest word see? Put all of it in one tensor first.",
        "`torch.cat([past_key, key], dim=-2)`, and the same for the values.",
        "Then it is chapter 02: scores over √d_head, softmax, times the values. No mask.",
    ),
    minutes=6,
    difficulty=2,
)

EXERCISES = (CAUSAL_MASK, NEXT_TOKEN_LOSS, ADDITIVE_MASK, DECODE_STEP)
