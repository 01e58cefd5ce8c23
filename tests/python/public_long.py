"""For pytest: torch SDPA over 131072 keys, right, and without one of them."""
import os
import sys

import lockstep

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../python/examples"))
import torch_sdpa

LINE = "attention_forward sq=4 skv=131072 d=16 seed=5"
FACTS = {"framework": "torch", "wants": ["mask.bias"], "profile": torch_sdpa.F32}


@lockstep.parametrize(LINE)
@lockstep.kernel(**FACTS)
def whole(q, k, v, *, call):
    return torch_sdpa.flash(q, k, v, call)


@lockstep.parametrize(LINE)
@lockstep.kernel(**FACTS)
def without_a_key(q, k, v, *, call):
    bias = call.mask_bias.clone()
    bias[..., 70001:70002] = float("-inf")
    call.inputs["mask.bias"] = bias
    return torch_sdpa.flash(q, k, v, call)
