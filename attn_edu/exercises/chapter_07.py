"""Exercises of chapter 07: smaller matrices."""

import math

import torch

from attn_edu.exercises.counting import memory, steps
from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import normal

# 07.low_rank_factors


def low_rank_factors(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    left = u[:, :rank] * s[:rank]  # (m, rank): each column times its singular value
    return left, vh[:rank]  # (m, rank), (rank, n)


def _largest(rank):
    return slice(rank)


def _singular(s):
    return s, torch.ones_like(s)


def _same(x):
    return x


def _factors(matrix, rank, *, kept=_largest, share=_singular, columns=_same, rows=_same, own=None):
    if own is not None:
        return own(matrix, rank)
    u, s, vh = torch.linalg.svd(matrix)  # u (m, m), vh (n, n)
    u, vh = columns(u)[:, : len(s)], rows(vh)[: len(s)]
    kept, (on_left, on_right) = kept(rank), share(s)
    return u[:, kept] * on_left[kept], on_right[kept, None] * vh[kept]


def _by_regression(matrix, rank):
    return matrix[:, :rank], torch.linalg.pinv(matrix[:, :rank]) @ matrix


def _smallest_of_rows(matrix, rank):
    v = torch.linalg.eigh(matrix.mT @ matrix).eigenvectors[:, :rank]
    return matrix @ v, v.mT


def _smallest_of_columns(matrix, rank):
    u = torch.linalg.eigh(matrix @ matrix.mT).eigenvectors[:, :rank]
    return u, u.mT @ matrix


def _centred(matrix, rank):
    return low_rank_factors(matrix - matrix.mean(dim=0), rank)


LOW_RANK_FACTORS = Exercise(
    id="07.low_rank_factors",
    title="Two thin factors",
    statement=(
        "`matrix` (m, n): return two factors `(left, right)` of the shapes (m, rank) and (rank, n) "
        "whose product is as close to it as any product of such factors can be (in the sum of "
        "squares). How the singular values are shared between the two is up to you."
    ),
    starter=(
        "def low_rank_factors(matrix, rank):\n"
        "    # (m, n) -> left (m, rank), right (rank, n)\n"
        "    ...  # your code here\n"
    ),
    reference=low_rank_factors,
    why=(
        "The singular value decomposition writes the matrix as a sum of products of a column and "
        "a row, each with its singular value, largest first. To leave out the last ones costs the "
        "least (Eckart & Young, 1936)."
    ),
    model=_factors,
    cases=lambda: [
        Case(
            (torch.tensor([[3.0, 4.0], [0.0, 5.0]]).double(), 1),
            "2 × 2, rank 1; shown is left @ right",
        ),
        Case((normal(7, 5, seed=1), 2), "7 × 5, rank 2"),
        Case((normal(4, 6, seed=2), 3), "4 × 6, rank 3"),
        Case((normal(5, 8, seed=3).softmax(dim=-1), 2), "rows of weights, 5 × 8, rank 2"),
        Case((normal(6, 4, seed=4), 4), "the full rank of a 6 × 4 matrix"),
    ],
    misconceptions=(
        Misconception(
            "singular values left out",
            "U and V alone are directions, all of length 1; the singular values say how much of "
            "each there is. Multiply one of the factors by them.",
            {"share": lambda s: (torch.ones_like(s), torch.ones_like(s))},
        ),
        Misconception(
            "singular values in both factors",
            "Each singular value belongs into the product once: into one factor, or its square "
            "root into each.",
            {"share": lambda s: (s, s)},
        ),
        Misconception(
            "singular values only by their roots",
            "A square root in one factor needs the other one in the second factor.",
            {"share": lambda s: (s.sqrt(), torch.ones_like(s))},
        ),
        Misconception(
            "the smallest singular values kept",
            "They come sorted, largest first: keep the first `rank`, not the last.",
            {"kept": lambda rank: slice(-rank, None)},
        ),
        Misconception(
            "V transposed once more",
            "`torch.linalg.svd` gives V already transposed: take its first rows, `vh[:rank]`. (The "
            "older `torch.svd` gives V itself.)",
            {"rows": lambda vh: vh.mT},
        ),
        Misconception(
            "rows of U instead of columns",
            "The directions are the columns of U, `u[:, :rank]`, and the rows of Vᵀ, `vh[:rank]`.",
            {"columns": lambda u: u.mT},
        ),
        Misconception(
            "the smallest eigenvectors of MᵀM kept",
            "`eigh` sorts its eigenvalues the other way than `svd`: smallest first. Keep the last "
            "`rank` columns.",
            {"own": _smallest_of_rows},
        ),
        Misconception(
            "the smallest eigenvectors of MMᵀ kept",
            "`eigh` sorts its eigenvalues the other way than `svd`: smallest first. Keep the last "
            "`rank` columns.",
            {"own": _smallest_of_columns},
        ),
        Misconception(
            "the mean taken off first",
            "That is principal component analysis. The product must come close to the matrix "
            "itself, mean included.",
            {"own": _centred},
        ),
        Misconception(
            "the first columns instead of the best directions",
            "The first columns of the matrix are `rank` of its directions, and not the best ones.",
            {"own": _by_regression},
        ),
        Misconception(
            "the first rows and columns as they are",
            "A strip of rows and a strip of columns are no factors of the matrix.",
            {"own": lambda matrix, rank: (matrix[:, :rank], matrix[:rank])},
        ),
    ),
    hints=(
        "`u, s, vh = torch.linalg.svd(matrix, full_matrices=False)`; V comes transposed already. "
        "Which columns of `u` and which rows of `vh` count the most?",
        "`u[:, :rank]` is (m, rank), `vh[:rank]` is (rank, n). Where do the singular values go?",
        "`u[:, :rank] * s[:rank], vh[:rank]`.",
    ),
    minutes=6,
    difficulty=2,
)


# 07.linformer_attention


def linformer_attention(query, key, value, project_key, project_value):
    key = project_key @ key  # (batch, rank, d)
    value = project_value @ value  # (batch, rank, d_value)
    scores = query @ key.mT / math.sqrt(query.shape[-1])  # (batch, n, rank)
    return scores.softmax(dim=-1) @ value  # (batch, n, d_value)


def _mix_first(query, key, project, scale, axis):
    return (query @ (project @ key).mT * scale).softmax(dim=axis)


def _mix_scores(query, key, project, scale, axis):
    return (query @ key.mT @ project.mT * scale).softmax(dim=axis)


def _mix_weights(query, key, project, scale, axis):
    return (query @ key.mT * scale).softmax(dim=axis) @ project.mT


def _keys_by_reshape(query, key, project, scale, axis):
    mixed = project @ key  # (batch, rank, d)
    return (query @ mixed.reshape(len(mixed), mixed.shape[2], -1) * scale).softmax(dim=axis)


def _triangle(query, key, project, scale, axis):
    scores = query @ (project @ key).mT * scale
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~seen, -math.inf).softmax(dim=axis)


