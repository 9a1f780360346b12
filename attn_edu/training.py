"""One training loop for every chapter."""

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class History:
    """What a training run left behind.

    Attributes:
        losses: one number a step.
        scores: pairs (steps taken, score), when `train` was given something to evaluate.
        steps: how many steps were taken (fewer than asked for when patience ran out).
        stopped_early: whether patience ran out.
    """

    losses: list[float] = field(default_factory=list)
    scores: list[tuple[int, float]] = field(default_factory=list)
    stopped_early: bool = False

    @property
    def steps(self) -> int:
        return len(self.losses)


def train(
    model: nn.Module,
    batches: Callable[[torch.Generator], tuple[Tensor, Tensor]] | Iterable[tuple[Tensor, Tensor]],
    *,
    loss: Callable[[Tensor, Tensor], Tensor] = F.cross_entropy,
    steps: int,
    lr: float = 1e-3,
    seed: int = 0,
    clip: float = 1.0,
    progress: bool = True,
    patience: int | None = None,
    evaluate: Callable[[], float] | None = None,
    every: int = 50,
    schedule: str = "constant",
    warmup: int = 0,
    weight_decay: float = 0.0,
) -> History:
    """Adam (Kingma & Ba, 2015) with clipped gradients (Pascanu et al., 2013).

    Args:
        model: trained in place, and left in training mode.
        batches: either a function that draws a fresh batch ``(inputs, targets)`` from a
            ``torch.Generator``, or an iterable of batches that is gone through again and again.
            A model of several arguments takes ``inputs`` as a tuple.
        loss: ``loss(model(inputs), targets)`` -> scalar.
        steps: the most steps to take.
        lr: step size of Adam.
        seed: seeds the generator handed to ``batches`` and torch's own (dropout). The model was
            made before: seed its construction too.
        clip: the gradient's norm is cut to this.
        progress: whether to show a progress bar; it removes itself.
        patience: stop when the best smoothed loss (20 steps) is this many steps old.
        evaluate: called before the first step and after each ``every`` steps; its numbers are kept.
        every: how many steps apart.
        schedule: what becomes of ``lr``: ``"constant"``, or ``"cosine"``, down to 0 along half a
            wave (Loshchilov & Hutter, 2017).
        warmup: over so many steps ``lr`` rises to its full size first (Vaswani et al., 2017).
        weight_decay: what each step takes off the matrices, times ``lr`` (Loshchilov & Hutter,
            2019); vectors, such as biases, keep their size.

    Returns:
        The `History`. The same seed, model and machine give the same losses.

    Raises:
        ValueError: a number out of its range, an unknown schedule, or no batch at all.
        FloatingPointError: the loss is no longer finite.
    """
    positive = {"steps": steps, "lr": lr, "clip": clip, "patience": patience, "every": every}
    for name, value in positive.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name}: got {value}; accepted is a number above 0.")
    for name, value in (("steps", steps), ("patience", patience), ("every", every)):
        if value is not None and value != int(value):
            raise ValueError(f"{name}: got {value}; accepted is a whole number.")
    for name, value in (("warmup", warmup), ("weight_decay", weight_decay)):
        if not value >= 0:
            raise ValueError(f"{name}: got {value}; accepted is a number from 0.")
    if schedule not in ("constant", "cosine"):
        raise ValueError(f"schedule: got {schedule!r}; accepted are 'constant', 'cosine'.")
    torch.manual_seed(seed)
    source = _draw(batches, torch.Generator().manual_seed(seed))
    optimiser = _adam(model, lr, weight_decay)
    history, recent = History(), []
    best, best_step = math.inf, 0

    def score():
        history.scores.append((history.steps, evaluate()))
        model.train()  # whatever mode it was looked at in

    model.train()
    if evaluate is not None:
        score()
    for step in _bar(steps, progress):
        inputs, targets = next(source)
        outputs = model(*inputs) if isinstance(inputs, tuple) else model(inputs)
        value = loss(outputs, targets)
        if not torch.isfinite(value):
            raise FloatingPointError(
                f"the loss is {value.item()} at step {step}; try a smaller lr."
            )
        for group in optimiser.param_groups:
            group["lr"] = lr * _share_of_lr(step, steps, schedule, warmup)
        optimiser.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        history.losses.append(value.item())
        if evaluate is not None and history.steps % every == 0:
            score()
        recent = [*recent[-19:], value.item()]
        mean = sum(recent) / len(recent)
        if mean < best:
            best, best_step = mean, step
        if patience is not None and step - best_step >= patience:
            history.stopped_early = True
            break
    return history


@torch.no_grad()
def accuracy(model: nn.Module, inputs: Tensor, targets: Tensor, *, batch: int = 512) -> float:
    """The share of right answers, in evaluation mode; the model's mode is put back.

    Args:
        model: ``inputs (n, …)`` -> logits ``(n, n_classes)``.
        targets: ``(n,)`` integers.
        batch: how many at a time.
    """
    was_training = model.training
    model.eval()
    right = sum(
        (model(x).argmax(dim=-1) == y).sum().item()
        for x, y in zip(inputs.split(batch), targets.split(batch))
    )
    model.train(was_training)
    return right / len(targets)


def _adam(model: nn.Module, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    parameters = list(model.parameters())
    matrices = [p for p in parameters if p.ndim >= 2]
    vectors = [p for p in parameters if p.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=lr)


def _share_of_lr(step: int, steps: int, schedule: str, warmup: int) -> float:
    if step < warmup:
        return (step + 1) / warmup
    if schedule == "cosine":
        return (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
    return 1.0


def _draw(batches, generator):
    if callable(batches):
        while True:
            yield batches(generator)
    while True:
        batch = None
        for batch in batches:
            yield batch
        if batch is None:
            raise ValueError("batches: got nothing; accepted is an iterable of (inputs, targets).")


def _bar(steps: int, progress: bool):
    """The steps, with a bar on the screen that leaves nothing behind."""
    if not progress:
        return range(steps)
    from tqdm import tqdm

    # A line of text on the standard output: it needs no widget, and its last state is empty.
    return tqdm(range(steps), leave=False, file=sys.stdout)
