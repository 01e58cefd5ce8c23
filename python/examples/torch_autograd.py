"""Lockstep's exact attention and Mamba-3 scan as functions that torch differentiates, of
tensors on the CPU, with the bits of docs/numerics.md in both directions."""
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


class ExactScan(torch.autograd.Function):
    """Tensors, the last four the carry if `carried`, -> y and the carry that is left."""

    @staticmethod
    def forward(ctx, names, carried, words, *tensors):
        given = dict(zip(names, tensors))
        if carried:
            given["carry"] = tensors[-4:]
        ctx.save_for_backward(*tensors)
        ctx.given, ctx.words = (names, carried), words
        y, carry = lockstep.mamba3_scan(**given, **words)
        return (y, *carry)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy, *dcarry):
        (names, carried), tensors = ctx.given, ctx.saved_tensors
        given = dict(zip(names, tensors))
        if carried:
            given["carry"] = tensors[-4:]
        gradients = lockstep.mamba3_scan_backward(**given, dy=dy, dcarry=dcarry, **ctx.words)
        return (None, None, None, *(gradients[name] for name in names),
                *gradients.get("carry", ()))


def scan(*, carry=(), segments=None, cu_seqlens=None, variant="siso", reduce=False,
         norm_epsilon=None, rotated="f32", threads=0, **tensors):
    """(y, carry); arguments: those of lockstep.mamba3_scan, all by name."""
    words = {"segments": segments, "cu_seqlens": cu_seqlens, "variant": variant,
             "reduce": reduce, "norm_epsilon": norm_epsilon, "rotated": rotated,
             "threads": threads}
    there = {name: x for name, x in tensors.items() if x is not None}
    y, *left = ExactScan.apply(tuple(there), bool(carry), words, *there.values(), *carry)
    return y, tuple(left)