def _no_softmax(query, key, project, scale, axis):
    return query @ (project @ key).mT * scale


def _softmax_attention(query, key, value, project_key, project_value):
    return torch.nn.functional.scaled_dot_product_attention(query, key, value)


def _queries_too(query, key, value, project_key, project_value):
    return linformer_attention(project_key @ query, key, value, project_key, project_value)


def _linformer(
    query,
    key,
    value,
    project_key,
    project_value,
    *,
    weigh=_mix_first,
    projections=lambda first, second: (first, second),
    scale=lambda d, rank, n: 1 / math.sqrt(d),
    axis=-1,
    own=None,
):
    if own is not None:
        return own(query, key, value, project_key, project_value)
    first, second = projections(project_key, project_value)
    scale = scale(query.shape[-1], *project_key.shape)
    return weigh(query, key, first, scale, axis) @ (second @ value)


def _linformer_cases():
    def inputs(batch, n, d, d_value, rank, seed):
        shapes = (batch, n, d), (batch, n, d), (batch, n, d_value), (rank, n), (rank, n)
        return tuple(normal(*shape, seed=seed + i) for i, shape in enumerate(shapes))

    return [
        Case(inputs(1, 3, 4, 2, 2, 1), "1 sentence, 3 words, 2 mixtures"),
        Case(inputs(2, 7, 5, 6, 3, 10), "2 sentences, 7 words, 3 mixtures"),
        Case(inputs(3, 6, 4, 5, 2, 20), "3 sentences, 6 words, 2 mixtures"),
        Case(inputs(2, 5, 4, 3, 1, 30), "a single mixture"),
    ]


