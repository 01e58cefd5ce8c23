"""Attention over lists of keys (top-k sparse attention) in NumPy. Only the keys that a query's
list names are gathered; all others are never read."""
import numpy as np

import lockstep
from numpy_attention import PROFILE

TOPK = PROFILE.replace("= numpy", "= numpy-topk").replace("safe = no", "safe = yes")


def terms_of(mask):
    """The terms of a mask that is one term or an `and` of terms, without `full`."""
    terms = mask["terms"] if mask["kind"] == "and" else [mask]
    return [term for term in terms if term["kind"] != "full"]


def listed(entries):
    """The keys of one list: entries up to the first -1, each key once."""
    ends = np.flatnonzero(entries < 0)
    return np.unique(entries[:ends[0]] if len(ends) else entries)


def sees(term, position, keys):
    """Whether the query at `position` of the key axis sees the listed keys."""
    back = position - keys
    if term["kind"] == "causal":
        return back >= 0
    if term["kind"] == "window":
        left, right = term["left"], term["right"]
        return ((left is None) | (back <= (left or 0))) & ((right is None) | (-back <= (right or 0)))
    raise lockstep.Unsupported("masks of more than lists, causal and window")


def keys_of(call, terms, b, h, i):
    """The keys that a query sees."""
    group = call.hq // call.hkv
    keys = listed(call.indices[b, h // group, i])
    keys = keys[keys < call.inputs["valid_kv"][b]]
    for term in terms:
        keys = keys[sees(term, i + call.offset[b], keys)]
    if "q_seg" in call.inputs:
        keys = keys[call.kv_seg[b, keys] == call.q_seg[b, i]]
    return keys if i < call.inputs["valid_q"][b] else keys[:0]


@lockstep.kernel(op="attention_forward", profile=TOPK, wants=["indices:ended"],
                 lanes=["f32"])
def attend(q, k, v, *, call):
    masks = [terms_of(mask) for mask in call.masks]
    for mask in masks:
        if sum(term["kind"] == "index" for term in mask) != 1:
            raise lockstep.Unsupported("masks without one list for each query")
    o = np.zeros((*q.shape[:3], call.dv), np.float32)
    lse = np.full(q.shape[:3], -np.inf, np.float32)
    for b, h, i in np.ndindex(*q.shape[:3]):
        mask = masks[h if len(masks) > 1 else 0]
        rest = [term for term in mask if term["kind"] != "index"]
        keys = keys_of(call, rest, b, h, i)
        g = h // (call.hq // call.hkv)
        with np.errstate(all="ignore"):
            z = np.float32(call.scale) * (k[b, g, keys] @ q[b, h, i])
            if call.softcap:
                z = np.float32(call.softcap) * np.tanh(z / np.float32(call.softcap))
            sink = [call.sink[h]] if "sink" in call.inputs else []
            scores = np.concatenate([z, np.asarray(sink, np.float32)])
            if not len(scores):
                continue
            top = scores.max()
            weights = np.exp(scores - top)
            total = weights.sum()
            o[b, h, i] = (weights[:len(keys)] @ v[b, g, keys]) / total
            lse[b, h, i] = top + np.log(total)
    return o, lse
