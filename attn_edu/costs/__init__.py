"""What a kind of layer costs: counted in closed form, and measured.

`cost` counts, `layer` gives the same layer to run, `measure` and `count_flops` look at a run.
"""

from attn_edu.costs.closed_forms import KINDS
from attn_edu.costs.cost import Cost, cost, crossover, pairs_compared
from attn_edu.costs.layers import layer, mixer
from attn_edu.costs.meter import Measurement, count_flops, measure
from attn_edu.costs.paths import path_length, receptive_field, sequential_steps
from attn_edu.costs.survey import collected, matmul_rate, survey

__all__ = [
    "KINDS",
    "Cost",
    "Measurement",
    "collected",
    "cost",
    "count_flops",
    "crossover",
    "layer",
    "matmul_rate",
    "measure",
    "mixer",
    "pairs_compared",
    "path_length",
    "receptive_field",
    "sequential_steps",
    "survey",
]
