"""Triton's interpreter, f32 to bf16: cut off towards zero, where a GPU rounds to nearest;
and of a subnormal number another one comes out."""
import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def to_bf16(x, y, n: tl.constexpr):
    at = tl.arange(0, n)
    tl.store(y + at, tl.load(x + at).to(tl.bfloat16))


x = torch.tensor([1 + 2**-7 - 2**-20, 3.999, 1e-40, -2e-41])
y = torch.empty(4, dtype=torch.bfloat16)
to_bf16[(1,)](x, y, 4)
print("interpreted:", y.tolist())
print("torch:      ", x.bfloat16().tolist())
raise SystemExit(not torch.equal(y, x.bfloat16()))
