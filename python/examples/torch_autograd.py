"""Lockstep's exact attention as a function that torch differentiates: o, or (o, lse),
of tensors on the CPU, with the bits of docs/numerics.md in both directions."""
import torch

import lockstep


class ExactAttention(torch.autograd.Function):
    """q [b, hq, sq, d], k [b, hkv, skv, d], v [b, hkv, skv, dv] -> o, lse."""

    @staticmethod
    def forward(ctx, q, k, v, words):
        o, lse = lockstep.attention_forward(q, k, v, **words)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.words = words
        return o, lse

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, do, dlse):
        gradients = lockstep.attention_backward(*ctx.saved_tensors, do, dlse=dlse, **ctx.words)
        return (*gradients[:3], None)


def attention(q, k, v, *, with_lse=False, **words):
    """words: those of lockstep.attention_forward, a sink apart."""
    o, lse = ExactAttention.apply(q, k, v, words)
    return (o, lse) if with_lse else o
