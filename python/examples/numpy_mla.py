"""Decoding of multi-head latent attention in NumPy: v is the first channels of k."""
import numpy as np

import lockstep
from numpy_attention import PROFILE
from numpy_attention import attend as attend_apart


@lockstep.kernel(op="attention_forward", profile=PROFILE.replace("= numpy", "= numpy-mla"),
                 wants=["mask.dense"], lanes=["f32"])
def attend(q, latents, v, *, call):
    if not np.shares_memory(latents, v):
        raise lockstep.Unsupported("values outside the keys")
    return attend_apart(q, latents, latents[..., :call.v_in_k], call=call)
