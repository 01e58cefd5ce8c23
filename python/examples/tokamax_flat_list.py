"""The flat lists that tokamax's splash attention makes of a mask, as answers of
block_plan. It never visits a query tile without a visible pair, and never writes it."""
import numpy as np
from tokamax._src.ops.experimental.tpu.splash_attention import (
    splash_attention_mask as masks, splash_attention_mask_info as infos)

import lockstep

LISTS = ("active_rows", "active_cols", "block_mask", "num_active_blocks")


def tables_of(made, call):
    """MaskInfo of both directions as one answer: nothing but names; of a mask that is full
    there is no list, and where no tile is partial, an empty list of blocks."""
    tables = {}
    for end, info, block in zip(("", "_t"), made, ((call.bq, call.bk), (call.bk, call.bq))):
        if info.block_mask is None:
            continue
        tables |= {name + end: np.asarray(getattr(info, name)) for name in LISTS}
        if call.blocks:
            none = info.partial_mask_blocks is None
            tables["mask_next" + end] = (np.full_like(info.active_rows, -1) if none
                                         else info.mask_next)
            tables["partial_mask_blocks" + end] = (np.zeros((0, *block), np.int8) if none
                                                   else info.partial_mask_blocks)
    return tables


@lockstep.kernel(op="block_plan")
def plan(mask, *, call):
    if call.dialect != "flat_list" or not call.blocks or (mask != mask[:1]).any():
        raise lockstep.Unsupported("other tables than flat lists, heads that differ")
    pairs = masks.FullMask(mask.shape[1:]) if mask.all() else masks.NumpyMask(mask[0] != 0)
    made = [process(pairs, (call.bq, call.bk), q_seq_shards=call.q_shards,
                    kv_seq_shards=call.kv_shards)[0]
            for process in (infos.process_mask, infos.process_mask_dkv)]
    return tables_of(made, call)
