"""torch FlexAttention, one BlockMask for several lengths: cut to shorter ones, it compares
the indices of tiles with how many there are, not with where the keys end."""
from torch.nn.attention.flex_attention import create_block_mask


def window(b, h, i, j):
    return (i - j <= 9) & (j - i <= 3)


def tiles(mask):
    """The tiles of keys that its lists name for each tile of queries."""
    lists = ((mask.kv_num_blocks, mask.kv_indices), (mask.full_kv_num_blocks, mask.full_kv_indices))
    return [sorted(n for counts, indices in lists
                   for n in indices[0, 0, row, :counts[0, 0, row]].tolist())
            for row in range(8)]


cut = tiles(create_block_mask(window, None, None, 128, 128, "cpu", 8)._adjust(64, 64))
own = tiles(create_block_mask(window, None, None, 64, 64, "cpu", 8))
for row in (row for row in range(8) if cut[row] != own[row]):
    print(f"query tile {row}: cut {cut[row]}, made for 64 keys {own[row]}; there are 0 to 7")
raise SystemExit(cut != own)
