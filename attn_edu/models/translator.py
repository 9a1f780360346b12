"""Models that read one text and write another: a Transformer, and two recurrent ones beside it.

Tokens are integers; `PAD` fills a text up, `BEGIN` stands in front of what is written and `END`
behind each text. All models here are called as ``model(source, target)`` with ``source (batch,
n_source)`` and ``target (batch, n_target)`` and give logits ``(batch, n_target, vocabulary)``: what
may come after each token of the target.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_edu.attention import KeyValueCache, causal_mask, sinusoidal_positions
from attn_edu.datasets.translation import BEGIN, END, PAD
from attn_edu.models.checks import check_one_of, check_positive, check_tokens
from attn_edu.models.transformer import TransformerDecoder, TransformerEncoder


class _Translating(nn.Module):
    """What all of them do alike: write the likeliest token, until every text has its end."""

    @torch.no_grad()
    def translate(self, source: Tensor, max_length: int, *, use_cache: bool = True) -> Tensor:
        """Greedy translation.

        Args:
            source: ``(batch, n_source)`` integers.
            max_length: at most so many tokens are written.
            use_cache: read each written token once, or all of them again at every step.

        Returns:
            ``(batch, n)`` integers, `END` at the end and `PAD` after it. The model's mode is put
            back.
        """
        check_positive("max_length", max_length)
        was_training = self.training
        self.eval()
        try:
            memory = self.encode(source)
            state = self.new_state() if use_cache else None
            written = torch.full_like(source[:, :1], BEGIN)  # (batch, 1)
            unread, done = written, torch.zeros_like(written, dtype=torch.bool)
            for _ in range(max_length):
                logits = self.decode(unread, memory, state)[:, -1:]  # (batch, 1, vocabulary)
                new = logits.argmax(dim=-1).masked_fill(done, PAD)  # (batch, 1)
                written, done = torch.cat([written, new], dim=1), done | (new == END)
                unread = new if use_cache else written
                if done.all():
                    break
        finally:
            self.train(was_training)
        return written[:, 1:]

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Logits ``(batch, n_target, vocabulary)`` for the token after each one of the target.

        Raises:
            ValueError: not two rows of integers for each other, or a number outside a vocabulary.
        """
        self._check(source, target)
        return self.decode(target, self.encode(source))

    def _check(self, source: Tensor, target: Tensor) -> None:
        """Refuse what is not one row of numbers for another."""
        check_tokens("source", source, self.source.num_embeddings)
        check_tokens("target", target, self.target.num_embeddings)
        if len(target) != len(source):
            got = f"{tuple(target.shape)} for a source of {tuple(source.shape)}"
            raise ValueError(f"target: got {got}; accepted is (batch, n_target).")


