"""The arrays of the frameworks that kernels are written in: NumPy, torch, JAX.

A framework's module is imported when a kernel wants it, never before.
"""
import functools
import warnings

import numpy as np

from lockstep import slips
from lockstep.errors import UsageError

FRAMEWORKS = ("numpy", "torch", "jax")
_PLAIN = {"f32": np.dtype("<f4"), "f16": np.dtype("<f2"), "u8": np.dtype("u1"), "i8": np.dtype("i1"),
          "i16": np.dtype("<i2"), "i32": np.dtype("<i4"), "i64": np.dtype("<i8")}
LANES = ("f32", "bf16", "f16")
_FP8 = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}  # of k and v alone


@functools.cache
def dtype_of(name):
    """The NumPy dtype of "f32", "bf16", "f16", "e4m3", "e5m2", "u8", "i32", ..."""
    if name == "bf16":
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    if name in _FP8:
        # NumPy itself has no fp8 type: arrays are bytes unless ml_dtypes is there.
        try:
            import ml_dtypes
        except ImportError:
            return _PLAIN["u8"]
        return np.dtype(getattr(ml_dtypes, _FP8[name]))
    return _PLAIN[name]


@functools.cache
def name_of(dtype):
    """The inverse of dtype_of, or None."""
    for name, plain in _PLAIN.items():
        if dtype == plain:
            return name
    return {"bfloat16": "bf16", **{word: name for name, word in _FP8.items()}}.get(str(dtype))


def check_framework(name):
    if name not in FRAMEWORKS:
        raise UsageError(f"framework {name!r} is unknown; "
                         + slips.answer(name, FRAMEWORKS, slips.FRAMEWORKS)
                         + "; known: " + ", ".join(FRAMEWORKS))
    return name


def _to_torch(array):
    import torch
    narrow = None if array.dtype in _PLAIN.values() else getattr(torch, str(array.dtype))
    plain = {1: np.uint8, 2: np.int16}[array.dtype.itemsize] if narrow else array.dtype
    with warnings.catch_warnings():
        # Inputs cannot be written to; torch has no type for that and says so.
        warnings.simplefilter("ignore", UserWarning)
        tensor = torch.from_numpy(array.view(plain))
    return tensor.view(narrow) if narrow else tensor


def _to_jax(array):
    import jax.numpy
    return jax.numpy.asarray(array)


def to_framework(array, framework):
    """A NumPy array as the framework has it; torch shares its memory."""
    if framework == "torch":
        return _to_torch(array)
    return _to_jax(array) if framework == "jax" else array


def framework_of(array):
    """Which framework an array is of; "numpy" for whatever is not known."""
    module = type(array).__module__.split(".")[0]
    return {"torch": "torch", "jax": "jax", "jaxlib": "jax"}.get(module, "numpy")


def to_numpy(array):
    """An array of any framework, or anything with DLPack, as NumPy's; shares
    memory where it can."""
    if isinstance(array, np.ndarray):
        return array
    if framework_of(array) == "torch":
        import torch
        array = array.detach().cpu()
        if array.dtype == torch.bfloat16:
            return array.view(torch.int16).numpy().view(dtype_of("bf16"))
        for name, word in _FP8.items():
            if str(array.dtype) == "torch." + word:
                return array.view(torch.uint8).numpy().view(dtype_of(name))
        return array.numpy()
    if hasattr(array, "__array__") or not hasattr(array, "__dlpack__"):
        return np.asarray(array)
    return np.from_dlpack(array)
