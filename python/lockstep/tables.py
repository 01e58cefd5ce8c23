"""Tables of a block-sparse kernel as the objects that libraries take."""
import numpy as np

from lockstep.errors import UsageError


class Tables(dict):
    """{name: integer array} of one batch row. line: the block_plan case that they
    are of; lengths (sq, skv); tile (bq, bk)."""

    def __init__(self, tables, line, lengths, tile):
        super().__init__(tables)
        self.line, self.lengths, self.tile = line, lengths, tile

    def to_block_mask(self, device="cpu"):
        """torch's BlockMask for flex_attention; of dialect="block_mask"."""
        return to_block_mask([self], device)

    def to_mask_info(self):
        """(forward, transposed) MaskInfo of JAX's splash attention; of
        dialect="splash" with blocks. The forward one serves dq, the other one dkv."""
        _check(self, "splash")
        if "partial_mask_blocks" not in self:
            raise UsageError("MaskInfo has its blocks: leave blocks=\"no\" out")
        from jax.experimental.pallas.ops.tpu.splash_attention import (
            splash_attention_mask_info as infos)
        return tuple(infos.MaskInfo(
            data_next=self["data_next" + end], mask_next=self["mask_next" + end],
            block_mask=self["block_mask" + end],
            partial_mask_blocks=self["partial_mask_blocks" + end], q_sequence=None)
            for end in ("", "_t"))


def _check(tables, dialect):
    if not isinstance(tables, Tables) or f" dialect={dialect}" not in tables.line:
        raise UsageError(f"want tables of lockstep.block_plan(..., dialect={dialect!r})")


def to_block_mask(rows, device="cpu"):
    """torch's BlockMask of lockstep.block_plan(..., dialect="block_mask"): of one
    batch row, or of the list that ids [b, s] give."""
    rows = [rows] if isinstance(rows, dict) else list(rows)
    if not rows:
        raise UsageError("there are no tables")
    for row in rows:
        _check(row, "block_mask")
    import torch
    from torch.nn.attention.flex_attention import BlockMask

    from lockstep.case import Case
    seen = torch.as_tensor(np.stack([Case(row.line).mask() for row in rows]), device=device)

    def joined(name):
        tables = [row[name].astype(np.int32) for row in rows]
        most = max(table.shape[0] for table in tables)
        return torch.as_tensor(np.stack([np.repeat(t, most // len(t), 0) for t in tables]),
                               device=device)

    def visible(b, h, i, j):
        return seen[b % len(rows), h, i, j]

    full = ["full_kv_num_blocks", "full_kv_indices"] if "full_kv_indices" in rows[0] else []
    return BlockMask.from_kv_blocks(
        *map(joined, ["kv_num_blocks", "kv_indices", *full]),
        BLOCK_SIZE=rows[0].tile, mask_mod=visible, seq_lengths=rows[0].lengths)
