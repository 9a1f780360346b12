"""Make data/smollm_results.json: which heads of a language model repeat, and what they are for.

The model is SmolLM2-135M-Instruct, 30 layers of 9 heads. Chapter 13 reads

    scores       of every head, by text: previous token, first token, induction; each (5, 30, 9)
    first value  length of the first token's value beside the mean of the others (5, 30)
    nats         of every token of 5 further random strings of 25 tokens, written twice (5, 49)
    removed      nats without the heads of the highest scores, and without heads drawn at random
    best head    the score of the best induction head, without one head in a layer below
    hidden       nats on Macbeth when one token is hidden from those that come after
    moved        what the second token gets when the first is hidden from all others

    make lab PRETRAINED=1 (once)
    python data/scripts/smollm_results.py        (four minutes on one free core)
"""

import json
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_edu.attention import causal_mask
from attn_edu.datasets import shakespeare
from attn_edu.pretrained.removing import without_heads
from attn_edu.pretrained.scores import first_token_share, induction_score, previous_token_score
from attn_edu.pretrained.smollm import smollm

TARGET = Path(__file__).parents[1] / "smollm_results.json"
PERIOD, TEXTS, LENGTH = 25, 5, 128
FIRST_WORD = 17  # tokens below stand for no text
REMOVED, REMOVED_BOTH_WAYS, DRAWS = (1, 2, 4, 8, 16), 8, 5
NOT_RANDOM = 24  # heads with a high score, which no random draw takes
NEW = range(TEXTS, 2 * TEXTS)  # seeds of strings that gave no head its rank


def twice(seeds: range) -> Tensor:
    """Strings of random tokens, each written twice: ``(len(seeds), 2 · PERIOD)``."""
    return torch.stack([_twice(seed) for seed in seeds])


def _twice(seed: int) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    once = torch.randint(
        FIRST_WORD, smollm().model.tokens.num_embeddings, (PERIOD,), generator=draw
    )
    return torch.cat([once, once])


def passages() -> Tensor:
    """Five speeches of Macbeth and what follows them: ``(TEXTS, LENGTH)``."""
    play = shakespeare().held_out
    starts = [play.index("\n\n", 10_000 + 17_000 * k) + 2 for k in range(TEXTS)]
    return torch.stack([smollm().ids(play[at : at + 1000])[:LENGTH] for at in starts])


@torch.no_grad()
def nats(ids: Tensor) -> Tensor:
    """What each token but the first costs, ``(texts, n)`` -> ``(texts, n - 1)``."""
    return F.cross_entropy(smollm().model(ids)[:, :-1].mT, ids[:, 1:], reduction="none")


def ranked(scores: Tensor) -> list[tuple[int, int]]:
    """(layer, head), the highest mean over the texts first."""
    order = scores.mean(dim=0).flatten().argsort(descending=True)
    return [divmod(i, scores.shape[-1]) for i in order.tolist()]


@contextmanager
def always_the_mean(heads: list[tuple[int, int]]):
    """Inside ``with``, these heads give their mean over the text, the same at every token."""
    attentions, hooks = smollm().attentions, []

    def flattened(mine: list[int], n_heads: int):
        def change(projection, given):
            x = given[0].unflatten(-1, (n_heads, -1)).clone()  # (n, n_heads, d_head)
            x[..., mine, :] = x[..., mine, :].mean(dim=-3, keepdim=True)
            return (x.flatten(-2),)

        return change

    for layer in {layer for layer, _ in heads}:
        mine = [head for at, head in heads if at == layer]
        change = flattened(mine, attentions[layer].n_heads)
        hooks.append(attentions[layer].out.register_forward_pre_hook(change))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def told_before(ids: Tensor) -> Tensor:
    """Whether a token has stood after the same token before: ``(n,)`` -> ``(n - 1,)``."""
    pairs = list(zip(ids.tolist(), ids[1:].tolist()))
    return torch.tensor([pair in pairs[:i] for i, pair in enumerate(pairs)])


def losses(strings: Tensor, texts: Tensor) -> dict[str, list[float]]:
    """Mean nats of each string and each text, by what there is to repeat."""
    copies, plain = nats(strings), nats(texts)
    told = [row[told_before(ids)] for ids, row in zip(texts, plain)]
    return {
        "first copy": rounded(copies[:, : PERIOD - 1].mean(dim=-1)),
        "second copy": rounded(copies[:, PERIOD:].mean(dim=-1)),
        "Macbeth": rounded(plain.mean(dim=-1)),
        "pairs told before": [rounded(row.mean()) for row in told],
    }


def rounded(x: Tensor, digits: int = 4):
    x = x.double()
    return round(x.item(), digits) if x.ndim == 0 else [rounded(row, digits) for row in x]


@torch.no_grad()
def scores() -> dict[str, Tensor]:
    """The three scores of every head, by text: each (5, 30, 9)."""
    maps = smollm().model.maps(passages()).transpose(0, 1)  # (texts, 30, 9, n, n)
    again = smollm().model.maps(twice(range(TEXTS))).transpose(0, 1)
    return {
        "previous token": previous_token_score(maps),
        "first token": first_token_share(maps),
        "induction": induction_score(again, PERIOD),
    }


