"""torch FlexAttention compiled, one query and no key that it may see: not 0, as eager."""
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

torch.manual_seed(0)
q, k, v = (torch.randn(1, 1, n, 64) for n in (1, 512, 512))
mask = create_block_mask(lambda b, h, i, j: j < 0, None, None, 1, 512, "cpu")
attend = torch.compile(flex_attention)
wrong = False
for fill in (1.0, 7.0, float("nan")):
    dirt = [torch.full((1, 1, 1, 64), fill) for _ in range(64)]
    del dirt  # what was freed is what comes back
    o = attend(q, k, v, block_mask=mask)
    wrong |= bool((o != 0).any())
    print("o[0] =", o.flatten()[0].item(), " eager:",
          flex_attention(q, k, v, block_mask=mask).flatten()[0].item())
raise SystemExit(wrong)
