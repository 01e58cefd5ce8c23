"""torch's scaled_dot_product_attention on CUDA, one function a backend. No softcap, no sinks."""
import torch
from common import DEVICE, FAR, bounds, dense, refuse, repeated
from torch.nn.attention import SDPBackend, sdpa_kernel

import lockstep

aten = torch.ops.aten
FLASH = """base = mma-bf16
name = sdpa-flash-h100
empty_row = zero_posinf
masked_nan_safe = no
"""
EFFICIENT = """base = mma-bf16
name = sdpa-efficient-h100
scale_at = logits
shift = subtract
empty_row = zero_zero
masked_nan_safe = no
"""
EFFICIENT32 = EFFICIENT.replace("mma-bf16", "cpu-f32").replace("-h100", "-f32-h100") + "nan = unspecified\nftz = yes\n"
CUDNN = EFFICIENT.replace("efficient", "cudnn").replace("zero_zero", "zero")
MATH = """base = cpu-f32
name = sdpa-math-cuda
lane = any
scale_at = q_f32
normalise = before
max = two_pass
splits = 1
lse = none
masked_nan_safe = no
nan = unspecified
"""


def half(profile):
    """The profile of the same kernel on f16 tensors."""
    return profile.replace("mma-bf16", "mma-f16").replace("-h100", "-f16-h100")


def flash_attention(q, k, v, *, call):
    refuse(call, cap=True, wide=True)
    left, right = bounds(call)
    if min(left, right) < FAR and any(n != call.skv - call.sq for n in call.offset):
        raise lockstep.Unsupported("diagonals that do not end in the corner")
    if call.skv <= right < FAR and call.sq > call.skv:
        raise lockstep.Unsupported("windows that reach as far as there are keys")
    q, k, v = (x.transpose(1, 2) for x in dense(q, k, v))
    window = [None if n == FAR else n for n in (left, right)]
    causal = left == FAR and right == 0
    return flash_out(aten._flash_attention_forward(
        q, k, v, None, None, call.sq, call.skv, 0.0, causal, False, scale=call.scale,
        window_size_left=None if causal else window[0], window_size_right=None if causal else window[1]))


def flash_out(answer):
    return answer[0].transpose(1, 2), answer[1]


def biased(call):
    """The mask added to scores, rows on 16 elements, for every batch row and head."""
    bias = torch.nn.functional.pad(call.mask_bias, (0, -call.skv % 16))
    return bias.expand(call.b, call.hq, *bias.shape[2:])[..., :call.skv]


def finite(q, k, call):
    """-inf is added to what is masked, and leaves NaN of a score that overflowed."""
    most = q.abs().amax().double() * k.abs().amax() * call.d * max(1, abs(call.scale))
    if not most <= 2.0**120:
        raise lockstep.Unsupported("masked scores that may overflow")


def efficient(q, k, v, *, call):
    refuse(call, cap=True, counts=False, wide=True)
    finite(q, k, call)
    q, k, v = dense(q, *repeated(call, k, v))
    bias = biased(call) if call.mask_bias.any() else None
    o, lse, *_ = aten._scaled_dot_product_efficient_attention(q, k, v, bias, True, scale=call.scale)
    return o, lse[..., :call.sq]


def cudnn(q, k, v, *, call):
    refuse(call, cap=True, counts=False, wide=True)
    finite(q, k, call)
    if call.scale <= 0:
        raise lockstep.Unsupported("scales that are not positive")
    q, k, v = dense(q, *repeated(call, k, v))
    plain = call.masks[0] == {"kind": "causal"} and "q_seg" not in call.inputs and call.sq == call.skv
    plain = plain and not any(call.offset) and bool((call.valid_kv == call.skv).all())
    bias = biased(call) if call.mask_bias.any() and not plain else None
    o, lse, *_ = aten._scaled_dot_product_cudnn_attention(q, k, v, bias, True, 0.0, plain,
                                                          scale=call.scale)
    return o, lse.reshape(call.b, call.hq, call.sq)


def math(q, k, v, *, call):
    refuse(call, cap=True, counts=False)
    finite(q, k, call)
    with sdpa_kernel(SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(
            *dense(q, k, v), call.mask_dense.bool(), scale=call.scale,
            enable_gqa=call.hq != call.hkv)


def declared(function, profile, lane, name, wants="mask.bias", **words):
    def run(q, k, v, *, call):
        return function(q, k, v, call=call)
    run.__name__ = name
    return lockstep.kernel(framework="torch", device=DEVICE, profile=profile, lanes=[lane],
                           wants=[wants] if wants else [], **words)(run)


flash = declared(flash_attention, FLASH, "bf16", "flash", None)
flash_f16 = declared(flash_attention, half(FLASH), "f16", "flash_f16", None)
efficient_bf16 = declared(efficient, EFFICIENT, "bf16", "efficient_bf16")
efficient_f16 = declared(efficient, half(EFFICIENT), "f16", "efficient_f16")
efficient_f32 = declared(efficient, EFFICIENT32, "f32", "efficient_f32")
cudnn_bf16 = declared(cudnn, CUDNN, "bf16", "cudnn_bf16")
cudnn_f16 = declared(cudnn, half(CUDNN), "f16", "cudnn_f16")
math_bf16 = declared(math, MATH, "bf16", "math_bf16", "mask.dense", lacks=["lse"])
math_f32 = declared(math, MATH, "f32", "math_f32", "mask.dense", lacks=["lse"])
