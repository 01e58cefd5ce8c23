"""The modules of mamba-ssm's Mamba-3 SISO kernels, ready for Triton's interpreter.
TRITON_MAMBA_SSM names its unpacked source; nothing else of it is imported."""
import importlib
import os
import sys
import types

os.environ["TRITON_INTERPRET"] = "1"

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter

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
dot, convert = interpreter.InterpreterBuilder.create_dot, interpreter._convert_float


# A GPU rounds to bf16 to nearest; the interpreter of Triton 3.5 cuts off, makes other
# numbers of subnormal ones, and multiplies the bits of bf16 as integers.
def nearest(bits, source, target, mode):
    if (source, target) == (tl.float32, tl.bfloat16):
        return bits.astype(ml_dtypes.bfloat16).view(np.uint16)
    if (source, target) == (tl.bfloat16, tl.float32):
        return bits.view(ml_dtypes.bfloat16).astype(np.float32)
    return convert(bits, source, target, mode)


def wide_dot(self, *operands):
    return dot(self, *(self.create_fp_ext(x, tl.float32) if x.dtype.scalar == tl.bfloat16
                       else x for x in operands[:2]), *operands[2:])


interpreter._convert_float = nearest
interpreter.InterpreterBuilder.create_dot = wide_dot
