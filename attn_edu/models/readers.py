"""Models that read a sentence of words and say which class it is of.

All but `WordWeights` share one frame, `SentenceClassifier`: embed the words, let a reader mix them
(or not), pool the states into one vector, answer. Word 0 is padding, and changes no answer; a
sentence of nothing else is pooled to zeros. Numbers that are no words of the vocabulary raise a
``ValueError``.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_edu.attention import attention_map, scaled_dot_product_attention
from attn_edu.models.baselines import Convolutional
from attn_edu.models.checks import check_one_of, check_positive, check_tokens
from attn_edu.models.transformer import TransformerStack

POOLS = ("mean", "max", "attention")
SENTENCE_READERS = ("none", "lstm", "cnn", "transformer")


class WordWeights(nn.Module):
    """A bag of words: one weight for each word, added up (logistic regression when trained).

    The order of the words cannot change the sum.

    Args:
        vocabulary: how many words, padding included.
    """

    def __init__(self, vocabulary: int):
        super().__init__()
        check_positive("vocabulary", vocabulary)
        self.weight = nn.Embedding(vocabulary, 1, padding_idx=0)
        nn.init.zeros_(self.weight.weight)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, words: Tensor) -> Tensor:
        """``(batch, n)`` integers -> ``(batch, 2)`` logits; their difference is the sum."""
        check_tokens("words", words, self.weight.num_embeddings)
        total = self.weight(words).sum(dim=(-2, -1)) + self.bias
        return torch.stack([-total, total], dim=-1) / 2


class AttentionPooling(nn.Module):
    """The mean of the states with learned weights (Lin et al., 2017, with one row of weights).

    A single learned query asks, the bent states are the keys and the states themselves the values:
    the softmax of ``query · tanh(W x) / √width``, times ``x``.

    Args:
        width: size of the states.
    """

    def __init__(self, width: int):
        super().__init__()
        self.key = nn.Linear(width, width)
        self.query = nn.Parameter(torch.randn(1, width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """``(batch, n, width)``, mask ``(batch, n)`` with True = counts -> ``(batch, width)``."""
        mask = None if mask is None else mask.unsqueeze(-2)  # (batch, 1, n)
        query = self.query.expand(*x.shape[:-2], 1, -1)
        return scaled_dot_product_attention(query, self.key(x).tanh(), x, mask=mask).squeeze(-2)

    def map(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The weights, ``(batch, n)``; arguments as `forward`."""
        mask = None if mask is None else mask.unsqueeze(-2)
        query = self.query.expand(*x.shape[:-2], 1, -1)
        keys = self.key(x).tanh()
        return attention_map(scaled_dot_product_attention, query, keys, mask=mask).squeeze(-2)


class BothWays(nn.Module):
    """An LSTM that reads from both ends (Schuster & Paliwal, 1997), each half the width.

    Args:
        width: size of the input and of both states together; even.
    """

    def __init__(self, width: int):
        super().__init__()
        if width % 2:
            raise ValueError(f"width: got {width}; accepted is an even number.")
        self.layer = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """``(batch, n, width)``, mask ``(batch, n)`` with True = read -> ``(batch, n, width)``.

        What is not read stands at the end of a row, and its states are zeros.
        """
        lengths = mask.sum(dim=-1).clamp(min=1)  # torch reads no empty sentence
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.layer(packed)[0], True, total_length=x.shape[1])
        return states * mask.unsqueeze(-1)


