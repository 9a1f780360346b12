"""The part of a block that looks at one position at a time."""

from torch import Tensor, nn

from attn_edu.models.checks import check_one_of, check_positive

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}


class FeedForward(nn.Module):
    """Two linear layers with a bend between them, at each position by itself.

    Args:
        d_model: width of input and output.
        d_feedforward: width between the two layers; ``4 · d_model`` when ``None``.
        activation: ``"relu"`` (Vaswani et al., 2017), ``"gelu"`` (Hendrycks & Gimpel, 2016) or
            ``"silu"`` (Elfwing et al., 2018).
        dropout: share of the numbers between the layers that training sets to 0.
        bias: whether the layers add a bias.

    Raises:
        ValueError: a size below 1, or an unknown activation.
    """

    def __init__(
        self,
        d_model: int,
        d_feedforward: int | None = None,
        *,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
    ):
        super().__init__()
        check_positive("d_model", d_model)
        d_feedforward = 4 * d_model if d_feedforward is None else d_feedforward
        check_positive("d_feedforward", d_feedforward)
        check_one_of("activation", activation, ACTIVATIONS)
        self.widen = nn.Linear(d_model, d_feedforward, bias=bias)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = nn.Dropout(dropout)
        self.narrow = nn.Linear(d_feedforward, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d_model)`` -> ``(…, d_model)``."""
        return self.narrow(self.dropout(self.activation(self.widen(x))))


class GatedFeedForward(FeedForward):
    """A feed-forward network whose wide layer is multiplied by a second one (Shazeer, 2020, *GLU*).

    With ``activation="silu"`` it is SwiGLU, the form of Llama (Touvron et al., 2023). Arguments as
    `FeedForward`; at the same ``d_feedforward`` it has half as many weights again.

    Example:
        >>> import torch
        >>> GatedFeedForward(6, 16, bias=False)(torch.zeros(2, 5, 6)).shape
        torch.Size([2, 5, 6])
    """

    def __init__(
        self, d_model: int, d_feedforward: int | None = None, *, activation="silu", **options
    ):
        super().__init__(d_model, d_feedforward, activation=activation, **options)
        wide = self.widen
        self.gate = nn.Linear(wide.in_features, wide.out_features, bias=wide.bias is not None)

    def forward(self, x: Tensor) -> Tensor:
        """``(…, d_model)`` -> ``(…, d_model)``."""
        return self.narrow(self.dropout(self.activation(self.gate(x)) * self.widen(x)))
