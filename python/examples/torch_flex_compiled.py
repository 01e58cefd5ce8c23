"""torch FlexAttention, compiled for the CPU, with the BlockMask that it makes itself."""
import os

# Compiling in this process: workers would outlive it.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch
from torch.nn.attention import flex_attention as flex
from torch_flex import attend

import lockstep

# After eight shapes torch goes back to the eager kernel and only logs it.
torch._dynamo.config.recompile_limit = 1 << 20
torch._dynamo.config.accumulated_recompile_limit = 1 << 20

F32 = """base = cpu-f32
name = flex-compiled-f32
exp_rel = 0x1p-18
exp_zero = weights
tile_kv = 128
masked_nan_safe = no
lse = none
"""
BF16 = F32.replace("flex-compiled-f32", "flex-compiled-bf16") + """lane = bf16
p = bf16
"""


def compiled(q, k, v, call):
    return attend(q, k, v, call, torch.compile(flex.flex_attention, dynamic=False))


@lockstep.kernel(framework="torch", profile=F32, wants=["mask.dense"], lanes=["f32"],
                 lacks=["lse"])
def compiled_f32(q, k, v, *, call):
    return compiled(q, k, v, call)


@lockstep.kernel(framework="torch", profile=BF16, wants=["mask.dense"], lanes=["bf16"],
                 lacks=["lse"])
def compiled_bf16(q, k, v, *, call):
    return compiled(q, k, v, call)
