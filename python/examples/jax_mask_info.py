"""The tables that JAX's splash attention makes of a mask, as answers of block_plan."""
import numpy as np
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_mask as masks, splash_attention_mask_info as infos)

import lockstep

# Terms that the kernel computes where it has no blocks of the mask.
COMPUTED = {"causal": lambda shape, at, term: masks.CausalMask(shape, at),
            "window": lambda shape, at, term: masks.LocalMask(
                shape, (term["left"], term["right"]), at),
            "chunked": lambda shape, at, term: masks.ChunkedCausalMask(shape, term["chunk"]),
            "full": lambda shape, at, term: masks.FullMask(shape)}


def tables_of(made, call, shrunk):
    """MaskInfo of both directions as one answer: nothing but names, one table a head where
    there is one a shard, and, where all tiles are full, an empty list of partial ones."""
    tables = {"shrunk": np.int32([shrunk])}
    for end, info, block in zip(("", "_t"), made, ((call.bq, call.bk), (call.bk, call.bq))):
        found = {"data_next": info.data_next, "block_mask": info.block_mask}
        if call.blocks:
            none = info.partial_mask_blocks is None
            found["mask_next"] = np.zeros_like(info.data_next) if none else info.mask_next
            blocks = np.zeros((0, *block), bool) if none else info.partial_mask_blocks
            tables["partial_mask_blocks" + end] = np.asarray(blocks).reshape(-1, *block)
        for name, table in found.items():
            each = 1 if len(table) == 1 else call.hq // len(table)
            tables[name + end] = np.repeat(np.asarray(table), each, axis=0)
    return tables


def _mask(pairs, term, call):
    if call.blocks:
        return masks.FullMask(pairs.shape) if pairs.all() else masks.NumpyMask(pairs != 0)
    if term["kind"] not in COMPUTED:
        raise lockstep.Unsupported("splash computes causal, local and chunked masks only")
    made = COMPUTED[term["kind"]](pairs.shape, call.offset[0], term)
    if (made[:, :] != (pairs != 0)).any():
        raise lockstep.Unsupported("splash computes no documents and no lengths")
    return made


def answer(mask, call, **words):
    if call.dialect != "splash" or call.kv_shards > 1:
        raise lockstep.Unsupported("other tables than those of splash")
    terms = call.masks if len(call.masks) > 1 else call.masks * call.hq
    heads = masks.MultiHeadMask([_mask(*pair, call) for pair in zip(mask, terms)])
    words = {"head_shards": 1, "q_seq_shards": call.q_shards, "shrink_grid": True, **words}
    made = [process(heads, (call.bq, call.bk), **words)[0]
            for process in (infos.process_mask, infos.process_mask_dkv)]
    return tables_of(made, call, words["shrink_grid"] and (mask == mask[:1]).all())


@lockstep.kernel(op="block_plan")
def plan(mask, *, call):
    return answer(mask, call)
