"""torch SDPA on the CPU: -inf is added to a masked score, which makes NaN of one that
overflowed."""
import torch

q = torch.full((1, 1, 1, 16), 1e30)
k, v = torch.stack([q * 0, q], 2).reshape(1, 1, 2, 16), torch.ones(1, 1, 2, 16)
o = torch.nn.functional.scaled_dot_product_attention(q, k, v, torch.tensor([[True, False]]))
print("o =", o.flatten()[0].item(), "want 1.0: the only visible key is zeros")
raise SystemExit(bool(o.isnan().any()))
