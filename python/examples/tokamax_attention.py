"""tokamax.dot_product_attention: its XLA paths. No sinks, no lse."""
import tokamax

import lockstep

CHUNKED = """base = cpu-f32
name = tokamax-chunked-f32
lse = none
mask = select_finite
empty_row = mean_visited
ftz = yes
masked_nan_safe = no
nan = unspecified
"""
XLA = CHUNKED.replace("chunked", "xla") + "normalise = before\nmax = two_pass\nsplits = 1\n"
# XLA on the CPU leaves the weights in f32: their rounding to bf16 is excess precision to it.
BF16 = "lane = bf16\n"


def attend(q, k, v, call, implementation):
    if "sink" in call.inputs:
        raise lockstep.Unsupported("sinks")
    q, k, v = (x.swapaxes(1, 2) for x in (q, k, v))
    return tokamax.dot_product_attention(
        q, k, v, mask=call.mask_dense != 0, scale=call.scale,
        logits_soft_cap=call.softcap, implementation=implementation).swapaxes(1, 2)


WORDS = {"framework": "jax", "wants": ["mask.dense"], "lacks": ["lse"]}


@lockstep.kernel(profile=XLA, lanes=["f32"], **WORDS)
def xla_f32(q, k, v, *, call):
    return attend(q, k, v, call, "xla")


@lockstep.kernel(profile=XLA.replace("f32\nlse", "bf16\nlse") + BF16, lanes=["bf16"], **WORDS)
def xla_bf16(q, k, v, *, call):
    return attend(q, k, v, call, "xla")


@lockstep.kernel(profile=CHUNKED, lanes=["f32"], **WORDS)
def chunked_f32(q, k, v, *, call):
    return attend(q, k, v, call, "xla_chunked")
