"""Make data/heads.safetensors: models that answer four questions about a sentence at once.

Chapter 03 reads it. Every sentence is eight words, each a vector and a mark; four marks are asked
for (who, whom, to, with). One layer of multi-head attention must return the four words' vectors.

    sweep.error      (5, 3)  share of the targets' variance missed, for HEADS × SEEDS
    sweep.accuracy   (5, 3)  share of the words named right
    vectors          (40, 8) the word vectors
    heads_8.*, heads_16.*    the trained weights of the first seed

    python data/scripts/heads.py        (about three minutes on one core)
"""

from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

from attn_edu.attention import MultiHeadAttention
from attn_edu.training import train

HEADS, SEEDS, STEPS = (1, 2, 4, 8, 16), (0, 1, 2), 1000
N_WORDS, D_WORD, N_ASKED, N, D_MODEL = 40, 8, 4, 8, 64
TARGET = Path(__file__).parents[1] / "heads.safetensors"


def word_vectors(n_words: int, d_word: int) -> Tensor:
    """Random vectors with mean 0 and covariance 1: no direction is favoured. (n_words, d_word)"""
    vectors = torch.randn(n_words, d_word, generator=torch.Generator().manual_seed(0))
    vectors = vectors - vectors.mean(dim=0)
    spread, directions = torch.linalg.eigh(vectors.T @ vectors / n_words)
    return vectors @ directions @ torch.diag(spread**-0.5) @ directions.T


def sentences(
    vectors: Tensor, asked: Tensor, n: int, d_model: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Sentences in any order of words: `asked` (batch, n_asked) are the words to be found in each.

    Returns x (batch, n, d_model), the words (batch, n) and their marks (batch, n).
    """
    batch, n_asked = asked.shape
    mark = torch.rand(batch, n, generator=generator).argsort(dim=-1)  # 0 … n-1 in random order
    word = torch.randint(len(vectors), (batch, n), generator=generator)
    word.scatter_(1, mark.argsort(dim=-1)[:, :n_asked], asked)
    mark = mark.clamp(max=n_asked)  # marks 0 … n_asked-1 once each, "else" everywhere else
    x = torch.cat([vectors[word], F.one_hot(mark, n_asked + 1)], dim=-1)
    return F.pad(x, (0, d_model - x.shape[-1])), word, mark


class OneQuery(nn.Module):
    """One layer of attention and one query, the same for every sentence: what are the words?

    (batch, n, d_model) -> (batch, n_answers)
    """

    def __init__(self, d_model: int, n_heads: int, n_answers: int):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.query = torch.eye(d_model)[-1:]  # (1, d_model): 1 in the last feature, a spare one
        self.n_answers = n_answers

    def forward(self, x: Tensor) -> Tensor:
        query = self.query.expand(len(x), 1, -1)
        return self.attention(query, x)[:, 0, : self.n_answers]


@torch.no_grad()
def judge(model: OneQuery, vectors: Tensor) -> tuple[float, float]:
    generator = torch.Generator().manual_seed(1000)
    asked = torch.randint(N_WORDS, (2000, N_ASKED), generator=generator)
    x, _, _ = sentences(vectors, asked, N, D_MODEL, generator)
    found, target = model(x), vectors[asked].flatten(1)
    nearest = torch.cdist(found.reshape(-1, D_WORD), vectors).argmin(dim=-1).view(asked.shape)
    error = (found - target).square().mean() / target.square().mean()
    return error.item(), (nearest == asked).double().mean().item()


def main():
    torch.set_num_threads(1)
    vectors = word_vectors(N_WORDS, D_WORD)
    sweep, tensors = [], {"vectors": vectors}

    def draw(generator):
        asked = torch.randint(N_WORDS, (128, N_ASKED), generator=generator)
        x, _, _ = sentences(vectors, asked, N, D_MODEL, generator)
        return x, vectors[asked].flatten(1)

    for n_heads in HEADS:
        for seed in SEEDS:
            torch.manual_seed(seed)
            model = OneQuery(D_MODEL, n_heads, N_ASKED * D_WORD)
            train(model, draw, loss=F.mse_loss, steps=STEPS, lr=5e-3, seed=seed, progress=False)
            sweep.append(judge(model, vectors))
            print(
                f"heads {n_heads:2}  seed {seed}  error {sweep[-1][0]:.5f}  "
                f"accuracy {sweep[-1][1]:.3f}",
                flush=True,
            )
            if n_heads >= 8 and seed == 0:
                weights = {
                    f"heads_{n_heads}.{k}": v.detach()
                    for k, v in model.attention.state_dict().items()
                }
                tensors.update(weights)
    sweep = torch.tensor(sweep).view(len(HEADS), len(SEEDS), 2)
    tensors["sweep.error"], tensors["sweep.accuracy"] = sweep.unbind(-1)
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    about = {"heads": str(HEADS), "seeds": str(SEEDS), "steps": str(STEPS), "made": "2026-11-29"}
    save_file(tensors, TARGET, metadata=about)


if __name__ == "__main__":
    main()
