"""The other ways in which JAX's splash attention makes tables of a mask: of the whole
grid, by shards of heads, and of a mask that is known when the kernel runs only."""
import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask_info as infos
from jax_mask_info import answer, tables_of

import lockstep


@lockstep.kernel(op="block_plan")
def plan_whole(mask, *, call):
    return answer(mask, call, shrink_grid=False)


@lockstep.kernel(op="block_plan")
def plan_head_shards(mask, *, call):
    return answer(mask, call, head_shards=call.hq)


@lockstep.kernel(op="block_plan")
def plan_dynamic(mask, *, call):
    if call.dialect != "splash" or call.q_shards > 1 or not call.blocks:
        raise lockstep.Unsupported("dynamic masks: whole tables with all blocks only")
    made = [process(jnp.asarray(mask != 0), (call.bq, call.bk))[0]
            for process in (infos.process_dynamic_mask, infos.process_dynamic_mask_dkv)]
    return tables_of(made, call, False)
