"""Models that read a sequence and give one answer: recurrent, convolutional, attending.

All share one frame, `SequenceClassifier`: embed the tokens, let a *reader* mix the positions, read
the answer off. Only the reader differs, so that a comparison compares the readers.
"""

import torch
from torch import Tensor, nn

from attn_edu.attention import MultiHeadAttention, causal_mask
from attn_edu.models.checks import check_positive

RECURRENT = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
READERS = (*RECURRENT, "attention", "cnn")


class Recurrent(nn.Module):
    """One recurrent layer, read from the first position to the last.

    Args:
        kind: ``"rnn"`` (tanh; Elman, 1990), ``"lstm"`` (Hochreiter & Schmidhuber, 1997) or
            ``"gru"`` (Cho et al., 2014).
        width: size of the input and of the state.
        forget_bias: for the LSTM, the value that the bias of the forget gate starts from
            (Gers et al., 2000; Jozefowicz et al., 2015, advise 1). torch adds two biases there;
            ``bias_ih`` gets the value and ``bias_hh`` becomes 0. ``None`` leaves torch's start:
            both uniform within ``±1/sqrt(width)``.

    Raises:
        ValueError: an unknown kind, a width below 1, or a forget bias without a forget gate.
    """

    def __init__(self, kind: str, width: int, *, forget_bias: float | None = None):
        super().__init__()
        if kind not in RECURRENT:
            raise ValueError(f"kind: got {kind!r}; accepted are {', '.join(RECURRENT)}.")
        if forget_bias is not None and kind != "lstm":
            raise ValueError(f"forget_bias: got {forget_bias} for {kind!r}; only 'lstm' has one.")
        check_positive("width", width)
        self.layer = RECURRENT[kind](width, width, batch_first=True)
        if forget_bias is not None:
            forget = slice(width, 2 * width)  # torch packs input, forget, cell, output
            with torch.no_grad():
                self.layer.bias_ih_l0[forget] = forget_bias
                self.layer.bias_hh_l0[forget] = 0

    def forward(self, x: Tensor) -> Tensor:
        """``(batch, n, width)`` -> the state after each position, ``(batch, n, width)``."""
        return self.layer(x)[0]


class Attending(nn.Module):
    """One layer of self-attention, added to its input (Vaswani et al., 2017, without the rest).

    Args:
        width: size of the input and the output.
        n_heads: must divide ``width``.
        causal: whether a position sees only itself and what is before it.
    """

    def __init__(self, width: int, *, n_heads: int = 1, causal: bool = True):
        super().__init__()
        self.attention = MultiHeadAttention(width, n_heads)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        """``(batch, n, width)`` -> ``(batch, n, width)``."""
        mask = causal_mask(x.shape[-2]).to(x.device) if self.causal else None
        return x + self.attention(x, mask=mask)


class Convolutional(nn.Module):
    """Layers of one-dimensional convolution, each added to its input after a ReLU.

    Args:
        width: size of the input and the output.
        window: positions that one output of one layer sees; odd without ``causal``.
        layers: how many layers; the last position sees ``1 + layers · (window - 1)`` of them.
        causal: whether the window ends at the position itself or has it in the middle.

    Raises:
        ValueError: a size below 1, or an even window without ``causal``.
    """

    def __init__(self, width: int, *, window: int = 3, layers: int = 1, causal: bool = False):
        super().__init__()
        for name, size in (("width", width), ("window", window), ("layers", layers)):
            check_positive(name, size)
        if not causal and window % 2 == 0:
            raise ValueError(f"window: got {window}; accepted without causal is an odd number.")
        reach = window - 1
        self.pad = (reach, 0) if causal else (reach // 2, reach // 2)
        self.layers = nn.ModuleList(nn.Conv1d(width, width, window) for _ in range(layers))

    def forward(self, x: Tensor) -> Tensor:
        """``(batch, n, width)`` -> ``(batch, n, width)``."""
        x = x.mT  # (batch, width, n): the axes of Conv1d
        for layer in self.layers:
            x = x + layer(nn.functional.pad(x, self.pad)).relu()
        return x.mT


class SequenceClassifier(nn.Module):
    """Embed, read, answer.

    Args:
        reader: a module ``(batch, n, width)`` -> ``(batch, n, width)``.
        vocabularies: size of the vocabulary of each field of a token. A token of two fields, such
            as a name and a thing, is embedded as the sum of both.
        width: size of the embeddings.
        n_classes: number of possible answers.
        max_length: with it, a learned vector for each position is added (Gehring et al., 2017);
            without it, a token is the same wherever it stands.
        answer_from: ``"last"`` reads the answer from the last position, ``"mean"`` from the mean.

    Raises:
        ValueError: an unknown ``answer_from``.
    """

    def __init__(
        self,
        reader: nn.Module,
        vocabularies: tuple[int, ...],
        width: int,
        n_classes: int,
        *,
        max_length: int | None = None,
        answer_from: str = "last",
    ):
        super().__init__()
        if answer_from not in ("last", "mean"):
            raise ValueError(f"answer_from: got {answer_from!r}; accepted are 'last' and 'mean'.")
        self.embeddings = nn.ModuleList(nn.Embedding(size, width) for size in vocabularies)
        self.positions = nn.Embedding(max_length, width) if max_length else None
        self.reader = reader
        self.head = nn.Linear(width, n_classes)
        self.answer_from = answer_from

    def forward(self, tokens: Tensor) -> Tensor:
        """``(batch, n, fields)`` integers -> ``(batch, n_classes)`` logits."""
        x = sum(embed(tokens[..., i]) for i, embed in enumerate(self.embeddings))
        if self.positions is not None:
            x = x + self.positions.weight[: x.shape[1]]
        states = self.reader(x)  # (batch, n, width)
        return self.head(states[:, -1] if self.answer_from == "last" else states.mean(dim=1))


def make_reader(name: str, width: int, **options) -> nn.Module:
    """A reader by name: ``"rnn"``, ``"gru"``, ``"lstm"``, ``"attention"`` or ``"cnn"``.

    Raises:
        KeyError: an unknown name.
    """
    if name in RECURRENT:
        return Recurrent(name, width, **options)
    if name == "attention":
        return Attending(width, **options)
    if name == "cnn":
        return Convolutional(width, **options)
    raise KeyError(f"name: got {name!r}; accepted are {', '.join(READERS)}.")


def count_parameters(model: nn.Module) -> int:
    """How many numbers training may change."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def matched_width(make, parameters: int) -> int:
    """The width whose model comes nearest to a budget of parameters.

    Args:
        make: a function ``width -> nn.Module`` that grows with the width.
        parameters: the budget.

    Raises:
        ValueError: even width 1 costs more than twice the budget.
    """
    check_positive("parameters", parameters)
    with torch.device("meta"):  # shapes alone: nothing is allocated, no random number is drawn
        below, above = 1, 2
        while count_parameters(make(above)) < parameters:
            below, above = above, 2 * above
        best = min(
            range(below, above + 1), key=lambda w: abs(count_parameters(make(w)) - parameters)
        )
        smallest = count_parameters(make(1))
    if smallest > 2 * parameters:
        raise ValueError(f"parameters: got {parameters}; width 1 already needs {smallest}.")
    return best
