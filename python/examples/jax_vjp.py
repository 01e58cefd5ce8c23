"""Lockstep's exact attention and Mamba-3 scan as functions that JAX differentiates and
compiles around: arrays on the CPU, with the bits of docs/numerics.md in both directions."""
import jax
import numpy as np

import lockstep


def _call(function, shapes, *arrays):
    """The function of NumPy's arrays as one that JAX can compile around."""
    def run(*arrays):
        return function(*jax.tree.map(np.asarray, arrays))
    return jax.pure_callback(run, shapes, *arrays)


def _shape(like, extents):
    return jax.ShapeDtypeStruct(extents, like)


def _shapes(arrays):
    return jax.tree.map(lambda x: _shape(x.dtype, x.shape), arrays)


def attention(**words):
    """The function (q, k, v) -> (o, lse); words: those of lockstep.attention_forward,
    a sink apart. q [b, hq, sq, d], k [b, hkv, skv, d], v [b, hkv, skv, dv]."""

    def forward(q, k, v):
        o = (*q.shape[:3], v.shape[3])
        return _call(lambda *x: lockstep.attention_forward(*x, **words),
                     (_shape(q.dtype, o), _shape("float32", o[:3])), q, k, v)

    def gradients(q, k, v, o, lse, do, dlse):
        return lockstep.attention_backward(q, k, v, o, lse, do, dlse=dlse, **words)[:3]

    @jax.custom_vjp
    def exact(q, k, v):
        return forward(q, k, v)

    def keep(q, k, v):
        o, lse = forward(q, k, v)
        return (o, lse), (q, k, v, o, lse)

    def pull(kept, cotangents):
        return _call(gradients, _shapes(kept[:3]), *kept, *cotangents)

    exact.defvjp(keep, pull)
    return exact


def scan(runs, **words):
    """The function of a dict, lockstep.mamba3_scan's arrays by name with its carry, ->
    (y, carry). `runs`: how many there are; words: its arguments that are no arrays, and
    its segments or cu_seqlens."""

    def forward(x):
        (b, t, r, _, n), (h, p) = x["q"].shape, x["v"].shape[2:]
        y = (b, t, 1 if words.get("reduce") else r, h, p)
        s = x["vartheta"].shape[3] if "vartheta" in x else 0
        carry = [(runs, h, s), (runs, h, p, n), (runs, r, h, n), (runs, h, p)]
        return _call(lambda x: lockstep.mamba3_scan(**x, **words),
                     (_shape(x["q"].dtype, y), tuple(_shape("float32", c) for c in carry)), x)

    def gradients(x, cotangents):
        dy, dcarry = cotangents
        return lockstep.mamba3_scan_backward(**x, dy=dy, dcarry=dcarry, **words)

    @jax.custom_vjp
    def exact(x):
        return forward(x)

    def pull(x, cotangents):
        return (_call(gradients, _shapes(x), x, cotangents),)

    exact.defvjp(lambda x: (forward(x), x), pull)
    return exact
