"""all-MiniLM-L6-v2, an encoder that others use to compare sentences, in the blocks of this course.

Wang et al., 2020, *MiniLM: Deep self-attention distillation*; trained on pairs of sentences by the
sentence-transformers project (Reimers and Gurevych, 2019). Apache-2.0.
"""

from functools import cache, partial

import torch
from torch import Tensor, nn

from attn_edu.attention import padding_mask
from attn_edu.models import TransformerStack
from attn_edu.pretrained.packages import folder, reads

LONGEST = 512  # positions that the model has vectors for
# our names -> theirs; both kinds of tensor, weight and bias, have the same ending
PARTS = {
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feedforward.widen": "intermediate.dense",
    "feedforward.narrow": "output.dense",
    "feedforward_norm": "output.LayerNorm",
}


class Encoder(nn.Module):
    """An encoder as in BERT (Devlin et al., 2019): post-norm, learned positions.

    Args:
        vocabulary: number of tokens.
        longest: number of positions that have a vector.
        d_model, n_heads, n_layers: see `TransformerStack`.

    Example:
        >>> encoder = Encoder(vocabulary=30, longest=9, d_model=12, n_heads=3, n_layers=2)
        >>> encoder(torch.tensor([[4, 7, 1], [2, 2, 8]])).shape
        torch.Size([2, 3, 12])
    """

    def __init__(self, vocabulary: int, longest: int, d_model: int, n_heads: int, n_layers: int):
        super().__init__()
        norm = partial(nn.LayerNorm, eps=1e-12)
        self.words = nn.Embedding(vocabulary, d_model)
        self.positions = nn.Embedding(longest, d_model)
        self.segment = nn.Parameter(torch.zeros(d_model))  # BERT has two texts; here all is one
        self.norm = norm(d_model)
        self.stack = TransformerStack(d_model, n_heads, n_layers, pre_norm=False, norm=norm)

    def forward(self, ids: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """``(…, n)`` integers -> ``(…, n, d_model)``; ``mask`` as in `TransformerBlock`."""
        return self.stack(self.embed(ids), mask=mask)

    def embed(self, ids: Tensor) -> Tensor:
        """What enters the first layer, ``(…, n, d_model)``."""
        positions = self.positions.weight[: ids.shape[-1]]
        return self.norm(self.words(ids) + positions + self.segment)

    def maps(self, ids: Tensor) -> Tensor:
        """The weights of every head, ``(n_layers, …, n_heads, n, n)``."""
        return self.stack.maps(self.embed(ids))


class MiniLM:
    """The trained encoder with its tokenizer; `minilm` loads it.

    Attributes:
        encoder: the model, an `Encoder`; its weights want no gradient.
        tokenizer: splits texts; a `tokenizers.Tokenizer` that neither fills up nor cuts.
        attentions: the attention of each of the 6 layers.
    """

    def __init__(self, encoder: Encoder, tokenizer):
        self.encoder, self.tokenizer = encoder.eval().requires_grad_(False), tokenizer

    @property
    def attentions(self) -> list[nn.Module]:
        return [block.attention for block in self.encoder.stack.blocks]

    def tokens(self, text: str) -> list[str]:
        """The ``n`` tokens of a text, ``[CLS]`` and ``[SEP]`` at its ends.

        Raises:
            TypeError, ValueError: no text, an empty one, or one of more than 512 tokens.
        """
        return self._encoded(text).tokens

    def ids(self, text: str) -> Tensor:
        """The numbers of the tokens, ``(n,)``; errors as `tokens`."""
        return torch.tensor(self._encoded(text).ids)

    def maps(self, text: str) -> Tensor:
        """Who looks at whom in each layer and head, ``(6, 12, n, n)``; errors as `tokens`."""
        return self.encoder.maps(self.ids(text))

    def states(self, text: str) -> Tensor:
        """What the last layer gives for each token, ``(n, 384)``; errors as `tokens`."""
        return self.encoder(self.ids(text))

    def embed(self, texts: list[str]) -> Tensor:
        """One vector a text, ``(len(texts), 384)``: the mean of its tokens, brought to length 1.

        The dot product of two of them says how alike the texts are, as the model sees them.

        Raises:
            TypeError, ValueError: no list of texts, an empty one, or a text as in `tokens`.
        """
        if not isinstance(texts, (list, tuple)) or not texts:
            raise ValueError(f"texts: got {texts!r}; accepted is a list of at least one text.")
        rows = [self.ids(text) for text in texts]
        lengths = torch.tensor([len(row) for row in rows])
        ids = nn.utils.rnn.pad_sequence(rows, batch_first=True)  # (batch, n)
        mask = padding_mask(lengths, ids.shape[1])  # (batch, 1, n)
        states = self.encoder(ids, mask=mask)  # (batch, n, d_model)
        sums = (states * mask.mT).sum(dim=1)  # the filling counts for nothing
        return nn.functional.normalize(sums, dim=-1)

    def _encoded(self, text: str):
        if not isinstance(text, str):
            raise TypeError(f"text: got {type(text).__name__}; accepted is a str.")
        if not text.strip():
            raise ValueError("text: got no words; accepted is at least one.")
        encoded = self.tokenizer.encode(text)
        if len(encoded.ids) > LONGEST:
            got = len(encoded.ids)
            raise ValueError(f"text: got {got} tokens; accepted is at most {LONGEST}.")
        return encoded


@cache
@reads("minilm")
def minilm() -> MiniLM:
    """The encoder, loaded once (90 MB, about a second).

    Raises:
        NotInstalledError: the package with its weights is missing; says how to install it.
        ValueError: a file of the package is missing or damaged; says how to get it again.
    """
    files = folder("minilm") / "model"
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    theirs = load_file(files / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(files / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    with torch.device("meta"):  # shapes alone: the weights come from the file
        encoder = Encoder(vocabulary=30522, longest=LONGEST, d_model=384, n_heads=12, n_layers=6)
    encoder.load_state_dict(_renamed(theirs), assign=True)
    return MiniLM(encoder, tokenizer)


def _renamed(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the file under the names of `Encoder`."""
    ours = {
        "words.weight": theirs["embeddings.word_embeddings.weight"],
        "positions.weight": theirs["embeddings.position_embeddings.weight"],
        "segment": theirs["embeddings.token_type_embeddings.weight"][0],
    }
    for kind in ("weight", "bias"):
        ours[f"norm.{kind}"] = theirs[f"embeddings.LayerNorm.{kind}"]
        for layer in range(6):
            for our, their in PARTS.items():
                name = f"encoder.layer.{layer}.{their}.{kind}"
                ours[f"stack.blocks.{layer}.{our}.{kind}"] = theirs[name]
    return ours
