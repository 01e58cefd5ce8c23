"""Where the arrays of a kernel's call lie: in memory of the CPU, or on a device."""
import sys
import time

import numpy as np

from lockstep.errors import UsageError, Wrong
from lockstep.frameworks import to_framework, to_numpy


def check_device(device, framework):
    """Raises UsageError for a device of a framework that has none."""
    if device and framework == "numpy":
        raise UsageError(f"device={device!r}: arrays of NumPy lie in memory of the CPU; want "
                         "framework=\"torch\" or framework=\"jax\" (docs/gpu.md)")


def place_of(facts):
    """Where a kernel with these facts has its arrays. Raises UsageError where this
    machine, or the framework, has no such device."""
    if not facts.device:
        return Host(facts.framework)
    if facts.framework == "torch":
        from lockstep.torch_device import TorchDevice
        return TorchDevice(facts.device)
    from lockstep.jax_device import JaxDevice
    return JaxDevice(facts.device)


def parts_of(answer):
    """What a kernel has returned, one by one."""
    return answer if isinstance(answer, (tuple, list)) else (answer,)


class Host:
    """Memory of the CPU. What a kernel returns may lie anywhere."""

    def __init__(self, framework):
        self.framework = framework
        self._before = []  # returned by the call before, kept so that memory is not reused

    def take(self, inputs):
        """Inputs {name: NumPy array} as the kernel gets them."""
        return {name: to_framework(x, self.framework) for name, x in inputs.items()}

    def room(self, outputs):
        """Outputs {name: NumPy array} as a kernel gets them that writes in place."""
        return {name: to_framework(x, self.framework) for name, x in outputs.items()}

    def start(self):
        """The kernel is called next."""
        self._began = time.perf_counter()

    def wait(self, answer, receipt):
        """Waits for what the kernel has launched. A receipt tells that the host did
        so, which is not for the kernel to say (docs/wire.md, `clock`). Returns the
        seconds since start(), and whose they are: "wall" or "device"."""
        waited = False
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        if cuda is not None and cuda.is_initialized():
            cuda.synchronize()
            waited = True
        for part in parts_of(answer):
            if hasattr(part, "block_until_ready"):
                part.block_until_ready()
                waited = True
        receipt.pop("synchronised", None)
        seconds = time.perf_counter() - self._began
        if waited and "seconds" in receipt:
            receipt["synchronised"] = True
        return seconds, "wall"

    def check_inputs(self):
        """Raises Wrong where the kernel has written to them."""

    def fetch(self, name, part):
        """What was returned as `name`, as an array of NumPy."""
        return to_numpy(part)

    def fetch_room(self, outputs):
        """What was written in place, to where the judge looks for it."""

    def check_aliases(self, returned, inputs):
        """Raises Wrong where {name: (part, NumPy array)} lie in the memory of an
        input, or of what the call before has returned."""
        arrays = {name: array for name, (_, array) in returned.items() if array.size}
        for name, array in arrays.items():
            for other, held in inputs.items():
                if np.may_share_memory(array, held):
                    raise Wrong("alias", in_input(name, other))
            for before in self._before:
                if np.may_share_memory(array, before):
                    raise Wrong("alias", in_earlier(name))
        self._before = list(arrays.values())

    def leave(self):
        """The call is over, whatever came of it. Returns the names of the inputs that
        the kernel still holds, as far as that can be seen."""
        return []


def in_input(name, other):
    return f"{name} lies in the memory of the input {other}"


def in_earlier(name):
    return (f"{name} lies in memory that an earlier call returned, which its caller may "
            "still hold")