class Translator(_Translating):
    """An encoder reads the source, a decoder writes and looks back at it (Vaswani et al., 2017).

    Args:
        n_source, n_target: sizes of the two vocabularies.
        d_model, n_heads, n_layers, d_feedforward: sizes of both stacks; see `TransformerStack`.
        position: ``"sinusoidal"``, added to the token vectors, or ``"rotary"``, inside the
            attention of each text to itself.
        options: handed on to each `TransformerBlock`.

    Raises:
        ValueError: sizes that do not fit, or an unknown position.

    Example:
        >>> import torch
        >>> model = Translator(n_source=30, n_target=20, d_model=12, n_heads=3)
        >>> source, target = torch.full((2, 7), 5), torch.full((2, 4), 6)
        >>> model(source, target).shape, model.cross_maps(source, target).shape
        (torch.Size([2, 4, 20]), torch.Size([1, 2, 3, 4, 7]))
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        d_model: int,
        n_heads: int,
        n_layers: int = 1,
        d_feedforward: int | None = None,
        *,
        position: str = "sinusoidal",
        **options,
    ):
        super().__init__()
        check_one_of("position", position, ("sinusoidal", "rotary"))
        self.position = position
        options["position"] = "rotary" if position == "rotary" else None
        self.source, self.target = _table(n_source, d_model), _table(n_target, d_model)
        self.encoder = TransformerEncoder(d_model, n_heads, n_layers, d_feedforward, **options)
        self.decoder = TransformerDecoder(d_model, n_heads, n_layers, d_feedforward, **options)
        self.output = nn.Linear(d_model, n_target, bias=False)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """What was read ``(batch, n_source, d_model)``, and where there is text, boolean."""
        x, words = self._embed(self.source, "source", source), _is_text(source)[:, None]
        return self.encoder(x, mask=words), words  # (batch, 1, n_source)

    def decode(
        self,
        target: Tensor,
        memory: tuple[Tensor, Tensor],
        caches: list[KeyValueCache] | None = None,
    ) -> Tensor:
        """Logits after each token of ``target``, for what `encode` gave.

        ``caches``, from `new_state`, hold what was written before ``target``.
        """
        memory, words = memory
        start = 0 if caches is None else len(caches[0])
        x = self._embed(self.target, "target", target, start)
        mask = causal_mask(x.shape[-2], start + x.shape[-2]).to(x.device)
        x = self.decoder(x, memory, mask=mask, memory_mask=words, caches=caches)
        return self.output(x)

    def cross_maps(self, source: Tensor, target: Tensor) -> Tensor:
        """Where each token of the target looks, ``(n_layers, batch, n_heads, n_target, n_source)``.

        The row of a token is what the model looked at to write the *next* one.
        """
        self._check(source, target)
        memory, words = self.encode(source)
        x = self._embed(self.target, "target", target)
        mask = causal_mask(x.shape[-2]).to(x.device)
        return self.decoder.cross_maps(x, memory, mask=mask, memory_mask=words)

    def new_state(self) -> list[KeyValueCache]:
        """An empty cache for each layer of the decoder."""
        return [KeyValueCache() for _ in self.decoder.blocks]

    def _embed(self, table: nn.Embedding, name: str, tokens: Tensor, start: int = 0) -> Tensor:
        x = _vectors(table, name, tokens)  # (batch, n, d_model)
        if self.position == "sinusoidal":
            x = x + sinusoidal_positions(start + x.shape[-2], x.shape[-1])[start:].to(x)
        return x


class RecurrentTranslator(_Translating):
    """The same work done by two GRUs.

    A bidirectional GRU reads. Without attention its last two states are all that the writer gets,
    at the start and at each step (Cho et al., 2014; Sutskever et al., 2014). With attention the
    writer takes, at each step, a mixture of all states, weighed by a small network that compares
    them with its own state (Bahdanau et al., 2015).

    Args:
        n_source, n_target: sizes of the two vocabularies.
        width: of token vectors and states; even, since each direction gets half of it.
        attention: whether the writer looks back.

    Raises:
        ValueError: a size below 1, or an odd width.
    """

    def __init__(self, n_source: int, n_target: int, width: int, *, attention: bool):
        super().__init__()
        self.source, self.target = _table(n_source, width), _table(n_target, width)
        if width % 2:
            raise ValueError(f"width: got {width}; accepted is an even number.")
        self.reader = nn.GRU(width, width // 2, bidirectional=True, batch_first=True)
        self.start = nn.Linear(width, width)
        self.writer = nn.GRU(2 * width, width, batch_first=True)  # a token, and what was read
        self.output = nn.Linear(2 * width, n_target)
        self.attention = attention
        if attention:
            self.query, self.key = nn.Linear(width, width), nn.Linear(width, width, bias=False)
            self.score = nn.Linear(width, 1, bias=False)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States ``(batch, n_source, width)``, the last two joined ``(batch, width)``, mask."""
        x, words = _vectors(self.source, "source", source), _is_text(source)  # (batch, n_source)
        packed = pack_padded_sequence(
            x, words.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.reader(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        return states, last.transpose(0, 1).flatten(1), words

    def decode(self, target: Tensor, memory: tuple[Tensor, ...], state: dict | None = None):
        """Logits after each token of ``target``; ``state``, from `new_state`, is carried on."""
        x = _vectors(self.target, "target", target)  # (batch, n_target, width)
        own = (state or {}).get("own")
        own = self.start(memory[1]).tanh()[None] if own is None else own  # (1, batch, width)
        if self.attention:
            steps = []
            for token in x.split(1, dim=1):
                seen = self._weights(own, memory) @ memory[0]  # (batch, 1, width)
                _, own = self.writer(torch.cat([token, seen], dim=-1), own)
                steps.append(torch.cat([own[0, :, None], seen], dim=-1))
            x = torch.cat(steps, dim=1)
        else:
            seen = memory[1][:, None].expand(-1, x.shape[1], -1)  # the same at every step
            written, own = self.writer(torch.cat([x, seen], dim=-1), own)
            x = torch.cat([written, seen], dim=-1)
        if state is not None:
            state["own"] = own
        return self.output(x)

    def cross_maps(self, source: Tensor, target: Tensor) -> Tensor:
        """As `Translator.cross_maps`, with one layer and one head: ``(1, batch, 1, n, n_source)``.

        Raises:
            ValueError: a model without attention.
        """
        if not self.attention:
            raise ValueError("attention: got False; accepted is a model that looks back.")
        self._check(source, target)
        memory = self.encode(source)
        own, rows = self.start(memory[1]).tanh()[None], []
        for token in _vectors(self.target, "target", target).split(1, dim=1):
            rows.append(self._weights(own, memory))
            _, own = self.writer(torch.cat([token, rows[-1] @ memory[0]], dim=-1), own)
        return torch.cat(rows, dim=1)[None, :, None]

    def new_state(self) -> dict:
        """Nothing written yet."""
        return {}

    def _weights(self, own: Tensor, memory: tuple[Tensor, ...]) -> Tensor:
        """Where a state ``(1, batch, width)`` looks, ``(batch, 1, n_source)``."""
        states, _, words = memory
        scores = self.score((self.query(own[0])[:, None] + self.key(states)).tanh())
        return scores.mT.masked_fill(~words[:, None], -math.inf).softmax(dim=-1)


def _table(size: int, width: int) -> nn.Embedding:
    check_positive("vocabulary", size)
    check_positive("d_model", width)
    table = nn.Embedding(size, width)
    nn.init.normal_(table.weight, std=width**-0.5)
    return table


def _vectors(table: nn.Embedding, name: str, tokens: Tensor) -> Tensor:
    """The vector of each token times ``√width``, ``(batch, n)`` -> ``(batch, n, width)``."""
    check_tokens(name, tokens, table.num_embeddings)
    return table(tokens) * math.sqrt(table.embedding_dim)


def _is_text(source: Tensor) -> Tensor:
    """``(batch, n_source)``, True where there is no padding.

    Raises:
        ValueError: a text of nothing but padding.
    """
    words = source != PAD
    if not words.any(dim=-1).all():
        raise ValueError("source: got a text of padding alone; accepted is at least one token.")
    return words
