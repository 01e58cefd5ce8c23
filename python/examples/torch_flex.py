"""torch FlexAttention, eager, with the BlockMask that it makes itself. No sinks."""
import torch
from torch.nn.attention import flex_attention as flex

import lockstep

# A product of MKL may change its bits with the address, for tensors off 16 bytes on AMD EPYC.
REPEAT = "repeat = no\n"
F32 = """base = cpu-f32
name = flex-eager-f32
normalise = before
max = two_pass
splits = 1
masked_nan_safe = no
nan = unspecified
"""
BF16 = F32.replace("flex-eager-f32", "flex-eager-bf16") + """lane = bf16
p = bf16
ftz = yes
"""
F16 = F32.replace("flex-eager-f32", "flex-eager-f16") + """lane = f16
p = f16
"""


def attend(q, k, v, call, attention, **words):
    if "sink" in call.inputs:
        raise lockstep.Unsupported("sinks")
    seen = call.mask_dense.bool()
    rows, heads = seen.shape[:2]

    def visible(b, h, i, j):
        # What seen[...] comes to, without the gradient of indexing: half of all time.
        return torch.ops.aten.index(seen, (b % rows, h % heads, i, j))

    def capped(score, b, h, i, j):
        return call.softcap * torch.tanh(score / call.softcap)

    mask = flex.create_block_mask(visible, rows if rows > 1 else None,
                                  heads if heads > 1 else None, call.sq, call.skv, "cpu")
    return attention(q, k, v, capped if call.softcap else None, mask, call.scale,
                     enable_gqa=call.hq != call.hkv, **words)


def eager(q, k, v, call):
    # Tracing would take a second for every new shape, and change nothing.
    with torch.compiler.set_stance("force_eager"):
        o, aux = attend(q, k, v, call, flex.flex_attention,
                        return_aux=flex.AuxRequest(lse=True))
    return o, aux.lse.float()


@lockstep.kernel(framework="torch", profile=F32 + REPEAT, wants=["mask.dense"], lanes=["f32"])
def eager_f32(q, k, v, *, call):
    return eager(q, k, v, call)


@lockstep.kernel(framework="torch", profile=BF16, wants=["mask.dense"], lanes=["bf16"])
def eager_bf16(q, k, v, *, call):
    return eager(q, k, v, call)


@lockstep.kernel(framework="torch", profile=F16, wants=["mask.dense"], lanes=["f16"])
def eager_f16(q, k, v, *, call):
    return eager(q, k, v, call)
