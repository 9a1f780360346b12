"""Firefox Translations, from English to Portuguese, in the blocks of this course.

The "tiny" model of the Bergamot project (Bogoychev et al., 2020, *Edinburgh's submissions to the
2020 machine translation efficiency task*): an encoder of 6 layers, and a decoder of 2 in which a
recurrence stands in the place of self-attention. MPL-2.0, Mozilla.
"""

import math
from collections.abc import Iterable
from functools import cache, partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attn_edu.models import TransformerDecoder, TransformerEncoder
from attn_edu.pretrained.marian import read_marian
from attn_edu.pretrained.packages import folder, reads
from attn_edu.pretrained.removing import without_heads

MODEL = "resources/models/enpt-1693087644"
END = 0  # the token </s>, of both languages: they share one vocabulary
LONGEST = 128  # tokens of a text, and of its translation
ENCODER = {
    "attention.query": "self_Wq self_bq",
    "attention.key": "self_Wk self_bk",
    "attention.value": "self_Wv self_bv",
    "attention.out": "self_Wo self_bo",
    "attention_norm": "self_Wo_ln_scale self_Wo_ln_bias",
}
DECODER = {
    "attention.new": "rnn_W",
    "attention.keep": "rnn_Wf rnn_bf",
    "attention_norm": "rnn_ffn_ln_scale rnn_ffn_ln_bias",
    "cross_attention.query": "context_Wq context_bq",
    "cross_attention.key": "context_Wk context_bk",
    "cross_attention.value": "context_Wv context_bv",
    "cross_attention.out": "context_Wo context_bo",
    "cross_norm": "context_Wo_ln_scale context_Wo_ln_bias",
}
BOTH = {
    "feedforward.widen": "ffn_W1 ffn_b1",
    "feedforward.narrow": "ffn_W2 ffn_b2",
    "feedforward_norm": "ffn_ffn_ln_scale ffn_ffn_ln_bias",
}


class Translation(NamedTuple):
    """A translation, and where the decoder looked for it.

    Attributes:
        translation: the sentence.
        source, target: the tokens of both sides, ``</s>`` at their ends; ``▁`` begins a word.
        weights: of each cross-attention, ``(layers, heads, n_target, n_source)``. Row ``t`` is
            where it looked when it chose token ``t`` of the target.
    """

    translation: str
    source: list[str]
    target: list[str]
    weights: Tensor


class SimplerRecurrence(nn.Module):
    """A "simpler simple recurrent unit" (Kim et al., 2019, *From research to production and back*).

    A state that a gate mixes with each new input: ``c = gate · c + (1 - gate) · new``, and its
    positive part comes out. It stands where a decoder has self-attention, and what it keeps of the
    words before is one vector, however many there were.

    Args:
        d_model: width of input, state and output.
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.new = nn.Linear(d_model, d_model, bias=False)
        self.keep = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, *, mask: Tensor | None = None, cache=None) -> Tensor:
        """``(…, n, d_model)`` -> the same; position ``t`` knows ``0 … t``.

        Raises:
            ValueError: a mask or a cache; it reads from left to right by itself.
        """
        if mask is not None or cache is not None:
            raise ValueError("mask, cache: got one; accepted is none, for a recurrence.")
        new, gate = self.new(x), self.keep(x).sigmoid()
        added = (1 - gate) * new
        state, states = torch.zeros_like(x[..., 0, :]), []
        for t in range(x.shape[-2]):
            state = gate[..., t, :] * state + added[..., t, :]
            states.append(state)
        return torch.stack(states, dim=-2).relu()


class Translator(nn.Module):
    """Encoder and decoder with one table of token vectors, which is also the output layer.

    Args:
        vocabulary: number of tokens.
        d_model, n_heads, d_feedforward: sizes of each block.
        n_encoder, n_decoder: layers of each side.
    """

    def __init__(
        self,
        vocabulary: int = 32000,
        d_model: int = 256,
        n_heads: int = 8,
        d_feedforward: int = 1536,
        n_encoder: int = 6,
        n_decoder: int = 2,
    ):
        super().__init__()
        sizes = {"d_model": d_model, "n_heads": n_heads, "d_feedforward": d_feedforward}
        norm = partial(nn.LayerNorm, eps=1e-6)
        options = {"pre_norm": False, "activation": "relu", "norm": norm}
        self.words = nn.Embedding(vocabulary, d_model)
        self.encoder = TransformerEncoder(**sizes, n_layers=n_encoder, **options)
        self.decoder = TransformerDecoder(
            **sizes,
            n_layers=n_decoder,
            **options,
            attention=lambda d_model, _: SimplerRecurrence(d_model),
        )
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores for each token of the target after those before it.

        Args:
            source: ``(…, n_source)`` integers.
            target: ``(…, n)`` integers.

        Returns:
            ``(…, n, vocabulary)``.
        """
        x = self.decoder(self.before(target), self.encode(source))
        return self.scores(x)

    def encode(self, source: Tensor) -> Tensor:
        """What the decoder looks at, ``(…, n_source, d_model)``."""
        return self.encoder(self._placed(self.words(source)))

    def before(self, target: Tensor) -> Tensor:
        """What the decoder reads: at ``t`` the token before, and at 0 a vector of zeros."""
        x = self.words(target[..., :-1])
        return self._placed(nn.functional.pad(x, (0, 0, 1, 0)))

    def scores(self, x: Tensor) -> Tensor:
        """``(…, d_model)`` -> ``(…, vocabulary)``."""
        return x @ self.words.weight.mT + self.bias

    def cross_maps(self, source: Tensor, target: Tensor) -> Tensor:
        """Where each token of the target looked, ``(n_decoder, …, n_heads, n, n_source)``."""
        return self.decoder.cross_maps(self.before(target), self.encode(source))

    def _placed(self, x: Tensor) -> Tensor:
        n, d_model = x.shape[-2:]
        return x * math.sqrt(d_model) + positions(n, d_model)


