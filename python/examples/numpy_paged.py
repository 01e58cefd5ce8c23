"""Softcap attention in NumPy over keys and values in pages of a pool."""
import types

import numpy as np

import lockstep
from numpy_attention import PROFILE
from numpy_attention import attend as attend_together


def gather(pool, table, keys, page_order):
    """[hkv, keys, c]: a row's keys from the pool, page by page. Entries of the table and
    slots behind its last key are never looked at."""
    size = pool.shape[1 if page_order == "nhd" else 2]
    if page_order == "hnd":
        pool = pool.swapaxes(1, 2)
    pages = pool[table[:-(-keys // size)]]
    return pages.reshape(-1, *pages.shape[2:])[:keys].swapaxes(0, 1)


@lockstep.kernel(op="attention_forward", profile=PROFILE.replace("= numpy", "= numpy-paged"),
                 wants=["pages", "mask.dense"], lanes=["f32"])
def attend(q, k_pages, v_pages, *, call):
    if "k_pages" not in call.inputs:
        raise lockstep.Unsupported("keys that do not lie in pages")
    o = np.empty((*q.shape[:3], call.dv), q.dtype)
    lse = np.empty(q.shape[:3], np.float32)
    for b in range(call.b):
        keys = int(call.kv_len[b])
        k = gather(k_pages, call.page_table[b], keys, call.page_order)
        v = gather(v_pages, call.page_table[b], keys, call.page_order)
        row = min(b, call.mask_dense.shape[0] - 1)
        own = types.SimpleNamespace(
            scale=call.scale, softcap=call.softcap, inputs=call.inputs,
            mask_dense=call.mask_dense[row:row + 1, ..., :keys] != 0)
        if "sink" in call.inputs:
            own.sink = call.sink
        o[b:b + 1], lse[b:b + 1] = attend_together(q[b:b + 1], k[None], v[None], call=own)
    return o, lse
