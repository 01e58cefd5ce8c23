"""bf16 under Triton's interpreter as GPUs have it. That of Triton 3.5 cuts f32 off where a
GPU rounds to nearest, makes other numbers of subnormal ones, and multiplies the bits of
bf16 as integers."""
import ml_dtypes
import numpy as np
import triton.language as tl
from triton.runtime import interpreter

dot, convert = interpreter.InterpreterBuilder.create_dot, interpreter._convert_float


def nearest(bits, source, target, mode):
    if (source, target) == (tl.float32, tl.bfloat16):
        return bits.astype(ml_dtypes.bfloat16).view(np.uint16)
    if (source, target) == (tl.bfloat16, tl.float32):
        return bits.view(ml_dtypes.bfloat16).astype(np.float32)
    return convert(bits, source, target, mode)


def wide_dot(self, a, b, *rest):
    return dot(self, self.cast_impl(a, tl.float32), self.cast_impl(b, tl.float32), *rest)


def repair():
    interpreter._convert_float = nearest
    interpreter.InterpreterBuilder.create_dot = wide_dot
