"""Bugs for planted_test.py, put around a right kernel: each changes what it is told.

A kernel of this file is BASE_BUG, BASE one of BASES: numpy_window_short."""
import importlib
import os
import sys

import numpy as np

import lockstep
from lockstep.frameworks import to_framework, to_numpy
from lockstep.kernels import facts_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../../python/examples"))

# Module and function of python/examples.
BASES = {"numpy": ("numpy_attention", "attend"), "sdpa": ("torch_sdpa", "attend_f32"),
         "flex": ("torch_flex", "eager_f32")}


def _set_mask(call, seen, framework):
    """Both forms of the mask."""
    for name, made in (("mask.dense", seen.astype(np.uint8)),
                       ("mask.bias", np.where(seen, np.float32(0), np.float32(-np.inf)))):
        if name in call.inputs:
            call.inputs[name] = to_framework(made, framework)


def _mask(call):
    return to_numpy(call.mask_dense if "mask.dense" in call.inputs else call.mask_bias + 1) > 0


def window_short(q, k, v, call, framework):
    """The furthest visible key of a row with several is left out."""
    seen = _mask(call).copy()
    first = np.cumsum(seen, -1) == 1
    seen &= ~(first & (seen.sum(-1, keepdims=True) > 2))
    _set_mask(call, seen, framework)
    return q, k, v


def _by_terms(call, **changed):
    """The mask from its terms, told something else."""
    inputs = {n: to_numpy(x) for n, x in call.inputs.items() if n not in "qkv"}
    scalars = dict(call.scalars)
    for name, value in changed.items():
        if value is None:
            inputs.pop(name, None)
        else:
            (scalars if name == "offset" else inputs)[name] = value
    told = lockstep.call.Call({"op": call.op, "scalars": scalars, "masks": call.masks},
                              inputs, {})
    rows, keys = np.arange(call.sq)[:, None], np.arange(call.skv)[None]
    return np.stack([np.stack([told.visible(b, h, rows, keys) for h in range(call.hq)])
                     for b in range(call.b)])


def segments_ignored(q, k, v, call, framework):
    _set_mask(call, _by_terms(call, q_seg=None, kv_seg=None), framework)
    return q, k, v


def valid_keys_ignored(q, k, v, call, framework):
    every = np.full_like(to_numpy(call.valid_kv), call.skv)
    _set_mask(call, _by_terms(call, valid_kv=every), framework)
    return q, k, v


def top_left(q, k, v, call, framework):
    """Alignment at the bottom right is forgotten."""
    _set_mask(call, _by_terms(call, offset=[0] * call.b), framework)
    return q, k, v


def first_row_for_all(q, k, v, call, framework):
    """Every batch row has the mask of row 0."""
    _set_mask(call, _mask(call)[:1], framework)
    return q, k, v


def first_head_for_all(q, k, v, call, framework):
    _set_mask(call, _mask(call)[:, :1], framework)
    return q, k, v


def group_modulo(q, k, v, call, framework):
    """Head h reads key head h mod hkv."""
    heads = np.arange(call.hq) % call.hkv
    k, v = (to_framework(np.ascontiguousarray(to_numpy(x)[:, heads]), framework)
            for x in (k, v))
    call.scalars["hkv"] = call.hq
    return q, k, v


def scale_forgotten(q, k, v, call, framework):
    call.scalars["scale"] = (1.0).hex()
    return q, k, v


def last_key_of_a_ragged_tile(q, k, v, call, framework):
    """Of a last tile of four keys that has one, the key is lost."""
    seen = _mask(call).copy()
    if call.skv % 4 == 1 and call.skv > 1:
        seen[..., -1] = False
    _set_mask(call, seen, framework)
    return q, k, v


_CACHE = {}


def stale_mask(q, k, v, call, framework):
    """Masks are kept by their shape."""
    seen = _mask(call)
    _set_mask(call, _CACHE.setdefault((seen.shape, call.sq), seen.copy()), framework)
    return q, k, v


def channel_lost(q, k, v, call, framework):
    """Of a width that is no multiple of four, the last channel."""
    if call.d % 4:
        q = to_framework(to_numpy(q).copy(), framework)
        q[..., -1] = 0
    return q, k, v


BUGS = {f.__name__: f for f in (
    window_short, segments_ignored, valid_keys_ignored, top_left, first_row_for_all,
    first_head_for_all, group_modulo, scale_forgotten, last_key_of_a_ragged_tile,
    stale_mask, channel_lost)}


def _plant(base, bug):
    module, function = BASES[base]
    right = getattr(importlib.import_module(module), function)
    framework = facts_of(right).framework

    def kernel(q, k, v, *, call):
        return right(*BUGS[bug](q, k, v, call, framework), call=call)

    kernel.__lockstep__ = facts_of(right)
    kernel.__name__ = kernel.__qualname__ = f"{base}_{bug}"
    kernel.__module__ = __name__
    return kernel


def __getattr__(name):
    base, _, bug = name.partition("_")
    if base not in BASES or bug not in BUGS:
        raise AttributeError(name)
    return _plant(base, bug)
