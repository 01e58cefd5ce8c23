"""The modules of mamba-ssm's Mamba-3 SISO kernels, ready for Triton's interpreter.
TRITON_MAMBA_SSM names its unpacked source; nothing else of it is imported."""
import importlib
import os
import sys
import types

os.environ["TRITON_INTERPRET"] = "1"

import triton
import triton.language as tl
import triton_bf16  # its bf16 as GPUs have it

PACKAGE = "mamba_ssm.ops.triton.mamba3"
for depth in range(1, 5):
    path = PACKAGE.split(".")[:depth]
    module = sys.modules[".".join(path)] = types.ModuleType(".".join(path))
    module.__path__ = [os.path.join(os.environ["TRITON_MAMBA_SSM"], *path)]
utils, angles, siso = (importlib.import_module(f"{PACKAGE}.{name}") for name in
                       ("utils", "angle_dt", "mamba3_siso_fwd"))


# PTX has no interpreter: Triton's own functions stand in for its approximations.
@triton.jit
def cos_approx(x):
    return tl.cos(x)


@triton.jit
def sin_approx(x):
    return tl.sin(x)


@triton.jit
def tanh_approx(x):
    return 2 * tl.sigmoid(2 * x) - 1


for module in (utils, angles, siso):
    for exact in (cos_approx, sin_approx, tanh_approx):
        setattr(module, exact.__name__, exact)
for kernel in (angles.angle_dt_fwd_kernel, siso.mamba3_siso_fwd_kernel):
    kernel.configs = kernel.configs[:1]  # there is nothing to tune
triton_bf16.repair()
