"""torch SDPA on the CPU in bf16: equal weights do not sum to what they are."""
import torch

n = 17
q = k = torch.zeros(1, 1, n, 32, dtype=torch.bfloat16)
v = torch.ones(1, 1, n, 32, dtype=torch.bfloat16)
_, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)
want = torch.tensor(float(n)).log()
print("lse - log(n) =", (lse.flatten()[0] - want).item(), "with all scores 0, want 0 to 1e-6")
empty = torch.full((n, n), float("-inf"), dtype=torch.bfloat16)
_, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, attn_mask=empty)
print("lse of a row without keys =", lse.flatten()[0].item(), "want -inf")
raise SystemExit(bool(lse.flatten()[0] == 0))