SQUARE = Misconception(
    "a matrix of n × n on the way",
    "The numbers are right, but on the way to them a matrix of n × n arose, the very thing to be "
    "saved. Mostly it is a matter of brackets: mix the keys before the scores, Q (E K)ᵀ and not "
    "(Q Kᵀ) Eᵀ, and the values before the weights, W (F V) and not (W F) V.",
    {"weigh": _mix_scores},
)


def _inputs_of_length(n, rank=2):
    inputs = [normal(1, n, 2, seed=1), normal(1, n, 2, seed=2), normal(1, n, 3, seed=3)]
    return *inputs, normal(rank, n, seed=4), normal(rank, n, seed=5)


def _made_a_square(answer):
    """In torch, where each step is seen; or in numpy or lists, where the memory is."""
    n, long = 24, 256
    in_torch = any(step.size >= n * n for step in steps(answer, *_inputs_of_length(n)))
    elsewhere = in_torch or memory(answer, *_inputs_of_length(long)) > 4 * long * long
    return SQUARE if elsewhere else None


LINFORMER_ATTENTION = Exercise(
    id="07.linformer_attention",
    title="Mixtures of words",
    statement=(
        "`query`, `key` (batch, n, d), `value` (batch, n, d_value), `project_key` and "
        "`project_value` (rank, n): mix the n keys into `rank` keys and the n values into `rank` "
        "values, and attend to these. No matrix of n × n may arise. Return (batch, n, d_value)."
    ),
    starter=(
        "def linformer_attention(query, key, value, project_key, project_value):\n"
        "    # project_… (rank, n) -> (batch, n, d_value)\n"
        "    ...  # your code here\n"
    ),
    reference=linformer_attention,
    why=(
        "Each row of a projection says how much of every word goes into one mixture. The mixtures "
        "are made before the scores, so the softmax runs over `rank` numbers instead of n. A dot "
        "product still runs over d features, and the scale stays 1/√d."
    ),
    model=_linformer,
    cases=_linformer_cases,
    misconceptions=(
        Misconception(
            "weights mixed after the softmax",
            "The n × n weights were made and then mixed: nothing is saved, and the result is "
            "another. Mix the keys before the scores.",
            {"weigh": _mix_weights},
        ),
        Misconception(
            "one projection for both",
            "Keys and values have a projection each; here the one of the keys mixed both.",
            {"projections": lambda first, second: (first, first)},
        ),
        Misconception(
            "projections exchanged",
            "`project_key` mixes the keys, and `project_value` the values.",
            {"projections": lambda first, second: (second, first)},
        ),
        Misconception(
            "the projection of the values for both",
            "Keys and values have a projection each; here the one of the values mixed both.",
            {"projections": lambda first, second: (second, second)},
        ),
        Misconception(
            "the queries mixed as well",
            "Each of the n words asks for itself, so there are n outputs: only keys and values "
            "are mixed.",
            {"own": _queries_too},
        ),
        Misconception(
            "a causal triangle over the mixtures",
            "The columns are mixtures of all words, not words: each holds something of the future, "
            "and no triangle takes it out. Every query sees every mixture.",
            {"weigh": _triangle},
        ),
        Misconception(
            "reshape instead of transpose",
            "`reshape` and `view` only cut the row of numbers anew. To turn keys (rank, d) into "
            "(d, rank) use `.mT`.",
            {"weigh": _keys_by_reshape},
        ),
        Misconception(
            "not scaled",
            "Divide the scores by √d, as ever.",
            {"scale": lambda d, rank, n: 1.0},
        ),
        Misconception(
            "scaled by √rank",
            "A score is a dot product over d features; there are `rank` scores, but each of them "
            "is still a sum over d.",
            {"scale": lambda d, rank, n: 1 / math.sqrt(rank)},
        ),
        Misconception(
            "divided by d",
            "The standard deviation of a dot product grows with √d, not with d.",
            {"scale": lambda d, rank, n: 1 / d},
        ),
        Misconception(
            "multiplied by √d",
            "The scale makes the scores smaller: divide by √d.",
            {"scale": lambda d, rank, n: math.sqrt(d)},
        ),
        Misconception(
            "scaled by the number of words",
            "A score is a dot product over d features; how many words were mixed plays no part.",
            {"scale": lambda d, rank, n: 1 / math.sqrt(n)},
        ),
        Misconception(
            "softmax over the queries",
            "Each query divides its attention among the mixtures: the rows must sum to 1.",
            {"axis": -2},
        ),
        Misconception(
            "softmax over the sentences",
            "`dim=0` is the axis of the sentences. Each query divides its attention among the "
            "mixtures: `dim=-1`.",
            {"axis": 0},
        ),
        Misconception(
            "no softmax",
            "Scores are no weights yet: a softmax over the mixtures makes them positive, and each "
            "row add up to 1.",
            {"weigh": _no_softmax},
        ),
        Misconception(
            "nothing mixed",
            "This is softmax attention to all n words; the projections were not used.",
            {"own": _softmax_attention},
        ),
        SQUARE,
    ),
    hints=(
        "A matrix of (rank, n) times the keys (n, d): what is the shape of the product?",
        "Make `project_key @ key` and `project_value @ value` first; the rest is chapter 02.",
        "`attention(query, project_key @ key, project_value @ value)`, where `attention` is "
        "that of chapter 02: scores over √d, softmax, times the values.",
    ),
    minutes=5,
    difficulty=1,
    too_much=_made_a_square,
)


