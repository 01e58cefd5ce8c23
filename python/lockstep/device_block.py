"""Arrays of one call in one piece of a device's memory: one copy there, one back."""
import ctypes

import numpy as np

from lockstep.errors import Unsupported

_ALIGNMENT = 256  # of what a device allocates, bytes
RED = 0xA5        # what a red zone holds
_LARGEST_GAPS = 1 << 30  # of one array, bytes: they take no memory on the CPU


def _bytes_of(array):
    """The memory of an array from its first element to its last, gaps too."""
    address = array.__array_interface__["data"][0]
    memory = (ctypes.c_uint8 * _span_of(array)).from_address(address)
    return np.frombuffer(memory, np.uint8)


def _span_of(array):
    if not array.size:
        return 0
    return array.itemsize + sum((n - 1) * s for n, s in zip(array.shape, array.strides))


class Block:
    """NumPy arrays with their strides, gaps and alignments, and with `zone` bytes of
    red zone before, between and behind them.

    places  {name: (begin, end)} in bytes of the block
    bytes   its size
    """

    def __init__(self, arrays, zone=0):
        self.arrays, self.places, end = arrays, {}, 0
        for name, array in arrays.items():
            if _span_of(array) - array.nbytes > _LARGEST_GAPS:
                raise Unsupported(f"{name} reaches over {_span_of(array) >> 30} GiB, nearly all of it "
                                  "gaps, which a device would have to hold")
            address = array.__array_interface__["data"][0]
            begin = _rounded_up(end + zone) + address % _ALIGNMENT
            end = begin + _span_of(array)
            self.places[name] = (begin, end)
        self.bytes = _rounded_up(max(end + zone, 1))

    def staged(self):
        """Its contents, bytes in memory of the CPU."""
        staged = np.full(self.bytes, RED, np.uint8)
        for name, array in self.arrays.items():
            begin, end = self.places[name]
            staged[begin:end] = _bytes_of(array)
        return staged

    def take_back(self, contents):
        """The arrays are what the block's contents say."""
        for name, array in self.arrays.items():
            begin, end = self.places[name]
            _bytes_of(array)[...] = contents[begin:end]

    def nearest(self, byte):
        """The name of the array that lies nearest."""
        return min(self.places, key=lambda name: max(self.places[name][0] - byte,
                                                     byte + 1 - self.places[name][1]))

    def trespass(self, contents):
        """(name, "before" or "behind") of a changed byte in a red zone, or None."""
        red = contents == RED
        for begin, end in self.places.values():
            red[begin:end] = True
        changed = np.flatnonzero(~red)
        if not changed.size:
            return None
        byte = int(changed[0])
        name = self.nearest(byte)
        return name, "before" if byte < self.places[name][0] else "behind"


def _rounded_up(count):
    return -(-count // _ALIGNMENT) * _ALIGNMENT
