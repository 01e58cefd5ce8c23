"""The tables that torch's FlexAttention makes of a mask, as answers of block_plan."""
import torch
from torch.nn.attention.flex_attention import create_block_mask

import lockstep

NAMES = [full + side + what for full in ("", "full_") for side in ("kv", "q")
         for what in ("_num_blocks", "_indices")]


def tables_of(block_mask):
    """A BlockMask's tables under the names that the judge reads; both have the same."""
    found = {name: getattr(block_mask, name) for name in NAMES}
    return {name: table for name, table in found.items() if table is not None}


def block_mask_of(mask, call, sq=None, skv=None, **words):
    """The library's BlockMask of mask u8 [hq, sq, skv]; where longer lengths are
    asked for, it goes on beyond its ends along the diagonal."""
    if call.dialect != "block_mask" or call.width or call.width_t:
        raise lockstep.Unsupported("other tables than those of BlockMask")
    seen = mask.bool()
    one = bool((seen == seen[:1]).all())

    def visible(b, h, i, j):
        beyond = torch.maximum(i - call.sq, j - call.skv).clamp(min=-1) + 1
        return seen[0 if one else h, (i - beyond).clamp(min=0), (j - beyond).clamp(min=0)]

    return create_block_mask(visible, None, None if one else call.hq, sq or call.sq,
                             skv or call.skv, "cpu", (call.bq, call.bk), **words)


@lockstep.kernel(op="block_plan", framework="torch")
def plan(mask, *, call):
    return tables_of(block_mask_of(mask, call))


@lockstep.kernel(op="block_plan", framework="torch")
def plan_without_full(mask, *, call):
    """Every tile with a visible pair in the one list of partial ones."""
    return tables_of(block_mask_of(mask, call, separate_full_blocks=False))


@lockstep.kernel(op="block_plan", framework="torch")
def plan_adjusted(mask, *, call):
    """Of a mask that is twice as long and then cut, as FlexAttention does with one
    mask for several lengths."""
    longer = block_mask_of(mask, call, 2 * call.sq, 2 * call.skv)
    return tables_of(longer._adjust(call.sq, call.skv))
