"""The table of attention kinds that `test_invariants.py` holds to account.

A new kind of attention joins by one more row of `KINDS`. Every invariant of `invariants.py` then
applies to it. What cannot hold for it is excluded by name, with a reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from attn_edu.attention import scaled_dot_product_attention

# All sizes differ, so that no two axes can be mistaken for each other.
BATCH, HEADS, N_QUERY, N_KEY, D, D_VALUE = 2, 3, 5, 7, 4, 6


@dataclass(frozen=True)
class Kind:
    """One function of the form ``f(query, key, value, *, mask=None, **options)``.

    Attributes:
        name: shown in the test's id.
        function: the kind of attention itself.
        options: keyword arguments that every call gets.
        pattern: ``(n_query, n_key) -> mask`` that the kind applies by itself (causal, a window);
            ``None`` when it lets every query see every key.
        takes_mask: whether it has the argument ``mask``; ``"keys"`` when it takes only masks that
            every query shares, ``(…, 1, n_key)``, such as a padding mask.
        takes_cross: whether it accepts more keys than queries.
        explicit: ``(query, key, value, visible) -> output``, the kind's own definition written out
            in float64 with loops or a whole ``(n_query, n_key)`` matrix, where ``visible`` is
            what `visible` returns; ``None`` when the definition is softmax attention, whose loops
            are `reference_attention`.
        excluded: name of an invariant -> the reason why it cannot hold.
    """

    name: str
    function: Callable[..., Tensor]
    options: Mapping[str, object] = field(default_factory=dict)
    pattern: Callable[[int, int], Tensor] | None = None
    takes_mask: bool | str = True
    takes_cross: bool = True
    explicit: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, query, key, value, mask=None):
        """Call the function; without a mask the argument is left out."""
        extra = {} if mask is None else {"mask": mask}
        return self.function(query, key, value, **self.options, **extra)

    @property
    def n_query(self) -> int:
        return N_QUERY if self.takes_cross else N_KEY

    def inputs(self, *lead, n_key=N_KEY, dtype=torch.float64, device="cpu", seed=0):
        """Random ``query, key, value`` with the leading axes ``lead``."""
        n_query = N_QUERY if self.takes_cross else n_key
        draw = torch.Generator().manual_seed(seed)
        shapes = (n_query, D), (n_key, D), (n_key, D_VALUE)
        drawn = [
            torch.randn(*lead, *shape, generator=draw, dtype=torch.float64) for shape in shapes
        ]
        return [tensor.to(dtype=dtype, device=device) for tensor in drawn]

    def masks(self) -> list[Tensor | None]:
        """No mask, one that every query shares (with an unseen key), and one a query."""
        if not self.takes_mask:
            return [None]
        shared = torch.ones(1, N_KEY, dtype=torch.bool)
        shared[0, [2, N_KEY - 1]] = False
        if self.takes_mask == "keys":
            return [None, shared]
        own = torch.rand(self.n_query, N_KEY, generator=torch.Generator().manual_seed(1)) < 0.6
        own[0], own[1, 0], own[1, 1] = True, True, False
        own[2], own[:, 4] = False, False  # a query that sees nothing, a key that nobody sees
        return [None, shared, own]

    def visible(self, mask: Tensor | None) -> Tensor:
        """Who may really attend to whom, ``(n_query, n_key)``: the mask and the kind's pattern."""
        full = torch.ones(self.n_query, N_KEY, dtype=torch.bool)
        if self.pattern is not None:
            full &= self.pattern(self.n_query, N_KEY)
        return full if mask is None else full & mask


KINDS = (
    Kind("scaled_dot_product", scaled_dot_product_attention),
    Kind("scaled_dot_product_scale", scaled_dot_product_attention, options={"scale": 1.7}),
)
