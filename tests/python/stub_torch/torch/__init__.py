"""A torch without torch: two CUDA devices in NumPy's memory, as far as the host of
device="cuda" goes. Work is launched on streams and done when a stream is waited for,
never before; an illegal access breaks the process for good, as on a GPU."""
import re

import numpy as np

from torch import cuda, version  # noqa: F401

__version__ = "0.0.stub"
uint8, int8, int16, int32, int64, float32 = (
    np.dtype(t) for t in ("u1", "i1", "<i2", "<i4", "<i8", "<f4"))
bfloat16 = "bfloat16"


class device:
    def __init__(self, kind, index=None):
        matched = re.fullmatch(r"(cpu|cuda|mps)(?::(\d+))?", kind)
        if not matched:
            raise RuntimeError(f"Expected one of cpu, cuda, mps device type at start of device "
                               f"string: {kind}\nException raised from parse_type")
        self.type = matched[1]
        self.index = int(matched[2]) if matched[2] else index

    def __eq__(self, other):
        return (self.type, self.index) == (other.type, other.index)

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


_CPU = device("cpu")


class Tensor:
    """`array`: its memory, of a device too; a stub's kernels work on it."""

    def __init__(self, array, where):
        self.array, self.device = array, where

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)

    def _ready(self):
        if self.device.type == "cuda":
            cuda.run_current()
        return self.array

    def _of(self, array):
        return Tensor(array, self.device)

    def stride(self):
        return [s // self.array.itemsize for s in self.array.strides]

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def element_size(self):
        return self.array.itemsize

    def numel(self):
        return self.array.size

    def detach(self):
        return self

    def to(self, where, copy=False):
        if where == self.device and not copy:
            return self
        return Tensor(self._ready().copy(), where)

    def cuda(self):
        return self.to(device("cuda", cuda.current_device()))

    def cpu(self):
        return self.to(_CPU)

    def numpy(self):
        if self.device.type != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use "
                            "Tensor.cpu() to copy the tensor to host memory first.")
        return self.array

    def clone(self):
        return self._of(self._ready().copy())

    def contiguous(self):
        return self._of(np.ascontiguousarray(self._ready()).reshape(self.shape))

    def reshape(self, *shape):
        return self._of(self._ready().reshape(*shape))

    def view(self, kind):
        return self._of(self.array.view(kind))

    def as_strided(self, shape, strides, offset):
        item = self.array.itemsize
        return self._of(np.lib.stride_tricks.as_strided(
            self.array[offset:], shape, [s * item for s in strides]))

    def fill_(self, value):
        self._ready()[...] = value
        return self

    def __ne__(self, other):
        return self._of(self._ready() != other._ready())

    __hash__ = None


def from_numpy(array):
    return Tensor(array, _CPU)


def empty(shape, dtype, device):
    return Tensor(np.empty(shape, dtype), device)


def equal(a, b):
    return np.array_equal(a._ready(), b._ready())
