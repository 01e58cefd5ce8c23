"""Kernels on the stub's GPU: a right one, and one for each way to use a device wrongly."""
import os
import sys

import numpy as np
import torch

import lockstep

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../python/examples"))
import numpy_attention  # noqa: E402

kept = {}


class _Arrays:
    """A call of which the NumPy kernel sees the device's memory."""

    def __init__(self, call):
        self.call, self.inputs = call, {n: x.array for n, x in call.inputs.items()}

    def __getattr__(self, name):
        return self.inputs[name] if name in self.inputs else getattr(self.call, name)

    mask_dense = property(lambda self: self.inputs["mask.dense"])


def launch(outs, q, k, v, call):
    """Computes `outs`, (o, lse), on the current stream."""
    def run():
        o, lse = numpy_attention.attend(q.array, k.array, v.array, call=_Arrays(call))
        outs[0].array[...], outs[1].array[...] = o, lse
    torch.cuda.launch(run)
    return outs


def fresh(q, call):
    return [torch.empty(call.outputs[name][0], torch.float32, q.device) for name in ("o", "lse")]


def on_device(function=None, **facts):
    facts = {"profile": numpy_attention.PROFILE, "wants": ["mask.dense"], "lanes": ["f32"],
             "framework": "torch", "device": "cuda", **facts}
    return lockstep.kernel(function, **facts)


@on_device
def right(q, k, v, *, call):
    assert str(q.device) == str(call.mask_dense.device) == "cuda:0"
    return launch(fresh(q, call), q, k, v, call)


@on_device(device="cuda:1")
def second(q, k, v, *, call):
    assert str(q.device) == "cuda:1"
    return launch(fresh(q, call), q, k, v, call)


@on_device
def in_place(q, k, v, *, call, out):
    launch([out["o"], out["lse"]], q, k, v, call)


@on_device
def breaks_at_seven(q, k, v, *, call):
    def wild():
        raise MemoryError
    if call.sq == 7:
        torch.cuda.launch(wild)
    return launch(fresh(q, call), q, k, v, call)


@on_device
def on_another_stream(q, k, v, *, call):
    with torch.cuda.stream(torch.cuda.Stream()):
        return launch(fresh(q, call), q, k, v, call)


@on_device
def on_a_joined_stream(q, k, v, *, call):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        outs = launch(fresh(q, call), q, k, v, call)
    torch.cuda.current_stream().wait_stream(side)
    return outs


@on_device
def in_place_on_another_stream(q, k, v, *, call, out):
    with torch.cuda.stream(torch.cuda.Stream()):
        launch([out["o"], out["lse"]], q, k, v, call)


@on_device
def keeps_inputs(q, k, v, *, call):
    """K and V of the first call of a shape."""
    k, v = kept.setdefault(tuple(k.shape), (k.cuda(), v.cuda()))
    return launch(fresh(q, call), q, k, v, call)


@on_device
def looks_at_old_inputs(q, k, v, *, call):
    """Right; fails where inputs of the call before are still what they were."""
    before = kept.setdefault("k", k)
    if before is not k and (before.array.view(np.uint8) != 0xFF).any():
        raise ValueError("k of the call before is still there")
    kept["k"] = k
    return launch(fresh(q, call), q, k, v, call)


@on_device
def keeps_copies(q, k, v, *, call):
    k, v = kept.setdefault(tuple(k.shape), (k.clone(), v.clone()))
    return launch(fresh(q, call), q, k, v, call)


@on_device
def on_the_cpu(q, k, v, *, call):
    return [x.cpu() for x in launch(fresh(q, call), q, k, v, call)]


@on_device
def on_the_other_device(q, k, v, *, call):
    return [x.to(torch.device("cuda:1")) for x in launch(fresh(q, call), q, k, v, call)]


@on_device
def of_numpy(q, k, v, *, call):
    return [x.cpu().numpy() for x in launch(fresh(q, call), q, k, v, call)]


@on_device
def writes_inputs(q, k, v, *, call):
    outs = launch(fresh(q, call), q, k, v, call)
    torch.cuda.launch(lambda: k.array.fill(0))
    return outs


@on_device
def returns_an_input(q, k, v, *, call):
    o, lse = launch(fresh(q, call), q, k, v, call)
    return (q if q.shape == o.shape else o), lse


@on_device
def returns_the_same_memory(q, k, v, *, call):
    outs = kept.setdefault((tuple(q.shape), tuple(v.shape)), fresh(q, call))
    return launch(outs, q, k, v, call)


@on_device
def writes_behind(q, k, v, *, call, out):
    launch([out["o"], out["lse"]], q, k, v, call)
    lse = out["lse"].array
    end = np.lib.stride_tricks.as_strided(lse.reshape(-1)[-1:], (2,), (4,))
    torch.cuda.launch(lambda: end.__setitem__(1, 0))


@on_device
def ignores_strides(q, k, v, *, call):
    """Reads k as if its elements lay side by side."""
    dense = np.lib.stride_tricks.as_strided(
        k.array, k.shape, np.cumprod([4, *reversed(k.shape[1:])])[::-1])
    dense = torch.Tensor(dense, k.device)
    return launch(fresh(q, call), q, dense, v, call)


@on_device
def slow(q, k, v, *, call):
    import time
    torch.cuda.launch(lambda: time.sleep(0.05))
    return launch(fresh(q, call), q, k, v, call)
