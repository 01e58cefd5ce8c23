"""torch on a CPU with AMX or AVX512_BF16: bf16 products of subnormal numbers are 0."""
import torch

x = torch.full((32, 32), 1e-39, dtype=torch.bfloat16)
seen, want = (x @ torch.eye(32, dtype=torch.bfloat16))[0, 0].item(), x[0, 0].item()
print("x @ 1 =", seen, "want", want)
raise SystemExit(seen != want)
