"""Make data/smollm_maps.safetensors: what the 270 heads of SmolLM2 look at.

The model is run by `attn_edu.pretrained.smollm`. Stored are numbers between 0 and 1, in float16:

    {0, 1, 2, 3}  (30, 9, n, n)     the maps of four starts of a text, `STARTS`
    it      (20, 2, 2, 30, 9)       what "it" gives to the first and to the second noun, in the two
                                    endings of each pair of sentences in minilm_roles.safetensors
    ending  (20, 2, 2, 30, 9)       the same for the ending, the last word
    subject (10, 2, 30, 9)          what "it" gives to the subject, and to the noun that comes
                                    first, in each of `TURNED`
    says    (20, 2, 2)              the odds of the two nouns after `QUESTION`

    make lab PRETRAINED=1 (once)
    python data/scripts/smollm_maps.py        (half a minute)
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from attn_edu.datasets import load_tensors
from attn_edu.pretrained.smollm import SmolLM2, smollm

TARGET = Path(__file__).parents[1] / "smollm_maps.safetensors"
# the sentence, its subject, and another noun that comes first
TURNED = [
    ("On the road the dog slept because it was tired.", "dog", "road"),
    ("Under the table the cat waited because it was hungry.", "cat", "table"),
    ("Near the lake the horse stopped because it was thirsty.", "horse", "lake"),
    ("From the tree the bird fell because it was sick.", "bird", "tree"),
    ("Behind the house the car stood because it was broken.", "car", "house"),
    ("In the harbour the ship burned because it was old.", "ship", "harbour"),
    ("At the bridge the truck stopped because it was heavy.", "truck", "bridge"),
    ("Through the window the ball flew because it was light.", "ball", "window"),
    ("In the garden the flower died because it was dry.", "flower", "garden"),
    ("Over the hill the wolf came because it was hungry.", "wolf", "hill"),
]
STARTS = (
    "Tobin Garsevik met a fox, and the fox said: Good morning, Tobin Gar",
    "The dog didn't cross the road because it was too",
    "Fair is foul, and foul is",
    "The capital of France is",
)
QUESTION = '{} In this sentence, "it" is the'


@torch.no_grad()
def pronouns(model: SmolLM2, pairs: list) -> dict[str, Tensor]:
    it, ending, says = (torch.empty(len(pairs), 2, 2, 30, 9) for _ in range(3))
    for i, (frame, *nouns, first, second) in enumerate(pairs):
        for j, last in enumerate((first, second)):
            text = frame.format(last)
            tokens, maps = model.tokens(text), model.maps(text)
            odds = model.logits(QUESTION.format(text))[-1].softmax(dim=-1)
            for k, noun in enumerate(nouns):
                place = tokens.index(" " + noun)
                it[i, j, k] = maps[..., tokens.index(" it"), place]
                ending[i, j, k] = maps[..., len(tokens) - 2, place]  # before the full stop
                says[i, j, k] = odds[model.ids(" " + noun)[0]]
    return {"it": it, "ending": ending, "says": says[..., 0, 0]}


@torch.no_grad()
def turned(model: SmolLM2) -> Tensor:
    rows = []
    for text, *nouns in TURNED:
        tokens, maps = model.tokens(text), model.maps(text)
        row = maps[..., tokens.index(" it"), :]  # (30, 9, n)
        rows.append(torch.stack([row[..., tokens.index(" " + noun)] for noun in nouns]))
    return torch.stack(rows)


def main():
    torch.set_num_threads(1)
    model = smollm()
    _, metadata = load_tensors("minilm_roles.safetensors", "minilm_roles.py")
    tensors, starts = {}, []
    for i, text in enumerate(STARTS):
        tensors[str(i)] = model.maps(text)
        after = [(token, round(odds, 4)) for token, odds in model.next_tokens(text)]
        starts.append({"text": text, "tokens": model.tokens(text), "next": after})
    pairs = json.loads(metadata["about"])["pairs"]
    tensors |= {"subject": turned(model), **pronouns(model, pairs)}
    about = {"starts": starts, "turned": TURNED, "question": QUESTION}
    save_file(
        {name: tensor.half().contiguous() for name, tensor in tensors.items()},
        TARGET,
        metadata={"about": json.dumps(about)},
    )
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
