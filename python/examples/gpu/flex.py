"""torch FlexAttention, compiled for CUDA by Inductor into Triton kernels. No sinks."""
import os

# Workers may outlive this process; only TORCH_* of the environment gets here.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = os.environ.get("TORCH_WORKERS", "1")

import torch
from common import DEVICE, dense, refuse
from torch.nn.attention import flex_attention as flex

import lockstep

torch._dynamo.config.recompile_limit = 1 << 20
torch._dynamo.config.accumulated_recompile_limit = 1 << 20

BF16 = """base = mma-bf16
name = flex-h100-bf16
scale_at = logits
cap_div = divide
shift = subtract
tanh_rel = 0x1p-20
splits = any
masked_nan_safe = no
"""
F32 = """base = cpu-f32
name = flex-h100-f32
exp_base = 2
ftz = yes
masked_nan_safe = no
nan = unspecified
"""
attention = torch.compile(flex.flex_attention, dynamic=False)


def prepared(q, k, v, call):
    refuse(call, counts=False)
    seen = call.mask_dense.bool()
    rows, heads = seen.shape[:2]

    def visible(b, h, i, j):
        return torch.ops.aten.index(seen, (b % rows, h % heads, i, j))

    def capped(score, b, h, i, j):
        return call.softcap * torch.tanh(score / call.softcap)

    mask = flex.create_block_mask(visible, rows if rows > 1 else None,
                                  heads if heads > 1 else None, call.sq, call.skv, DEVICE)
    words = dict(score_mod=capped if call.softcap else None, block_mask=mask, scale=call.scale,
                 enable_gqa=call.hq != call.hkv)
    return dense(q, k, v), words


def attend(q, k, v, *, call):
    tensors, words = prepared(q, k, v, call)
    o, aux = attention(*tensors, return_aux=flex.AuxRequest(lse=True), **words)
    return o, aux.lse.float()


def gradients(q, k, v, o, lse, do, *, call):
    """By autograd: its forward pass is run again, and leaves an o and lse of its own."""
    if call.grad != call.lane or "dlse" in call.inputs:
        raise lockstep.Unsupported("gradients in another type, cotangents of lse")
    tensors, words = prepared(q, k, v, call)
    tensors = [x.detach().requires_grad_() for x in tensors]
    return torch.autograd.grad(attention(*tensors, **words), tensors, do)


def gradients_given(q, k, v, o, lse, do, *, call):
    """The backward kernel alone: what it keeps of the forward pass is overwritten with the o
    and lse that are given; it keeps lse in base 2."""
    if call.grad != call.lane or "dlse" in call.inputs:
        raise lockstep.Unsupported("gradients in another type, cotangents of lse")
    tensors, words = prepared(q, k, v, call)
    tensors = [x.detach().requires_grad_() for x in tensors]
    made = attention(*tensors, **words)
    sums = [x for x in made.grad_fn.saved_tensors
            if x.dtype == torch.float32 and x.shape == lse.shape]
    if len(sums) != 1:
        raise RuntimeError(f"{len(sums)} tensors look like lse: "
                           f"{[(x.dtype, tuple(x.shape)) for x in made.grad_fn.saved_tensors]}")
    made.data.copy_(o)
    sums[0].data.copy_(lse * 1.4426950408889634)
    return torch.autograd.grad(made, tensors, do)


def declared(function, profile, lane, name, **words):
    def run(*tensors, call):
        return function(*tensors, call=call)
    run.__name__ = name
    return lockstep.kernel(framework="torch", device=DEVICE, profile=profile, lanes=[lane],
                           wants=["mask.dense"], **words)(run)


bf16 = declared(attend, BF16, "bf16", "bf16")
f32 = declared(attend, F32, "f32", "f32")
backward_bf16 = declared(gradients, BF16, "bf16", "backward_bf16", op="attention_backward")
given_bf16 = declared(gradients_given, BF16, "bf16", "given_bf16", op="attention_backward")
backward_f32 = declared(gradients, F32, "f32", "backward_f32", op="attention_backward")
