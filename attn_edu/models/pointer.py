"""A model that answers a question by pointing at a name in the text (Vinyals et al., 2015)."""

import math

import torch
from torch import Tensor, nn

from attn_edu.attention import MultiHeadAttention
from attn_edu.models.checks import check_one_of, check_positive, check_tokens
from attn_edu.models.readers import BothWays
from attn_edu.models.transformer import TransformerEncoder

POINTER_READERS = ("transformer", "lstm")
HIDDEN = -1e4  # a score that no softmax sees, and whose gradient is finite


def biased_attention(
    query: Tensor, key: Tensor, value: Tensor, *, bias: Tensor, mask: Tensor | None = None
) -> Tensor:
    """``softmax(query keyᵀ / √d + bias) value``; what the mask hides gets a weight of 0.

    Args:
        query, key, value: ``(…, n, d)``.
        bias: broadcasts to ``(…, n, n)``.
        mask: boolean, the same; True = may attend.
    """
    scores = query @ key.mT / math.sqrt(query.shape[-1]) + bias  # (…, n, n)
    if mask is None:
        return scores.softmax(dim=-1) @ value
    weights = scores.masked_fill(~mask, HIDDEN).softmax(dim=-1)
    return weights.masked_fill(~mask, 0) @ value


class RelativeAttention(MultiHeadAttention):
    """Self-attention whose scores get a learned number for each distance, in each head.

    Source: Shaw et al. (2018) and, as a number for each head, Raffel et al. (2020).

    Args:
        d_model, n_heads: as in `MultiHeadAttention`.
        reach: distances beyond it, before and behind, count as this one.
    """

    def __init__(self, d_model: int, n_heads: int, *, reach: int = 8):
        super().__init__(d_model, n_heads, attend=biased_attention)
        check_positive("reach", reach)
        self.distance = nn.Parameter(torch.randn(n_heads, 2 * reach + 1) / 2)

    def _options(self, mask: Tensor | None, query: Tensor, key: Tensor) -> dict:
        reach = self.distance.shape[-1] // 2
        place = torch.arange(query.shape[-2], device=query.device)
        steps = (place - place[:, None]).clamp(-reach, reach) + reach  # (n, n): from row to column
        return super()._options(mask, query, key) | {"bias": self.distance[:, steps]}


class Pointer(nn.Module):
    """Read a question and a text; each place of the text says how well it would answer.

    A name may stand at several places: the odds of its places add up (Kadlec et al., 2016). Token 0
    is padding.

    Args:
        vocabulary: how many different tokens, signs included; the last ``n_signs`` are the signs.
        n_signs: how many different names a text may have.
        width: of token vectors and states.
        reader: ``"transformer"`` or ``"lstm"``, one that reads from both ends.
        n_layers: at least 1.
        n_heads: of the Transformer; how far apart two places are tells it `RelativeAttention`.
        end_of_question: the token behind the question; only what comes after it can be an answer.
        alike: for the Transformer: let keys start as copies of the queries, both times this
            factor, so that from the start a token looks for its own copies. ``None`` leaves
            torch's start.
        match: whether a place is also told if its token stands in the question (the exact-match
            feature of Chen et al., 2017), which is half of the work.

    Raises:
        ValueError: sizes that do not fit, or an unknown reader.

    Example:
        >>> import torch
        >>> model = Pointer(vocabulary=20, n_signs=4, width=8, n_heads=2)
        >>> tokens = torch.tensor([[5, 16, 2, 16, 7, 18, 0]])  # a sign is asked about, two are read
        >>> model(tokens).shape, model.maps(tokens).shape
        (torch.Size([1, 4]), torch.Size([2, 1, 2, 7, 7]))
        >>> (model(tokens) > -1000).tolist()
        [[True, False, True, False]]
    """

    def __init__(
        self,
        vocabulary: int,
        n_signs: int,
        width: int,
        *,
        reader: str = "transformer",
        n_layers: int = 2,
        n_heads: int = 4,
        end_of_question: int = 2,
        alike: float | None = 2.0,
        match: bool = False,
    ):
        super().__init__()
        check_one_of("reader", reader, POINTER_READERS)
        check_positive("n_signs", n_signs)
        check_positive("vocabulary - n_signs", vocabulary - n_signs)
        self.reader, self.end_of_question = reader, end_of_question
        self.first_sign, self.n_signs = vocabulary - n_signs, n_signs
        self.tokens = nn.Embedding(vocabulary, width)
        self.match = nn.Embedding(2, width) if match else None
        if reader == "transformer":
            self.stack = TransformerEncoder(width, n_heads, n_layers, attention=RelativeAttention)
            if alike is not None:
                _keys_as_queries(self.stack, alike)
        else:
            check_positive("n_layers", n_layers)
            self.stack = nn.ModuleList(BothWays(width) for _ in range(n_layers))
        self.score = nn.Linear(width, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        """``(batch, n)`` integers -> ``(batch, n_signs)`` logits.

        A sign that the text does not have gets a logit far below all others.

        Raises:
            ValueError: no rows of numbers, a number outside the vocabulary, or a row of padding.
        """
        x, words = self._embed(tokens), tokens != 0  # (batch, n, width), (batch, n)
        if self.reader == "transformer":
            x = self.stack(x, mask=words.unsqueeze(-2))
        else:
            for layer in self.stack:
                x = layer(x, words)
        places = self.places(tokens)  # (batch, n_signs, n)
        scores = self.score(x).mT.masked_fill(~places, HIDDEN)
        return scores.logsumexp(dim=-1).masked_fill(~places.any(dim=-1), HIDDEN)

    def places(self, tokens: Tensor) -> Tensor:
        """Where each sign stands in the text, ``(batch, n_signs, n)``, boolean."""
        signs = torch.arange(self.n_signs, device=tokens.device) + self.first_sign
        text = (tokens == self.end_of_question).cumsum(dim=-1) > 0  # (batch, n)
        return (tokens.unsqueeze(-2) == signs[:, None]) & text.unsqueeze(-2)

    def maps(self, tokens: Tensor) -> Tensor:
        """The self-attention of the Transformer, ``(n_layers, batch, n_heads, n, n)``.

        Raises:
            ValueError: this model has no self-attention.
        """
        if self.reader != "transformer":
            raise ValueError(f"reader: got {self.reader!r}; only 'transformer' has maps.")
        return self.stack.maps(self._embed(tokens), mask=(tokens != 0).unsqueeze(-2))

    def _embed(self, tokens: Tensor) -> Tensor:
        check_tokens("tokens", tokens, self.tokens.num_embeddings)
        if not (tokens != 0).any(dim=-1).all():
            raise ValueError("tokens: got a row of padding alone; accepted is a token or more.")
        x = self.tokens(tokens)
        if self.match is None:
            return x
        text = (tokens == self.end_of_question).cumsum(dim=-1) > 0
        asked = tokens.masked_fill(text, -1)  # (batch, n): the question alone
        seen = (tokens.unsqueeze(-1) == asked.unsqueeze(-2)).any(dim=-1) & text
        return x + self.match(seen.long())


def _keys_as_queries(stack: TransformerEncoder, factor: float) -> None:
    with torch.no_grad():
        for block in stack.blocks:
            query, key = block.attention.query, block.attention.key
            query.weight.mul_(factor)
            key.weight.copy_(query.weight)
