"""mamba-ssm's Mamba-3 SISO kernel: a NaN in a later token of a chunk of 64 reaches the
tokens before it. Their weight for it is 0, and 0 times NaN is NaN."""
import sys

import torch

sys.path.insert(0, __file__.rsplit("/", 2)[0])
from mamba3_triton_modules import angles, siso  # the library's modules, interpreted

torch.manual_seed(0)
q, k, v = (torch.randn(1, 8, 1, 16) for _ in range(3))
a, dt, tau = -torch.rand(1, 1, 8), torch.rand(1, 1, 8), torch.randn(1, 1, 8)
zero, theta = torch.zeros(1, 16), angles.angle_dt_fwd(torch.randn(1, 8, 1, 8), dt)
v[0, 5] = float("nan")
out = siso.mamba3_siso_fwd(q, k, v, a, dt, tau, zero, zero, theta)[0]
wrong = [t for t in range(8) if out[0, t].isnan().any()]
print("v is NaN at token 5; out is NaN at tokens", wrong, "want [5, 6, 7]")
raise SystemExit(wrong != [5, 6, 7])
