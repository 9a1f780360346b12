"""Every kind measured on the machine at hand, to be laid beside what was counted."""

import time
from collections.abc import Callable, Iterable, Iterator

import torch
from torch import nn

from attn_edu.costs.closed_forms import KINDS
from attn_edu.costs.cost import cost
from attn_edu.costs.layers import layer
from attn_edu.costs.meter import Measurement, measure


def survey(
    kinds: Iterable[str], lengths: Iterable[int], d_model: int, n_heads: int = 1, *,
    batch: int = 1, training: bool = False, repeats: int = 3, most_seconds: float = 1.0,
    most_bytes: int = 400_000_000, clock: Callable[[], float] = time.perf_counter,
    memory: bool = True, **options: int,
) -> Iterator[tuple[str, int, Measurement | None]]:  # fmt: skip
    """Run a layer of each kind at each length, short lengths first.

    Args:
        kinds, d_model, n_heads, batch, options: as in `cost`; each kind takes the options it has.
        lengths: which; they are gone through from the shortest to the longest.
        training: whether a step of training is measured, forward and backward, or a forward pass.
        repeats: runs that are timed; the fastest counts.
        most_seconds: a length is left out where it is expected to take longer, judging from the
            last length and the flops.
        most_bytes: a length is left out where the forward pass would hold more.
        clock, memory: as in `measure`.

    Yields:
        ``(kind, n, measurement)``, in the order of the lengths; ``None`` for what was left out.

    Raises:
        KeyError, ValueError: as `cost`.
    """
    kinds = tuple(kinds)
    expected = dict.fromkeys(kinds, 0.0)  # seconds a flop, at the last length
    for n in sorted(lengths):
        for kind in kinds:
            own = {name: options[name] for name in KINDS[kind].options if name in options}
            bill = cost(kind, n, d_model, n_heads, batch=batch, **own)
            if bill.bytes > most_bytes or expected[kind] * bill.flops > most_seconds:
                yield kind, n, None
                continue
            run = _run(layer(kind, n, d_model, n_heads, **own), training)
            found = measure(
                run, torch.randn(batch, n, d_model), repeats=repeats, clock=clock, memory=memory
            )
            expected[kind] = found.seconds / bill.flops
            yield kind, n, found


def _run(model: nn.Module, training: bool):
    """A forward pass without gradients, or a forward and a backward pass."""
    if not training:
        return torch.no_grad()(model)

    def step(x: torch.Tensor) -> None:
        model.zero_grad()
        model(x).sum().backward()

    return step


def collected(found: Iterable[tuple[str, int, Measurement | None]]) -> dict:
    """What `survey` yields, as kind -> n -> `Measurement`; what was left out is not there."""
    table = {}
    for kind, n, measurement in found:
        if measurement is not None:
            table.setdefault(kind, {})[n] = measurement
    return table


def matmul_rate(
    n: int = 1024, *, repeats: int = 5, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Multiplications and additions a second in a product of two ``(n, n)`` matrices, float32."""
    a, b = torch.randn(2, n, n)
    return 2 * n**3 / measure(torch.mm, a, b, repeats=repeats, clock=clock, memory=False).seconds