@torch.no_grad()
def first_value() -> Tensor:
    """How long the first token's value is, beside the mean of the others: ``(texts, 30)``."""
    model, values = smollm(), []
    hooks = [
        attention.value.register_forward_hook(lambda module, given, value: values.append(value))
        for attention in model.attentions
    ]
    model.model(passages())
    for hook in hooks:
        hook.remove()
    heads = model.attentions[0].n_kv_heads
    size = torch.stack(values, dim=1).unflatten(-1, (heads, -1)).norm(dim=-1).mean(dim=-1)
    return size[..., 0] / size[..., 1:].mean(dim=-1)  # from (texts, 30, n)


def removed(found: dict[str, Tensor]) -> list[dict]:
    """Losses without some heads, on strings that gave no head its rank."""
    attentions, strings, texts = smollm().attentions, twice(NEW), passages()
    induction, previous = ranked(found["induction"]), ranked(found["previous token"])
    layers = {layer for layer, _ in induction[: max(REMOVED)]}
    others = [head for head in induction[NOT_RANDOM:] if head[0] in layers]
    rows = [{"heads": "none", "how": "", "count": 0, **losses(strings, texts)}]
    for count in REMOVED:
        chosen = [("induction", induction[:count]), ("previous token", previous[:count])]
        for seed in range(DRAWS):
            order = torch.randperm(len(others), generator=torch.Generator().manual_seed(seed))
            chosen.append(("random", sorted(others[i] for i in order[:count].tolist())))
        for name, heads in chosen:
            for how in ("zero", "mean") if count == REMOVED_BOTH_WAYS else ("zero",):
                if how == "zero":
                    left_out = without_heads(attentions, heads)
                else:
                    left_out = always_the_mean(heads)
                with left_out:
                    row = {"heads": name, "how": how, "count": count, "which": heads}
                    rows.append(row | losses(strings, texts))
                print(name, how, count, {k: v for k, v in rows[-1].items() if k in rows[0]})
    return rows


@torch.no_grad()
def best_head(found: dict[str, Tensor]) -> dict[str, list]:
    """The score of the best induction head by string: whole, and without one head elsewhere."""
    (best, head), *_ = ranked(found["induction"])
    before = [one for one in ranked(found["previous token"]) if one[0] < best]
    others = torch.randperm(best * 9, generator=torch.Generator().manual_seed(0))
    others = [divmod(i, 9) for i in others.tolist() if divmod(i, 9) not in before[:NOT_RANDOM]]
    rows = []
    for name, heads in (
        ("none", []),
        ("previous token", before[:1]),
        ("random", others[:1]),
        ("random", others[1:2]),
        ("random", others[2:3]),
    ):
        with without_heads(smollm().attentions, heads):
            maps = smollm().model.maps(twice(NEW))[best]  # (strings, 9, n, n)
        score = rounded(induction_score(maps[:, head], PERIOD))
        rows.append({"heads": name, "which": heads, "score": score})
        print(rows[-1])
    return {"head": [best, head], "rows": rows}


def by_token(found: dict[str, Tensor]) -> dict[str, list]:
    """The nats of every token of the strings, whole and without the best induction heads."""
    heads = ranked(found["induction"])[:REMOVED_BOTH_WAYS]
    whole = nats(twice(NEW))
    with without_heads(smollm().attentions, heads):
        without = nats(twice(NEW))
    return {"none": rounded(whole, 3), "induction": rounded(without, 3)}


@torch.no_grad()
def hidden() -> dict[str, list[float]]:
    """Nats from the tenth token on, where one token is hidden from these; and from all after it."""
    model, texts, found = smollm().model, passages(), {}
    for name, token, since in (
        ("nothing", 0, LENGTH),
        ("token 0, from token 10 on", 0, 10),
        ("token 5, from token 10 on", 5, 10),
        ("token 0, from the start", 0, 1),
        ("token 5, from the start", 5, 6),
    ):
        mask = causal_mask(LENGTH)
        mask[since:, token] = False
        logits = model.output(model.stack(model.tokens(texts), mask=mask))
        losses = F.cross_entropy(logits[:, 9:-1].mT, texts[:, 10:], reduction="none")
        found[name] = rounded(losses.mean(dim=-1))
        print(name, found[name])
    return found


@torch.no_grad()
def moved() -> dict[str, list[float]]:
    """What tokens from the tenth on give to token 1, mean over all heads, when 0 is hidden."""
    model, texts, found = smollm().model, passages(), {}
    for name, since in (("nothing", LENGTH), ("token 0, from the start", 1)):
        mask = causal_mask(LENGTH)
        mask[since:, 0] = False
        maps = model.stack.maps(model.tokens(texts), mask=mask)  # (30, texts, 9, n, n)
        found[name] = rounded(maps[..., 10:, 1].mean(dim=(0, 2, 3)))
    return found


def main():
    torch.set_num_threads(1)
    found = scores()
    results = {
        "scores": {name: rounded(x, 3) for name, x in found.items()},
        "first value": rounded(first_value(), 3),
        "hidden": hidden(),
        "moved": moved(),
        "nats": by_token(found),
        "best head": best_head(found),
        "removed": removed(found),
    }
    TARGET.write_text(json.dumps(results) + "\n", "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
