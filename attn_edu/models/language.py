"""Models that read a text and say what comes next: a Transformer, and a recurrent one beside it."""

import math
from numbers import Integral, Real

import torch
from torch import Tensor, nn

from attn_edu.attention import KeyValueCache, causal_mask, sinusoidal_positions
from attn_edu.models.baselines import RECURRENT
from attn_edu.models.checks import check_one_of, check_positive
from attn_edu.models.transformer import TransformerStack

POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "none")


class _Writer(nn.Module):
    """What both models do alike: write on, one token after the other."""

    @torch.no_grad()
    def generate(
        self,
        tokens: Tensor,
        n_new: int,
        *,
        temperature: float = 1.0,
        generator: torch.Generator | None = None,
        use_cache: bool = True,
    ) -> Tensor:
        """Continue a text.

        Args:
            tokens: ``(…, n)`` integers, at least one each.
            n_new: how many tokens to add.
            temperature: divides the logits; 0 takes the likeliest token each time.
            generator: the source of the draws.
            use_cache: read each token once (`new_cache`), or the whole text again at every step.

        Returns:
            ``(…, n + n_new)``: the text and its continuation. The model's mode is put back.

        Raises:
            ValueError: no token to start from, a negative number, or a text beyond ``max_length``.
        """
        _check_tokens(tokens)
        if (
            isinstance(temperature, bool)
            or not isinstance(temperature, Real)
            or not 0 <= temperature < math.inf
        ):
            raise ValueError(f"temperature: got {temperature!r}; accepted is a number from 0.")
        if isinstance(n_new, bool) or not isinstance(n_new, Integral) or n_new < 0:
            raise ValueError(f"n_new: got {n_new!r}; accepted is an integer from 0.")
        was_training = self.training
        self.eval()
        try:
            cache = self.new_cache() if use_cache else None
            unread = tokens
            for _ in range(n_new):
                logits = self(unread, cache)[..., -1, :]  # (…, vocabulary)
                new = _draw(logits, temperature, generator)  # (…, 1)
                tokens = torch.cat([tokens, new], dim=-1)
                unread = new if use_cache else tokens
        finally:
            self.train(was_training)
        return tokens


