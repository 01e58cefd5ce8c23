"""torch on a CPU with AMX: a NaN in one row of a bf16 product shows in another row."""
import torch

wrong = []
for k in range(5, 65):
    a, b = torch.ones(17, k, dtype=torch.bfloat16), torch.ones(k, 32, dtype=torch.bfloat16)
    a[8] = float("nan")
    seen = (a @ b).isnan().any(-1).nonzero().flatten().tolist()
    if seen != [8]:
        wrong.append((k, seen))
for k, seen in wrong:
    print(f"K={k}: rows that hold a NaN: {seen}, want [8]")
raise SystemExit(bool(wrong))