def positions(n: int, d_model: int) -> Tensor:
    """Sinusoidal positions as Marian lays them: all sines, then all cosines, ``(n, d_model)``."""
    half = d_model // 2
    frequencies = torch.exp(-math.log(10000) * torch.arange(half) / (half - 1))
    angles = torch.arange(n)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Bergamot:
    """The trained translator with its tokenizer; `bergamot` loads it.

    Attributes:
        model: a `Translator`; its weights want no gradient.
        cross_attentions: of the two decoder layers; `without_heads` silences heads of them.
    """

    def __init__(self, model: Translator, tokenizer):
        self.model, self._tokenizer = model.eval().requires_grad_(False), tokenizer

    @property
    def cross_attentions(self) -> list[nn.Module]:
        return [block.cross_attention for block in self.model.decoder.blocks]

    def translate(self, text: str, *, without: Iterable[tuple[int, int]] = ()) -> Translation:
        """Translate, always with the likeliest next token.

        Args:
            text: a sentence.
            without: ``(layer, head)`` of the cross-attention that are silenced.

        Raises:
            TypeError, ValueError: no text, an empty one, one that is too long, or no such head.
        """
        source = self.ids(text)
        with without_heads(self.cross_attentions, without):
            target = self.target_ids(text)
            weights = self.model.cross_maps(source, target)
        words = [self._tokenizer.id_to_token(i) for i in target.tolist()]
        said = self._tokenizer.decode(target[target != END].tolist())
        return Translation(said, self.tokens(text), words, weights)

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, ``</s>`` at its end; errors as `translate`."""
        return [self._tokenizer.id_to_token(i) for i in self.ids(text).tolist()]

    def ids(self, text: str) -> Tensor:
        """The numbers of the tokens, ``(n,)``; errors as `translate`."""
        if not isinstance(text, str):
            raise TypeError(f"text: got {type(text).__name__}; accepted is a str.")
        if not text.strip():
            raise ValueError("text: got no words; accepted is at least one.")
        ids = [*self._tokenizer.encode(text, add_special_tokens=False).ids, END]
        if len(ids) > LONGEST:
            raise ValueError(f"text: got {len(ids)} tokens; accepted is at most {LONGEST}.")
        return torch.tensor(ids)

    def target_ids(self, text: str) -> Tensor:
        """The numbers of the translation's tokens, ``(n,)``; errors as `translate`."""
        memory, target = self.model.encode(self.ids(text)), []
        while END not in target and len(target) < LONGEST:
            read = self.model.before(torch.tensor([*target, END]))  # the last one is not looked at
            x = self.model.decoder(read, memory)[-1]
            target.append(self.model.scores(x).argmax().item())
        return torch.tensor(target)


@cache
@reads("bergamot")
def bergamot() -> Bergamot:
    """The translator, loaded once (17 MB on disk, 70 MB in memory, about a second).

    Raises:
        NotInstalledError: the package with the weights is missing; the message says how to get it.
        ValueError: a file of the package is missing or damaged; says how to get it again.
    """
    place = folder("bergamot") / MODEL
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(place / "tokenizer.json"))
    with torch.device("meta"):  # shapes alone: the weights come from the file
        model = Translator()
    weights = _renamed(read_marian(place / "model.enpt.intgemm.alphas.bin"))
    model.load_state_dict(weights, assign=True)
    return Bergamot(model, tokenizer)


def _renamed(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the file under the names of `Translator`."""
    ours = {"words.weight": theirs["Wemb"], "bias": theirs["decoder_ff_logit_out_b"]}
    for side, layers, parts in (("encoder", 6, ENCODER), ("decoder", 2, DECODER)):
        for layer in range(layers):
            for our, their in (parts | BOTH).items():
                for kind, name in zip(("weight", "bias"), their.split()):
                    tensor = theirs[f"{side}_l{layer + 1}_{name}"]
                    ours[f"{side}.blocks.{layer}.{our}.{kind}"] = tensor
    return ours
