"""Arrays of JAX on a device, device="gpu". JAX lets nothing write to them."""
import jax

from lockstep.errors import UsageError, Wrong
from lockstep.frameworks import framework_of, to_numpy
from lockstep.places import Host, parts_of


class JaxDevice(Host):
    """One device of a platform of JAX: "gpu", "tpu", "cpu", "gpu:1"."""

    def __init__(self, name):
        super().__init__("jax")
        self.device = _device(name)
        self.name = str(self.device)

    def take(self, inputs):
        return {name: jax.device_put(x.copy(), self.device) for name, x in inputs.items()}

    def wait(self, answer, receipt):
        receipt.setdefault("target", self.device.device_kind)
        return super().wait(answer, receipt)

    def fetch(self, name, part):
        if framework_of(part) != "jax":
            raise Wrong("device", f"{name} is not an array of JAX, want one on {self.name}")
        if part.devices() != {self.device}:
            where = ", ".join(sorted(map(str, part.devices())))
            raise Wrong("device", f"{name} lies on {where}, want {self.name}: with device= "
                        "outputs stay where the inputs are")
        return to_numpy(part)


def _device(name):
    platform, _, number = name.partition(":")
    try:
        index = int(number or 0)
        devices = jax.devices(platform)
    except (RuntimeError, ValueError) as error:
        line = (str(error).splitlines() or [""])[0]
        raise UsageError(f"device={name!r}: JAX {jax.__version__} has no such device here "
                         f"({line})") from None
    if not 0 <= index < len(devices):
        raise UsageError(f"device={name!r}: JAX sees {len(devices)} of them, from "
                         f"{platform}:0 on")
    return devices[index]