class LanguageModel(_Writer):
    """A Transformer that reads from left to right (Radford et al., 2018).

    Token vectors times ``√d_model``, as in Vaswani et al. (2017), section 3.4; positions; blocks
    under a causal mask; a linear layer to the vocabulary.

    Args:
        vocabulary: number of tokens.
        d_model, n_heads, n_layers, d_feedforward: sizes; see `TransformerStack`.
        max_length: how many positions are learned. The other kinds of position have no end.
        position: ``"learned"`` (a vector for each position; Gehring et al., 2017),
            ``"sinusoidal"``, ``"rotary"``, ``"alibi"`` or ``"none"``.
        tie: whether the output layer uses the token vectors (Press & Wolf, 2017).
        scale_embedding: whether token vectors are multiplied by ``√d_model``.
        dropout: of the token vectors, and in the blocks.
        options: handed on to each `TransformerBlock`.

    Raises:
        ValueError: sizes that do not fit, or an unknown name.

    Example:
        >>> import torch
        >>> model = LanguageModel(vocabulary=30, d_model=12, n_heads=3, n_layers=2, max_length=9)
        >>> text = torch.tensor([[3, 1, 4, 1, 5]])
        >>> model(text).shape, model.generate(text, 4).shape
        (torch.Size([1, 5, 30]), torch.Size([1, 9]))
    """

    def __init__(
        self,
        vocabulary: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        max_length: int,
        *,
        d_feedforward: int | None = None,
        position: str = "learned",
        tie: bool = True,
        scale_embedding: bool = True,
        dropout: float = 0.0,
        **options,
    ):
        super().__init__()
        sizes = {"vocabulary": vocabulary, "d_model": d_model, "max_length": max_length}
        for name, size in sizes.items():
            check_positive(name, size)
        check_one_of("position", position, POSITIONS)
        self.tokens = nn.Embedding(vocabulary, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        self.scale = math.sqrt(d_model) if scale_embedding else 1.0
        self.position, self.max_length = position, max_length
        if position == "learned":
            self.positions = nn.Embedding(max_length, d_model)
            nn.init.normal_(self.positions.weight, std=0.1)
        inside = position if position in ("rotary", "alibi") else None
        options = {**options, "position": inside, "dropout": dropout}
        self.stack = TransformerStack(d_model, n_heads, n_layers, d_feedforward, **options)
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(d_model, vocabulary, bias=False)
        if tie:
            self.output.weight = self.tokens.weight

    def forward(self, tokens: Tensor, cache: list[KeyValueCache] | None = None) -> Tensor:
        """What may come next, after each position.

        Args:
            tokens: ``(…, n)`` integers.
            cache: from `new_cache`, with what was read before; ``tokens`` come after it.

        Returns:
            ``(…, n, vocabulary)`` logits.

        Raises:
            ValueError: tokens that are no integers of the vocabulary, no token at all, or a text
                beyond ``max_length``.
        """
        start = 0 if cache is None else len(cache[0])
        x = self._embed(tokens, start)
        return self.output(self.stack(x, mask=self._mask(x, start), caches=cache))

    def maps(self, tokens: Tensor) -> Tensor:
        """The weights of every head of every layer, ``(n_layers, …, n_heads, n, n)``."""
        x = self._embed(tokens, 0)
        return self.stack.maps(x, mask=self._mask(x, 0))

    def new_cache(self) -> list[KeyValueCache]:
        """An empty cache for each layer."""
        return [KeyValueCache() for _ in self.stack.blocks]

    def _embed(self, tokens: Tensor, start: int) -> Tensor:
        x = _vectors(self.tokens, tokens) * self.scale  # (…, n, d_model)
        end = start + tokens.shape[-1]
        if self.position == "learned":
            if end > self.max_length:
                raise ValueError(f"tokens: got {end} positions; max_length is {self.max_length}.")
            x = x + self.positions.weight[start:end]
        if self.position == "sinusoidal":
            x = x + sinusoidal_positions(end, x.shape[-1])[start:].to(x)
        return self.dropout(x)

    def _mask(self, x: Tensor, start: int) -> Tensor | None:
        n = x.shape[-2]
        return None if n == 1 else causal_mask(n, start + n).to(x.device)  # one may see all


class RecurrentLanguageModel(_Writer):
    """The same frame around recurrent layers (Mikolov et al., 2010; here an LSTM by default).

    Args:
        vocabulary: number of tokens.
        d_model: width of the token vectors and of the state.
        kind: ``"lstm"``, ``"gru"`` or ``"rnn"``.
        n_layers: at least 1.
        tie: whether the output layer uses the token vectors.
        dropout: of the token vectors and of what each layer gives, in training.

    Raises:
        ValueError: a size below 1 or an unknown kind.
    """

    def __init__(
        self,
        vocabulary: int,
        d_model: int,
        *,
        kind: str = "lstm",
        n_layers: int = 1,
        tie: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        sizes = {"vocabulary": vocabulary, "d_model": d_model, "n_layers": n_layers}
        for name, size in sizes.items():
            check_positive(name, size)
        check_one_of("kind", kind, RECURRENT)
        self.tokens = nn.Embedding(vocabulary, d_model)
        nn.init.normal_(self.tokens.weight, std=d_model**-0.5)
        self.scale = math.sqrt(d_model)
        self.layers = nn.ModuleList(
            RECURRENT[kind](d_model, d_model, batch_first=True) for _ in range(n_layers)
        )
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(d_model)
        self.output = nn.Linear(d_model, vocabulary, bias=False)
        if tie:
            self.output.weight = self.tokens.weight

    def forward(self, tokens: Tensor, cache: list | None = None) -> Tensor:
        """``(batch, n)`` or ``(n,)`` integers -> ``(…, n, vocabulary)`` logits.

        ``cache``, from `new_cache`, keeps each layer's state: the same size after any length.
        """
        x = self.dropout(_vectors(self.tokens, tokens) * self.scale)
        for i, layer in enumerate(self.layers):
            x, state = layer(x, None if cache is None else cache[i])
            x = self.dropout(x)
            if cache is not None:
                cache[i] = state
        return self.output(self.norm(x))

    def new_cache(self) -> list:
        """No state yet, for each layer."""
        return [None] * len(self.layers)


def _draw(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """One token for each row of logits, ``(…, vocabulary)`` -> ``(…, 1)``."""
    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    odds = (logits / temperature).softmax(dim=-1)
    drawn = torch.multinomial(odds.reshape(-1, odds.shape[-1]), 1, generator=generator)
    return drawn.view(*logits.shape[:-1], 1)


def _vectors(table: nn.Embedding, tokens: Tensor) -> Tensor:
    """The vector of each token, ``(…, n)`` -> ``(…, n, d_model)``."""
    _check_tokens(tokens)
    try:
        return table(tokens)
    except IndexError:
        got = f"{tokens.min()} to {tokens.max()}"
        accepted = f"0 to {table.num_embeddings - 1}"
        raise ValueError(f"tokens: got numbers from {got}; accepted is {accepted}.") from None


def _check_tokens(tokens: Tensor) -> None:
    if not isinstance(tokens, Tensor):
        raise TypeError(f"tokens: got {type(tokens).__name__}; accepted is a tensor of integers.")
    if tokens.dtype not in (torch.int64, torch.int32) or tokens.ndim < 1:
        got = f"{tuple(tokens.shape)} of {tokens.dtype}"
        raise ValueError(f"tokens: got {got}; accepted is (…, n) of int64 or int32.")
    if tokens.shape[-1] < 1:
        raise ValueError(f"tokens: got {tuple(tokens.shape)}; accepted is at least one token.")
