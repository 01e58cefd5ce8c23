"""The backward operators of torch's scaled_dot_product_attention on CUDA, which take o and
lse as they are given. No softcap, no sinks, no cotangent of lse."""
import torch
from common import DEVICE, bounds, dense, refuse, repeated
from sdpa import CUDNN, EFFICIENT, EFFICIENT32, FLASH, aten

import lockstep

# bf16 between the heads of a group, not between tiles.
HEADS = "grad.dkv_state = bf16\ngrad.tile_q = 8192\n"


def supported(call):
    refuse(call, cap=True, wide=True)
    if call.grad != call.lane or "dlse" in call.inputs:
        raise lockstep.Unsupported("gradients in another type, cotangents of lse")
    causal = bounds(call) == (1 << 29, 0)
    if not causal and bounds(call) != (1 << 29, 1 << 29) or causal and any(call.offset):
        raise lockstep.Unsupported("masks but plain causal ones")
    if causal and call.sq != call.skv:
        raise lockstep.Unsupported("causal, other lengths")
    return causal


def seeds():
    return [torch.zeros((), dtype=torch.int64, device=DEVICE) for _ in range(2)]


def folded(call, dq, dk, dv):
    """Gradients of repeated heads, summed in f32."""
    group = lambda x: x.float().unflatten(1, (call.hkv, -1)).sum(2).to(x.dtype)
    return dq, group(dk), group(dv)


def flash(q, k, v, o, lse, do, *, call):
    causal = supported(call)
    q, k, v, o, do = (x.transpose(1, 2) for x in dense(q, k, v, o, do))
    state = torch.zeros(2, dtype=torch.uint64, device=DEVICE)
    answer = aten._flash_attention_backward(
        do, q, k, v, o, *dense(lse), None, None, call.sq, call.skv, 0.0, causal, state, seeds()[0],
        scale=call.scale)
    return [x.transpose(1, 2) for x in answer]


def given(call, forward, q, k, v, o, lse, do):
    """Gradients by autograd of a forward pass whose o and lse are overwritten with those given."""
    leaves = [x.detach().requires_grad_() for x in dense(q, *repeated(call, k, v))]
    made, sums = forward(*leaves)
    made.data.copy_(o)
    sums.data.flatten(2)[..., :call.sq].copy_(lse)
    return folded(call, *torch.autograd.grad(made, leaves, do))


def efficient(q, k, v, o, lse, do, *, call):
    causal = supported(call)
    return given(call, lambda *x: aten._scaled_dot_product_efficient_attention(
        *x, None, True, 0.0, causal, scale=call.scale)[:2], q, k, v, o, lse, do)


def cudnn(q, k, v, o, lse, do, *, call):
    causal = supported(call)
    return given(call, lambda *x: aten._scaled_dot_product_cudnn_attention(
        *x, None, True, 0.0, causal, scale=call.scale)[:2], q, k, v, o, lse, do)


def declared(function, profile, lane, name, exact_order=None):
    def run(*tensors, call):
        if exact_order is not None:
            torch.use_deterministic_algorithms(exact_order)
        return function(*tensors, call=call)
    run.__name__ = name
    return lockstep.kernel(op="attention_backward", framework="torch", device=DEVICE,
                           profile=profile + (HEADS if lane == "bf16" else ""),
                           lanes=[lane])(run)


flash_bf16 = declared(flash, FLASH, "bf16", "flash_bf16")
flash_det = declared(flash, FLASH, "bf16", "flash_det", exact_order=True)
efficient_bf16 = declared(efficient, EFFICIENT, "bf16", "efficient_bf16")
efficient_faithful = declared(efficient, EFFICIENT + "out_round = faithful\n", "bf16",
                              "efficient_faithful")
efficient_f32 = declared(efficient, EFFICIENT32, "f32", "efficient_f32")
cudnn_bf16 = declared(cudnn, CUDNN, "bf16", "cudnn_bf16")
cudnn_det = declared(cudnn, CUDNN, "bf16", "cudnn_det", exact_order=True)
