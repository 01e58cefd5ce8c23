"""The tables that JAX's splash attention makes of a mask, as answers of block_plan."""
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask_info as infos

import lockstep


def tables_of(forward, transposed, call, shrunk):
    """Two MaskInfo as one answer: nothing but names, one table a head where there is one
    a shard of heads, and, where every tile is full, an empty list of partial ones."""
    tables = {"shrunk": np.int32([shrunk])}
    for end, info, block in (("", forward, (call.bq, call.bk)),
                             ("_t", transposed, (call.bk, call.bq))):
        for name in ("data_next", "block_mask", "mask_next", "partial_mask_blocks"):
            table = getattr(info, name)
            if not call.blocks and table is None:
                continue
            if name == "partial_mask_blocks":
                table = np.zeros((0, *block), bool) if table is None else table
                tables[name + end] = np.asarray(table).reshape(-1, *block)
                continue
            table = np.asarray(np.zeros_like(info.data_next) if table is None else table)
            each = 1 if len(table) == 1 else call.hq // len(table)
            tables[name + end] = np.repeat(table, each, axis=0)
    return tables


def _mask(pairs, node, offset, computed):
    """The library's mask object: of the term, where the kernel is to compute it."""
    if computed and node["kind"] == "causal":
        return masks.CausalMask(pairs.shape, offset)
    if computed and node["kind"] == "window":
        return masks.LocalMask(pairs.shape, (node["left"], node["right"]), offset)
    if computed and node["kind"] == "chunked":
        return masks.ChunkedCausalMask(pairs.shape, node["chunk"])
    if computed and node["kind"] != "full":
        raise lockstep.Unsupported("splash computes causal, local and chunked masks only")
    return masks.FullMask(pairs.shape) if pairs.all() else masks.NumpyMask(pairs != 0)


def infos_of(mask, call, shrink=True, head_shards=1):
    """(MaskInfo, MaskInfo of the transposed pass)."""
    if call.dialect != "splash" or call.kv_shards > 1:
        raise lockstep.Unsupported("other tables than those of splash")
    nodes = call.masks if len(call.masks) > 1 else call.masks * call.hq
    heads = masks.MultiHeadMask([_mask(mask[h], nodes[h], call.offset[0], not call.blocks)
                                 for h in range(call.hq)])
    words = {"head_shards": head_shards, "q_seq_shards": call.q_shards, "shrink_grid": shrink}
    return tuple(process(heads, (call.bq, call.bk), **words)[0]
                 for process in (infos.process_mask, infos.process_mask_dkv))


def _one_mask(mask):
    return bool((mask == mask[:1]).all())


@lockstep.kernel(op="block_plan")
def plan(mask, *, call):
    return tables_of(*infos_of(mask, call), call, _one_mask(mask))


@lockstep.kernel(op="block_plan")
def plan_whole(mask, *, call):
    return tables_of(*infos_of(mask, call, shrink=False), call, False)


@lockstep.kernel(op="block_plan")
def plan_head_shards(mask, *, call):
    return tables_of(*infos_of(mask, call, head_shards=call.hq), call, _one_mask(mask))


@lockstep.kernel(op="block_plan")
def plan_dynamic(mask, *, call):
    """Of a mask that is known when the kernel runs only."""
    if call.dialect != "splash" or call.q_shards > 1 or not call.blocks:
        raise lockstep.Unsupported("dynamic masks: whole tables with all blocks only")
    pairs = jnp.asarray(mask != 0)
    made = [process(pairs, (call.bq, call.bk))[0]
            for process in (infos.process_dynamic_mask, infos.process_dynamic_mask_dkv)]
    return tables_of(*made, call, False)
