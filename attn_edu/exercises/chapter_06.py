"""Exercises of chapter 06: local attention."""

import math

import torch

from attn_edu.exercises.definition import Case, Exercise, Misconception
from attn_edu.exercises.inputs import more, normal

# 06.sliding_window_mask


def sliding_window_mask(n, window):
    position = torch.arange(n)
    distance = position[:, None] - position  # (n, n): how far the key lies before the query
    return (distance >= 0) & (distance < window)


def _window_mask(
    n,
    window,
    *,
    farthest=lambda window: window - 1,
    nearest=lambda window: 0,
    distance=lambda position, window: position[:, None] - position,
    polarity=lambda mask: mask,
    form=lambda mask: mask,
):
    distance = distance(torch.arange(n), window)
    return form(polarity((distance >= nearest(window)) & (distance <= farthest(window))))


def _slice_below_zero(position, window):
    """`row[i - window + 1 : i + 1] = True`: a negative start counts from the end."""
    query, n = position[:, None], len(position)
    first = query - window + 1
    first = torch.where(first < 0, (first + n).clamp(min=0), first)
    return torch.where(position >= first, query - position, math.inf)


SLIDING_WINDOW_MASK = Exercise(
    id="06.sliding_window_mask",
    title="A window",
    statement=(
        "Each of `n` words sees itself and the `window` − 1 words before it, so `window` words in "
        "all where there are so many. Return the mask (n, n): rows ask, columns answer, `True` = "
        "may attend."
    ),
    starter=(
        "def sliding_window_mask(n, window):\n"
        "    # -> (n, n), boolean, True = may attend\n"
        "    ...  # your code here\n"
    ),
    reference=sliding_window_mask,
    why=(
        "Subtract each column's position from each row's: that is how far back the key lies. The "
        "window shows the distances 0 to window − 1, and 0 is the word itself."
    ),
    model=_window_mask,
    cases=lambda: [
        Case((5, 2), "5 words, a window of 2"),
        Case((9, 4), "9 words, a window of 4"),
        Case((8, 3), "8 words, a window of 3"),
        Case((4, 1), "a window of 1"),
        Case((3, 6), "a window wider than the sentence"),
        *(Case(s, f"{s[0]} words, a window of {s[1]}") for s in more(3, range(9, 30), range(2, 9))),
    ],
    misconceptions=(
        Misconception(
            "one word too many",
            "The window counts the word itself: it sees `window` − 1 words before it, not "
            "`window` of them.",
            {"farthest": lambda window: window},
        ),
        Misconception(
            "one word too few",
            "The word itself and `window` − 1 words before it are seen. Here the farthest of them "
            "is left out.",
            {"farthest": lambda window: window - 2},
        ),
        Misconception(
            "the future left open",
            "What comes after a word has a negative distance, and that is less than `window` too. "
            "Ask for a distance of at least 0 as well.",
            {"nearest": lambda window: -math.inf},
        ),
        Misconception(
            "nothing hidden",
            "Every word sees every word. Both conditions must hold at once: not after the word, "
            "and not too far before it (`&`, not `|`).",
            {"nearest": lambda window: -math.inf, "farthest": lambda window: math.inf},
        ),
        Misconception(
            "everything hidden",
            "Every entry is `False`: no word sees anything, not even itself.",
            {"nearest": lambda window: math.inf},
        ),
        Misconception(
            "the window on both sides",
            "A word sees those before it and itself. This mask looks ahead as far as it looks "
            "back.",
            {"nearest": lambda window: 1 - window},
        ),
        Misconception(
            "window words on each side",
            "This window reaches `window` words back and as many ahead. Here `window` counts all "
            "words seen, the word itself among them, and none comes after it.",
            {"nearest": lambda window: -window, "farthest": lambda window: window},
        ),
        Misconception(
            "half of the window on each side",
            "The window ends at the word itself: all of its others come before.",
            {
                "nearest": lambda window: -(window // 2),
                "farthest": lambda window: window - 1 - window // 2,
            },
        ),
        Misconception(
            "window // 2 words on each side",
            "Here the window is centred on the word. It ends at the word itself: all of its others "
            "come before.",
            {"nearest": lambda window: -(window // 2), "farthest": lambda window: window // 2},
        ),
        Misconception(
            "the word itself is left out",
            "The distance 0 belongs to the window: a word sees itself.",
            {"nearest": lambda window: 1},
        ),
        Misconception(
            "the window shifted by one",
            "The word itself is left out, and one word too far back is seen instead.",
            {"nearest": lambda window: 1, "farthest": lambda window: window},
        ),
        Misconception(
            "causal, but no window",
            "Everything before the word is seen, however far away it is.",
            {"farthest": lambda window: math.inf},
        ),
        Misconception(
            "rows and columns exchanged",
            "Rows ask and columns answer. Here every word sees itself and those after it.",
            {"distance": lambda position, window: position - position[:, None]},
        ),
        Misconception(
            "blocks instead of a window",
            "These words are cut into fixed blocks. A window moves along with the word that asks.",
            {
                "distance": lambda position, window: torch.where(
                    position[:, None] // window == position // window,
                    position[:, None] - position,
                    -math.inf,
                )
            },
        ),
        Misconception(
            "mask upside down",
            "`True` means may attend. Here the window is what is hidden.",
            {"polarity": lambda mask: ~mask},
        ),
        Misconception(
            "what lies before the window",
            "The comparison is turned round: seen is what lies `window` words back or more, and "
            "the window itself is not.",
            {"nearest": lambda window: window, "farthest": lambda window: math.inf},
        ),
        Misconception(
            "the edge of the window on the other side",
            "`triu(window - 1)` moves the edge to the right of the diagonal, into the future, so "
            "nothing is left. The window reaches back: `triu(1 - window)`.",
            {"farthest": lambda window: 1 - window},
        ),
        Misconception(
            "the first words see nothing",
            "A window that begins before the sentence is not empty: it shows the words that are "
            "there, and at least the word itself.",
            {
                "distance": lambda position, window: torch.where(
                    position[:, None] >= window - 1, position[:, None] - position, math.inf
                )
            },
        ),
        Misconception(
            "a slice that starts below 0",
            "Python counts a negative start from the end of the row, so the first words lose their "
            "window. Start at `max(0, i - window + 1)`.",
            {"distance": _slice_below_zero},
        ),
        Misconception(
            "the window goes round in a ring",
            "A negative index, or `roll`, leads from the first word to the last ones. Before the "
            "first word there is nothing.",
            {"distance": lambda position, window: (position[:, None] - position) % len(position)},
        ),
        Misconception(
            "the first words see a full window",
            "Where fewer than `window` words lie behind, fewer are seen. Here the window was "
            "filled up with words from the future.",
            {
                "distance": lambda position, window: (
                    position[:, None].clamp(min=window - 1) - position
                )
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
            {"form": lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -math.inf)},
        ),
    ),
    hints=(
        "How far back does column j lie from row i? Write that number for all pairs at once.",
        "`position[:, None] - position` is (n, n). Which of these distances are in the window?",
        "`(distance >= 0) & (distance < window)`.",
    ),
    minutes=5,
    difficulty=1,
)


# 06.block_attention


def block_attention(query, key, value, block):
    outputs = []
    for start in range(0, query.shape[-2], block):
        own = slice(start, start + block)  # the last block may be shorter
        scores = query[..., own, :] @ key[..., own, :].mT / math.sqrt(query.shape[-1])
        outputs.append(scores.softmax(dim=-1) @ value[..., own, :])
    return torch.cat(outputs, dim=-2)  # (…, n, d_value)


def _in_one_block(i, j, n, block):
    return i // block == j // block


def _softmax(scores, seen, block):
    return scores.masked_fill(~seen, -math.inf).softmax(dim=-1)


def _softmax_over_axis_1(scores, seen, block):
    """As a loop over the blocks does it: what a block does not hold plays no part."""
    return scores.masked_fill(~seen, -math.inf).softmax(dim=1).nan_to_num()


def _filled_up(scores, seen, block):
    """The last block is filled up with zeros: each is a score of 0, and a value of 0."""
    missing = (block - seen.sum(dim=-1, keepdim=True)).clamp(min=0)
    odds = scores.masked_fill(~seen, -math.inf).exp()
    return odds / (odds.sum(dim=-1, keepdim=True) + missing)


def _blocks(
    query,
    key,
    value,
    block,
    *,
    same=_in_one_block,
    scale=lambda d, block, n: 1 / math.sqrt(d),
    weights=_softmax,
    whole=lambda n, block: n,
    own=None,
):
    n = query.shape[-2]
    if own is not None:
        return own(query, key, value, block)
    position = torch.arange(n)
    seen = same(position[:, None], position, n, block).expand(n, n)
    scores = query @ key.mT * scale(query.shape[-1], block, n)
    return (weights(scores, seen, block) @ value)[..., : whole(n, block), :]


def _cut_along_axis_1(query, key, value, block):
    pieces = zip(*(x.split(block, dim=1) for x in (query, key, value)))
    return torch.cat([torch.nn.functional.scaled_dot_product_attention(*x) for x in pieces], dim=1)


def _short_block_left_at_zero(query, key, value, block):
    whole = query.shape[-2] // block * block
    output = torch.zeros(*query.shape[:-1], value.shape[-1], dtype=value.dtype)
    if whole:
        parts = (x[..., :whole, :] for x in (query, key, value))
        output[..., :whole, :] = block_attention(*parts, block)
    return output


def _block_cases():
    def inputs(*lead, n, d, d_value, seed):
        sizes = (n, d), (n, d), (n, d_value)
        return [2 * normal(*lead, *size, seed=seed + i) for i, size in enumerate(sizes)]

    return [
        Case((*inputs(n=5, d=3, d_value=2, seed=1), 2), "5 words in blocks of 2: the last has 1"),
        Case((*inputs(2, 3, n=15, d=4, d_value=6, seed=4), 5), "15 words in 3 blocks of 5"),
        Case((*inputs(2, n=11, d=6, d_value=3, seed=7), 4), "11 words: the last block has 3"),
        Case((*inputs(n=6, d=4, d_value=7, seed=10), 1), "blocks of a single word"),
        Case((*inputs(2, n=3, d=4, d_value=5, seed=16), 2), "2 sentences of 3 words, blocks of 2"),
        Case((*inputs(n=3, d=5, d_value=2, seed=13), 8), "one block for everything"),
    ]


BLOCK_ATTENTION = Exercise(
    id="06.block_attention",
    title="Attention in blocks",
    statement=(
        "Cut the n words into blocks of `block` words, the last one shorter when `block` does not "
        "divide n (it may be larger than n), and let each word attend to the words of its own "
        "block, before and after it. "
        "`query` and `key` (…, n, d), `value` (…, n, d_value). Return (…, n, d_value)."
    ),
    starter=(
        "def block_attention(query, key, value, block):\n"
        "    # (…, n, d), (…, n, d), (…, n, d_value) -> (…, n, d_value)\n"
        "    ...  # your code here\n"
    ),
    reference=block_attention,
    why=(
        "Each block is a short sentence of its own. The scores between blocks are never computed: "
        "n · block of them instead of n². A mask over all n² gives the same output and saves "
        "nothing."
    ),
    model=_blocks,
    cases=_block_cases,
    misconceptions=(
        Misconception(
            "number and length of the blocks exchanged",
            "`block` is the length of a block. Here it was taken for the number of blocks.",
            {"same": lambda i, j, n, block: i // -(-n // block) == j // -(-n // block)},
        ),
        Misconception(
            "every block-th word instead of neighbours",
            "A block holds neighbours: the words 0 to block − 1, then the next ones. Here the "
            "words were dealt out in turn.",
            {"same": lambda i, j, n, block: i % -(-n // block) == j % -(-n // block)},
        ),
        Misconception(
            "causal inside a block",
            "Nothing is hidden inside a block: its first word sees its last.",
            {"same": lambda i, j, n, block: _in_one_block(i, j, n, block) & (i >= j)},
        ),
        Misconception(
            "the same place in every block",
            "A block holds neighbours. Here a word sees every `block`-th word: the one at its own "
            "place in each of the blocks.",
            {"same": lambda i, j, n, block: i % block == j % block},
        ),
        Misconception(
            "the blocks before are seen too",
            "Each block is on its own. Here a word also sees all the blocks before.",
            {"same": lambda i, j, n, block: (i >= j) | _in_one_block(i, j, n, block)},
        ),
        Misconception(
            "the block before is seen too",
            "Each block is on its own. Here a word also sees the block before.",
            {"same": lambda i, j, n, block: (i // block - j // block - 0.5).abs() < 1},
        ),
        Misconception(
            "a window instead of blocks",
            "Blocks stay where they are. Here each word has a window of its own.",
            {"same": lambda i, j, n, block: (i >= j) & (i - j < block)},
        ),
        Misconception(
            "a window on both sides instead of blocks",
            "Blocks stay where they are. Here each word sees its neighbours on both sides, across "
            "the cuts.",
            {"same": lambda i, j, n, block: (i - j).abs() < block},
        ),
        Misconception(
            "no blocks at all",
            "Every word sees every word: `block` plays no part.",
            {"same": lambda i, j, n, block: (i >= 0) & (j >= 0)},
        ),
        Misconception(
            "the last block filled up with zeros that are seen",
            "A key of zeros has a score of 0, and e⁰ = 1: the filling takes its share of the last "
            "block. Hide it, or let the block be shorter.",
            {"weights": _filled_up},
        ),
        Misconception(
            "the words of the short block left out",
            "`n // block` counts the full blocks only. The words that are left over form a shorter "
            "block, and have outputs of their own.",
            {"whole": lambda n, block: n // block * block},
        ),
        Misconception(
            "zeros for the words of the short block",
            "`n // block` counts the full blocks only. The words that are left over form a shorter "
            "block, and attend to one another in it.",
            {"own": _short_block_left_at_zero},
        ),
        Misconception(
            "the short block joined to the one before",
            "The words that are left over form a block of their own, however short it is.",
            {
                "same": lambda i, j, n, block: (
                    (i // block).clamp(max=max(n // block - 1, 0))
                    == (j // block).clamp(max=max(n // block - 1, 0))
                )
            },
        ),
        Misconception(
            "the short block first",
            "The blocks are cut from the first word on: the short one is the last.",
            {"same": lambda i, j, n, block: (i + -n % block) // block == (j + -n % block) // block},
        ),
        Misconception(
            "blocks cut along axis 1",
            "Axis 1 is the axis of the words only with a single leading axis; with heads it is the "
            "heads. Counted from the end it is always `dim=-2`.",
            {"own": _cut_along_axis_1},
        ),
        Misconception(
            "mask upside down",
            "`True` means may attend. Here each word sees all blocks but its own.",
            {"same": lambda i, j, n, block: i // block != j // block},
        ),
        Misconception(
            "mask upside down, and zeros where nothing is left",
            "`True` means may attend. Here each word sees all blocks but its own, and a single "
            "block sees nothing.",
            {
                "same": lambda i, j, n, block: i // block != j // block,
                "weights": lambda scores, seen, block: _softmax(scores, seen, block).nan_to_num(),
            },
        ),
        Misconception(
            "masked after the softmax",
            "The other blocks have already taken their share, so the rows no longer sum to 1.",
            {"weights": lambda scores, seen, block: scores.softmax(dim=-1) * seen},
        ),
        Misconception(
            "other blocks get a score of 0",
            "A score of 0 is a score like any other, and e⁰ = 1. What is hidden needs −∞.",
            {"weights": lambda scores, seen, block: (scores * seen).softmax(dim=-1)},
        ),
        Misconception(
            "mask of 0 and 1 added to the scores",
            "Adding 1 to a visible score hides nothing: the other blocks keep almost their full "
            "weight. What is hidden needs −∞.",
            {"weights": lambda scores, seen, block: (scores + seen).softmax(dim=-1)},
        ),
        Misconception(
            "no softmax",
            "Scores may be negative and of any size; the softmax makes a row of weights of them.",
            {"weights": lambda scores, seen, block: scores * seen},
        ),
        Misconception(
            "softmax over axis 1",
            "`dim=1` is the axis of the keys only as long as there are no leading axes. Counted "
            "from the end it is always `dim=-1`.",
            {"weights": _softmax_over_axis_1},
        ),
        Misconception(
            "softmax over the queries",
            "Each query divides its attention among the keys: the rows must sum to 1 (`dim=-1`).",
            {"weights": lambda scores, seen, block: _softmax(scores.mT, seen.mT, block).mT},
        ),
        Misconception(
            "not scaled",
            "Divide the scores by √d, as without blocks.",
            {"scale": lambda d, block, n: 1.0},
        ),
        Misconception(
            "divided by d",
            "The standard deviation of a dot product grows with √d, not with d.",
            {"scale": lambda d, block, n: 1 / d},
        ),
        Misconception(
            "multiplied by √d",
            "The scale makes the scores smaller: divide by √d.",
            {"scale": lambda d, block, n: math.sqrt(d)},
        ),
        Misconception(
            "scaled by the number of words",
            "d is the last axis of the query. The length of the sentence plays no part in the "
            "scale.",
            {"scale": lambda d, block, n: 1 / math.sqrt(n)},
        ),
        Misconception(
            "scaled by the length of the block",
            "d is the last axis of the query. The length of a block plays no part in the scale.",
            {"scale": lambda d, block, n: 1 / math.sqrt(block)},
        ),
    ),
    hints=(
        "Take the first `block` words alone. You have a function for them since chapter 02.",
        "A loop over `range(0, n, block)` and slices will do; a slice may end beyond the end.",
        "`own = slice(start, start + block)`, attention of `query[..., own, :]` to "
        "`key[..., own, :]`, and `torch.cat(outputs, dim=-2)`.",
    ),
    minutes=8,
    difficulty=2,
)


# 06.receptive_field


def receptive_field(window, layers):
    return 1 + layers * (window - 1)  # itself, and window - 1 further back with each layer


def _receptive_field(
    window,
    layers,
    *,
    reach=lambda window: window - 1,  # of one layer
    deep=lambda layers: layers,
    sides=1,
    itself=1,
    field=None,
):
    if field is not None:
        return field(window, deep(layers))
    return itself + sides * deep(layers) * reach(window)


RECEPTIVE_FIELD = Exercise(
    id="06.receptive_field",
    title="How far layers see",
    statement=(
        "In each of `layers` layers a word sees itself and the `window` − 1 words before it. How "
        "many words of a long text can change what the last layer gives for its last word, that "
        "word itself counted? `layers` may be 0. Return a whole number."
    ),
    starter="def receptive_field(window, layers):\n    ...  # your code here\n",
    reference=receptive_field,
    why=(
        "One layer reaches window − 1 words back. The words found there have looked window − 1 "
        "words back themselves, so each layer adds the same distance. The 1 is the word itself."
    ),
    model=_receptive_field,
    cases=lambda: [
        Case((window, layers), f"window = {window}, layers = {layers}")
        for window, layers in [
            *((4, 3), (2, 5), (31, 6), (1, 7), (9, 1), (5, 0)),
            *more(5, range(2, 40), range(2, 12)),
        ]
    ],
    misconceptions=(
        Misconception(
            "window · layers",
            "Each word counts itself in its own window. Stacked windows overlap by that one word, "
            "so a layer adds window − 1.",
            {"reach": lambda window: window, "itself": 0},
        ),
        Misconception(
            "the word itself forgotten",
            "layers · (window − 1) words lie further back. The word itself is one more.",
            {"itself": 0},
        ),
        Misconception(
            "window words further back in each layer",
            "The window includes the word itself: a layer reaches window − 1 further.",
            {"reach": lambda window: window},
        ),
        Misconception(
            "one layer too few",
            "The first layer reaches window − 1 words back, and each of the others as many.",
            {"deep": lambda layers: layers - 1},
        ),
        Misconception(
            "one layer too many",
            "Before any layer a word knows only itself. There are `layers` steps, not one more.",
            {"deep": lambda layers: layers + 1},
        ),
        Misconception(
            "layers do not add up",
            "The words in the window have looked back themselves, in the layer below.",
            {"field": lambda window, layers: window},
        ),
        Misconception(
            "multiplied from layer to layer",
            "Layers add their reach. It multiplies only where each layer leaves gaps that grow "
            "(dilation).",
            {"field": lambda window, layers: window**layers},
        ),
        Misconception(
            "both sides counted",
            "The window ends at the word itself: nothing comes from after it.",
            {"sides": 2},
        ),
        Misconception(
            "multiplied from layer to layer, without the word itself",
            "Layers add their reach of window − 1 words. It multiplies only where each layer "
            "leaves gaps that grow (dilation).",
            {"field": lambda window, layers: (window - 1) ** layers},
        ),
        Misconception(
            "the reach multiplied from layer to layer",
            "Layers add their reach of window − 1 words. It multiplies only where each layer "
            "leaves gaps that grow (dilation).",
            {"field": lambda window, layers: 1 + (window - 1) ** layers},
        ),
        Misconception(
            "doubled from layer to layer",
            "The reach doubles only where each layer leaves gaps twice as wide (dilation). Here "
            "every layer adds the same window − 1 words.",
            {"field": lambda window, layers: 1 + (window - 1) * (2**layers - 1)},
        ),
        Misconception(
            "one word for each further layer",
            "A further layer reaches window − 1 words back, not 1.",
            {"field": lambda window, layers: window + layers - 1},
        ),
        Misconception(
            "window and layers added",
            "A further layer reaches window − 1 words back, not 1.",
            {"field": lambda window, layers: window + layers},
        ),
        Misconception(
            "half of the window",
            "This window lies before the word with all of its width, not with a half on each side.",
            {"reach": lambda window: window // 2},
        ),
        Misconception(
            "the word itself counted twice",
            "Each layer adds window − 1 words further back. The word itself is one, in all layers "
            "together.",
            {"itself": 2},
        ),
        Misconception(
            "window and layers exchanged",
            "Each of the layers adds window − 1, not the other way round.",
            {"field": lambda window, layers: 1 + window * (layers - 1)},
        ),
    ),
    hints=(
        "One layer, a window of 4: the word itself and 3 more. What have those 3 seen below?",
        "Each layer adds the same number of words. Which? And what is there with 0 layers?",
        "`1 + layers * (window - 1)`.",
    ),
    minutes=4,
    difficulty=1,
)

EXERCISES = (SLIDING_WINDOW_MASK, BLOCK_ATTENTION, RECEPTIVE_FIELD)