# 07.share_key_heads


def share_key_heads(key, n_heads):
    group = n_heads // key.shape[-3]  # heads that share one key
    return key.repeat_interleave(group, dim=-3)  # (…, n_heads, n, d)


def _neighbours(kv_heads, n_heads):
    return [h * kv_heads // n_heads for h in range(n_heads)]


def _share(key, n_heads, *, whose=_neighbours, other=None):
    if other is not None:
        return other(key, n_heads)
    return key[..., whose(key.shape[-3], n_heads), :, :]


def _only_the_first_of_a_group(key, n_heads):
    group = n_heads // key.shape[-3]
    shared = key.repeat_interleave(group, dim=-3)
    first = (torch.arange(n_heads) % group == 0)[:, None, None]
    return shared * first


SHARE_KEY_HEADS = Exercise(
    id="07.share_key_heads",
    title="Shared keys",
    statement=(
        "`key` (…, kv_heads, n, d): give every one of the `n_heads` query heads the key that it "
        "reads. Neighbours share: the first n_heads / kv_heads heads read key 0, the next ones "
        "key 1, and so on. Return (…, n_heads, n, d)."
    ),
    starter=(
        "def share_key_heads(key, n_heads):\n"
        "    # (…, kv_heads, n, d) -> (…, n_heads, n, d)\n"
        "    ...  # your code here\n"
    ),
    reference=share_key_heads,
    why=(
        "The heads of a group are neighbours, so each key is repeated in its place: 0, 0, 1, 1. "
        "Laying the whole row of keys behind itself gives 0, 1, 0, 1, and every head would read "
        "a key that it was not trained with. (In earnest nothing is copied: the group is laid "
        "along the axis of queries.)"
    ),
    model=_share,
    cases=lambda: [
        Case((torch.arange(4.0).double().view(2, 2, 1), 4), "2 keys for 4 heads, 2 words"),
        Case((normal(3, 2, 4, seed=5), 6), "3 keys for 6 heads, 2 words"),
        Case((normal(2, 3, 5, 4, seed=1), 6), "2 sentences, 3 keys for 6 heads, 5 words"),
        Case((normal(3, 2, 4, 5, seed=2), 8), "3 sentences, 2 keys for 8 heads, 4 words"),
        Case((normal(2, 1, 4, 3, seed=3), 4), "one key for all"),
        Case((normal(2, 3, 5, 4, seed=4), 3), "a key for each"),
    ],
    misconceptions=(
        Misconception(
            "tiled instead of repeated in place",
            "The heads read the keys in turn, 0, 1, 0, 1; neighbours must share: 0, 0, 1, 1. That "
            "is `repeat_interleave`, not `repeat`.",
            {"whose": lambda kv, h: [i % kv for i in range(h)]},
        ),
        Misconception(
            "all heads read the first key",
            "That is multi-query attention with the other keys thrown away. Each group has a key "
            "of its own.",
            {"whose": lambda kv, h: [0] * h},
        ),
        Misconception(
            "groups in reverse",
            "The first heads read the first key.",
            {"whose": lambda kv, h: [kv - 1 - i * kv // h for i in range(h)]},
        ),
        Misconception(
            "the keys averaged",
            "Every group keeps its own key; averaging them is how a trained model is converted to "
            "a single one, and loses what they held.",
            {"other": lambda key, h: key.mean(dim=-3, keepdim=True).repeat_interleave(h, dim=-3)},
        ),
        Misconception(
            "only one head of each group has a key",
            "All heads of a group read the same key; nobody gets zeros.",
            {"other": _only_the_first_of_a_group},
        ),
        Misconception(
            "number and size of the groups exchanged",
            "n_heads / kv_heads heads share a key. Here kv_heads of them do.",
            {"whose": lambda kv, h: [min(i // kv, kv - 1) for i in range(h)]},
        ),
        Misconception(
            "n_heads copies of each key",
            "Each key is needed n_heads / kv_heads times: there are n_heads in all.",
            {"other": lambda key, h: key.repeat_interleave(h, dim=-3)},
        ),
        Misconception(
            "axis 1 repeated",
            "Axis 1 is the axis of the heads only with a single leading axis. Counted from the end "
            "it is always `dim=-3`.",
            {"other": lambda key, h: key.repeat_interleave(h // key.shape[1], dim=1)},
        ),
        Misconception(
            "axis 0 repeated",
            "Axis 0 is the axis of the heads only without leading axes. Counted from the end it is "
            "always `dim=-3`.",
            {"other": lambda key, h: key.repeat_interleave(h // key.shape[-3], dim=0)},
        ),
        Misconception(
            "the axis of the group left in",
            "The copies stand on an axis of their own behind the keys. Join the two axes: "
            "`flatten(-4, -3)`.",
            {
                "other": lambda key, h: key.unsqueeze(-3).expand(
                    *key.shape[:-2], h // key.shape[-3], *key.shape[-2:]
                )
            },
        ),
        Misconception(
            "the words repeated instead of the heads",
            "The sentence must not get longer: it is the axis of heads, the third from the end, "
            "that grows.",
            {"other": lambda key, h: key.repeat_interleave(h // key.shape[-3], dim=-2)},
        ),
    ),
    hints=(
        "How many heads share a key? Write down who reads which for 2 keys and 4 heads.",
        "0, 0, 1, 1: each key is repeated right behind itself, along the axis of heads (-3).",
        "`key.repeat_interleave(n_heads // key.shape[-3], dim=-3)`.",
    ),
    minutes=4,
    difficulty=1,
)

EXERCISES = (LOW_RANK_FACTORS, LINFORMER_ATTENTION, SHARE_KEY_HEADS)
