"""Models that give every word a tag."""

import torch
from torch import Tensor, nn

from attn_edu.models.checks import check_one_of, check_positive, check_tokens
from attn_edu.models.pointer import RelativeAttention
from attn_edu.models.readers import BothWays
from attn_edu.models.transformer import TransformerEncoder

TAGGERS = ("transformer", "lstm")


class Tagger(nn.Module):
    """Embed the words, read the sentence, answer at each word. Word 0 is padding.

    Args:
        vocabulary: how many words, padding included.
        n_tags: number of possible answers.
        width: size of the word vectors and of the states.
        reader: ``"transformer"``, blocks of self-attention (Vaswani et al., 2017); or ``"lstm"``,
            layers that read from both ends (Huang et al., 2015, without their CRF).
        n_layers, n_heads: ``n_heads`` of the Transformer only.
        position: of the Transformer: ``"neighbours"``, `RelativeAttention` whose heads start at the
            words around, each at another one; or as in `MultiHeadAttention`.
        dropout: share of the numbers set to 0 in training, after embedding and inside.

    Raises:
        ValueError: an unknown reader, or sizes that do not fit.

    Example:
        >>> model = Tagger(100, n_tags=3, width=8, n_heads=2)
        >>> words = torch.tensor([[5, 7, 2], [9, 0, 0]])  # the second is one word long
        >>> model(words).shape, model.maps(words).shape
        (torch.Size([2, 3, 3]), torch.Size([2, 2, 2, 3, 3]))
    """

    def __init__(
        self,
        vocabulary: int,
        n_tags: int,
        width: int,
        *,
        reader: str = "transformer",
        n_layers: int = 2,
        n_heads: int = 4,
        position: str | None = "rotary",
        dropout: float = 0.0,
    ):
        super().__init__()
        sizes = {"vocabulary": vocabulary, "n_tags": n_tags, "n_layers": n_layers}
        for name, size in sizes.items():
            check_positive(name, size)
        check_one_of("reader", reader, TAGGERS)
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        with torch.no_grad():
            self.embed.weight.mul_(0.1)  # a word starts as less than what is said of it
        self.dropout = nn.Dropout(dropout)
        self.reader = reader
        if reader == "transformer":
            near = position == "neighbours"
            how = {"attention": RelativeAttention} if near else {"position": position}
            options = {"dropout": dropout, **how}
            self.layers = TransformerEncoder(width, n_heads, n_layers, 2 * width, **options)
            if near:
                _start_at_neighbours(self.layers)
        else:
            self.layers = nn.ModuleList(BothWays(width) for _ in range(n_layers))
        self.head = nn.Linear(width, n_tags)

    def forward(self, words: Tensor) -> Tensor:
        """``(batch, n)`` integers, 0 = padding, -> ``(batch, n, n_tags)`` logits.

        Raises:
            ValueError: other shapes, or numbers that are no words of the vocabulary.
        """
        check_tokens("words", words, self.embed.num_embeddings)
        x, real = self.dropout(self.embed(words)), words != 0
        if self.reader == "transformer":
            return self.head(self.layers(x, mask=real.unsqueeze(-2)))
        for layer in self.layers:
            x = self.dropout(layer(x, real))
        return self.head(x)

    def maps(self, words: Tensor) -> Tensor:
        """The weights of all heads, ``(n_layers, batch, n_heads, n, n)``.

        Raises:
            ValueError: this model has no self-attention.
        """
        if self.reader != "transformer":
            raise ValueError(f"reader: got {self.reader!r}; only 'transformer' has maps.")
        check_tokens("words", words, self.embed.num_embeddings)
        return self.layers.maps(self.embed(words), mask=(words != 0).unsqueeze(-2))


def tag_loss(logits: Tensor, tags: Tensor) -> Tensor:
    """Mean nats a word, padding left out: logits ``(batch, n, n_tags)``, tags with -1 = padding."""
    return nn.functional.cross_entropy(logits.mT, tags, ignore_index=-1)


def _start_at_neighbours(stack: TransformerEncoder) -> None:
    """The heads begin one word before, one behind, two before, two behind, and so on.

    The number of a distance starts as minus how far it is from there, so the softmax of a row
    starts with almost half of its weight on that word; all of it is learned on.
    """
    with torch.no_grad():
        for block in stack.blocks:
            n_heads, n_distances = block.attention.distance.shape
            distances = torch.arange(n_distances) - n_distances // 2
            starts = [(head // 2 + 1) * (-1) ** (head + 1) for head in range(n_heads)]
            block.attention.distance.copy_(-(distances - torch.tensor(starts)[:, None]).abs())
