"""Arrays of torch on a device, device="cuda".

A call finds its inputs there with the strides and alignments of the judge's own. They
are gone when it returns, as everywhere (docs/wire.md): what a kernel keeps of them is
overwritten. What it returns stays on the device until the host fetches it.
"""
import gc
import weakref

import torch

from lockstep.device_block import Block
from lockstep.errors import UsageError, Wrong
from lockstep.frameworks import framework_of, name_of, to_numpy
from lockstep.places import Host, in_earlier, in_input, parts_of

_RED_ZONE = 4096  # on each side of an output that is written in place, bytes
_GONE = 0xFF      # the bytes of inputs after a call: NaN, or -1
_TYPES = {"f32": "float32", "bf16": "bfloat16", "f16": "float16", "u8": "uint8", "i8": "int8",
          "i16": "int16", "i32": "int32", "i64": "int64",
          "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}


class TorchDevice(Host):
    """One CUDA device, or the CPU, where everything but its streams can be tried."""

    def __init__(self, name):
        super().__init__("torch")
        self.device = _device(name)
        self.name = str(self.device)
        self.cuda = torch.cuda if self.device.type == "cuda" else None
        self._inputs = self._outputs = None
        self._handed = {}

    def take(self, inputs):
        self._inputs = _Memory(Block(inputs), self.device)
        self._pristine = self._inputs.memory.clone()
        self._outputs = None
        tensors = self._inputs.tensors()
        self._handed = {name: weakref.ref(tensor) for name, tensor in tensors.items()}
        return tensors

    def room(self, outputs):
        self._outputs = _Memory(Block(outputs, _RED_ZONE), self.device)
        return self._outputs.tensors()

    def start(self):
        super().start()
        if self.cuda:
            self.cuda.synchronize()
            self._begin, self._end = (self.cuda.Event(enable_timing=True) for _ in range(2))
            self._begin.record()

    def wait(self, answer, receipt):
        receipt.pop("synchronised", None)
        if not self.cuda:
            return super().wait(answer, receipt)
        try:
            self._end.record()
            # What work on the stream of the call would find there.
            found = [(name, tensor, tensor.contiguous().clone())
                     for name, tensor in self._written(answer)]
            self.cuda.synchronize()
        except RuntimeError as error:
            raise RuntimeError(f"{_first_line(error)}, seen when the host waited for "
                               f"{self.name}") from error
        for name, tensor, early in found:
            if not _same(early, tensor.contiguous()):
                raise Wrong("stream", f"{name} was not ready on the stream of the call: work "
                            "on another stream was not waited for")
        seconds = self._begin.elapsed_time(self._end) / 1e3
        if "seconds" not in receipt:
            receipt.update(seconds=seconds, clock="device")
        receipt["synchronised"] = True
        receipt.setdefault("target", self.cuda.get_device_name(self.device))
        return seconds, "device"

    def _written(self, answer):
        if self._outputs:
            yield from self._outputs.tensors().items()
            return
        for n, part in enumerate(parts_of(answer)):
            if framework_of(part) == "torch" and part.device == self.device:
                yield f"output {n}", part.detach()

    def check_inputs(self):
        if _same(self._inputs.memory, self._pristine):
            return
        changed = (self._inputs.memory != self._pristine).cpu().numpy().argmax()
        raise Wrong("inputs", f"wrote into its input {self._inputs.block.nearest(changed)}")

    def fetch(self, name, part):
        if framework_of(part) != "torch":
            raise Wrong("device", f"{name} is not a tensor of torch, want one on {self.name}")
        if part.device != self.device:
            raise Wrong("device", f"{name} lies on {part.device}, want {self.name}: with "
                        "device= outputs stay where the inputs are")
        return to_numpy(part)

    def fetch_room(self, outputs):
        contents = self._outputs.memory.cpu().numpy()
        trespass = self._outputs.block.trespass(contents)
        if trespass:
            raise Wrong("outside", f"wrote outside of {trespass[0]}, {trespass[1]} it")
        self._outputs.block.take_back(contents)

    def check_aliases(self, returned, inputs):
        base = self._inputs.memory.data_ptr()
        now = []
        for name, (part, _) in returned.items():
            if not part.numel():
                continue
            begin, end = _extent(part)
            if begin < base + self._inputs.block.bytes and end > base:
                raise Wrong("alias", in_input(name, self._inputs.block.nearest(begin - base)))
            if any(begin < stop and end > start for start, stop, _ in self._before):
                raise Wrong("alias", in_earlier(name))
            now.append((begin, end, part))
        self._before = now

    def leave(self):
        if self._inputs:
            try:
                self._inputs.memory.fill_(_GONE)
            except RuntimeError:
                pass  # the device is lost, and this process with it
        self._inputs = self._outputs = self._pristine = None
        if self._alive():
            gc.collect()
        return self._alive()

    def _alive(self):
        return [name for name, tensor in self._handed.items() if tensor() is not None]


class _Memory:
    """A block as it lies on the device."""

    def __init__(self, block, device):
        self.block, self.device = block, device
        self.memory = torch.from_numpy(block.staged()).to(device, copy=True)

    def tensors(self):
        return {name: self._tensor(name, array) for name, array in self.block.arrays.items()}

    def _tensor(self, name, array):
        kind = getattr(torch, _TYPES[name_of(array.dtype)])
        if not array.size:
            return torch.empty(array.shape, dtype=kind, device=self.device)
        return self.memory.view(kind).as_strided(
            array.shape, [stride // array.itemsize for stride in array.strides],
            self.block.places[name][0] // array.itemsize)


def _device(name):
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"device={name!r}: {_first_line(error)}") from None
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type != "cuda":
        raise UsageError(f"device={name!r}: of torch's devices the host knows \"cuda\", "
                         "\"cuda:N\" and \"cpu\"")
    if not torch.cuda.is_available():
        built = torch.version.cuda or getattr(torch.version, "hip", None)
        raise UsageError(f"device={name!r}: torch {torch.__version__} "
                         + ("sees no GPU here" if built else "was built without CUDA"))
    index = torch.cuda.current_device() if device.index is None else device.index
    if index >= torch.cuda.device_count():
        raise UsageError(f"device={name!r}: torch sees {torch.cuda.device_count()} GPUs, "
                         "from cuda:0 on")
    torch.cuda.set_device(index)
    return torch.device("cuda", index)


def _first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0]


def _same(a, b):
    """Bit for bit."""
    return torch.equal(*(x.reshape(-1).view(torch.uint8) for x in (a, b)))


def _extent(tensor):
    begin = tensor.data_ptr()
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    return begin, begin + (last + 1) * tensor.element_size()