class SentenceClassifier(nn.Module):
    """Embed, read, pool, answer.

    Args:
        vocabulary: how many words, padding included.
        width: size of the word vectors and of everything after them.
        reader: ``"none"`` leaves the word vectors as they are; ``"lstm"`` reads from both ends;
            ``"cnn"`` is one convolution (Kim, 2014); ``"transformer"`` one block of self-attention.
        pool: ``"mean"``, ``"max"`` (of each feature, as in Kim, 2014) or ``"attention"``.
        n_classes: number of possible answers.
        dropout: share of the numbers set to 0 in training, after embedding and after pooling.
        n_heads, position: of the Transformer; see `MultiHeadAttention`.
        window: of the convolution; odd.

    Raises:
        ValueError: an unknown name, or sizes that do not fit.

    Example:
        >>> model = SentenceClassifier(100, 8, pool="attention")
        >>> words = torch.tensor([[5, 7, 2], [9, 0, 0]])  # the second is one word long
        >>> model(words).shape, model.pooling(words).shape
        (torch.Size([2, 2]), torch.Size([2, 3]))
    """

    def __init__(
        self,
        vocabulary: int,
        width: int,
        *,
        reader: str = "none",
        pool: str = "mean",
        n_classes: int = 2,
        dropout: float = 0.0,
        n_heads: int = 2,
        position: str | None = "rotary",
        window: int = 3,
    ):
        super().__init__()
        check_positive("vocabulary", vocabulary)
        check_positive("width", width)
        check_one_of("reader", reader, SENTENCE_READERS)
        check_one_of("pool", pool, POOLS)
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        with torch.no_grad():
            self.embed.weight.mul_(0.1)  # rare words start near nothing, and stay there
        self.reader = reader
        if reader == "lstm":
            self.layer = BothWays(width)
        elif reader == "cnn":
            self.layer = Convolutional(width, window=window)
        elif reader == "transformer":
            options = {"position": position, "dropout": dropout}
            self.layer = TransformerStack(width, n_heads, 1, 2 * width, **options)
        self.pool = pool
        if pool == "attention":
            self.attend = AttentionPooling(width)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(width, n_classes)

    def states(self, words: Tensor) -> Tensor:
        """One vector a word, ``(batch, n)`` -> ``(batch, n, width)``: what is pooled."""
        check_tokens("words", words, self.embed.num_embeddings)
        x, mask = self.dropout(self.embed(words)), words != 0
        if self.reader == "lstm":
            return self.layer(x, mask)
        if self.reader == "cnn":
            return self.layer(x)
        if self.reader == "transformer":
            return self.layer(x, mask=mask.unsqueeze(-2))
        return x

    def forward(self, words: Tensor) -> Tensor:
        """``(batch, n)`` integers, 0 = padding, -> ``(batch, n_classes)`` logits."""
        x, mask = self.states(words), words != 0
        if self.pool == "attention":
            pooled = self.attend(x, mask)
        elif self.pool == "max":
            pooled = x.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=-2)
            pooled = pooled.masked_fill(~mask.any(dim=-1, keepdim=True), 0)
        else:
            counted = mask.unsqueeze(-1)
            pooled = (x * counted).sum(dim=-2) / counted.sum(dim=-2).clamp(min=1)
        return self.head(self.dropout(pooled))

    def pooling(self, words: Tensor) -> Tensor:
        """The weight of each word in the pooled mean, ``(batch, n)``.

        Rows add up to 1; that of a sentence without a word is zeros.

        Raises:
            ValueError: this model does not pool by a mean.
        """
        check_tokens("words", words, self.embed.num_embeddings)
        mask = words != 0
        if self.pool == "max":
            raise ValueError("pool: got 'max'; only 'mean' and 'attention' weigh the words.")
        if self.pool == "attention":
            return self.attend.map(self.states(words), mask)
        counted = mask.to(self.embed.weight.dtype)
        return counted / counted.sum(dim=-1, keepdim=True).clamp(min=1)

    def maps(self, words: Tensor) -> Tensor:
        """The self-attention of the Transformer, ``(1, batch, n_heads, n, n)``.

        Raises:
            ValueError: this model has no self-attention.
        """
        if self.reader != "transformer":
            raise ValueError(f"reader: got {self.reader!r}; only 'transformer' has maps.")
        check_tokens("words", words, self.embed.num_embeddings)
        return self.layer.maps(self.embed(words), mask=(words != 0).unsqueeze(-2))
