"""mamba-ssm's Mamba-3 SISO kernel, a run without tokens: its carry is the neighbour's
token and memory that nobody wrote."""
import sys

import torch

sys.path.insert(0, __file__.rsplit("/", 2)[0])
from mamba3_triton_modules import angles, siso  # the library's modules, interpreted

torch.manual_seed(0)
q, k, v = (torch.randn(1, 8, 1, 16) for _ in range(3))
a, dt, tau = -torch.rand(1, 1, 8), torch.rand(1, 1, 8), torch.randn(1, 1, 8)
cu = torch.tensor([0, 4, 4, 8], dtype=torch.int32)  # the run in the middle is empty
zero = torch.zeros(1, 16)
theta = angles.angle_dt_fwd(torch.randn(1, 8, 1, 8), dt, cu_seqlens=cu)
_, key, value = siso.mamba3_siso_fwd(q, k, v, a, dt, tau, zero, zero, theta,
                                     return_final_states=True, cu_seqlens=cu)[-1]
print("carry_v of the empty run is", value[1, 0, :2].tolist(), "want 0, 0; token 3 is",
      v[0, 3, 0, :2].tolist())
print("carry_k of the empty run is", key[1, 0, :2].tolist(), "want 0, 0")
raise SystemExit(bool((value[1] != 0).any()))
