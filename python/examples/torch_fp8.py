"""Softcap attention in torch over keys and values in fp8, and q in fp8, with scales. No sinks."""
import torch

import lockstep

PROFILE = """base = cpu-f32
name = torch-fp8
lane = any
normalise = before
max = two_pass
splits = 1
masked_nan_safe = no
nan = unspecified
"""
LANES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def numbers(x, scale, keys):
    """x [b, heads, s, c] in fp8 -> f32; `scale` as docs/wire.md has it, or None."""
    wide = x.float()
    if scale is None:
        return wide
    if keys > 0:
        scale = scale.repeat_interleave(keys, 2)[:, :, :x.shape[2]]
    return wide * scale[..., None]


@lockstep.kernel(op="attention_forward", framework="torch", profile=PROFILE,
                 wants=["kvlane", "qlane", "mask.dense"])
def attend(q, k, v, *, call):
    if "kvlane" not in call.scalars or "sink" in call.inputs:
        raise lockstep.Unsupported("sinks, and keys that are not in fp8")
    q = numbers(q, call.inputs.get("q_scale"), call.scalars.get("q_scale_queries", 0))
    k = numbers(k, call.inputs.get("k_scale"), call.k_scale_keys)
    v = numbers(v, call.inputs.get("v_scale"), call.v_scale_keys)
    # Scales of keys that do not exist may be anything.
    there = torch.arange(call.skv) < call.valid_kv[:, None]
    v = torch.where(there[:, None, :, None], v, 0)
    k, v = (x.repeat_interleave(call.hq // call.hkv, 1) for x in (k, v))
    scores = q @ k.mT * call.scale
    if call.softcap:
        scores = call.softcap * torch.tanh(scores / call.softcap)
    scores = torch.where(call.mask_dense != 0, scores, -torch.inf)
    lse = torch.logsumexp(scores, -1)
    weights = torch.where(lse[..., None] == -torch.inf, 0, torch.softmax(scores, -1))
    return (weights @ v).to(LANES[call.lane]), lse
