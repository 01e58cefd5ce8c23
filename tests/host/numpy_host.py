#!/usr/bin/env python3
"""The attention of numpy_kernels.py behind the wire:  numpy_host.py [BUG]"""
import json
import mmap
import os
import sys

import numpy as np

import numpy_kernels

HELLO = {"type": "hello", "wire": "1.0", "name": "numpy-attention",
         "ops": ["attention_forward"], "wants": ["mask.dense"],
         "lanes": ["f32", "bf16", "f16"]}
TYPES = {"f32": "<f4", "f16": "<f2", "bf16": "<u2", "u8": "u1", "i32": "<i4"}
REALS = ("scale", "softcap", "norm_epsilon")


def view(memory, tensor):
    return np.ndarray(tensor["shape"], TYPES[tensor["dtype"]], memory,
                      tensor["offset"], tensor["strides"])


def load(memory, tensor):
    x = view(memory, tensor)
    if tensor["dtype"] == "bf16":
        return (x.astype("<u4") << 16).view("<f4")
    return x.astype(bool) if tensor["dtype"] == "u8" else x.copy()


def store(memory, tensor, values):
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(values, "<f4")
        if tensor["dtype"] == "f16":
            values = values.astype("<f2")
    if tensor["dtype"] == "bf16":
        bits = values.view("<u4")
        bits = (bits + np.uint32(0x7fff) + (bits >> 16 & 1)) >> 16
        values = np.where(np.isnan(values), 0x7fc0, bits).astype("<u2")
    view(memory, tensor)[...] = values


def answer(message, inside, outside):
    call = {**message, **message["scalars"]}
    call.update((n, float.fromhex(call[n])) for n in REALS
                if isinstance(call.get(n), str))
    x = {name: load(inside, tensor) for name, tensor in message["inputs"].items()}
    if "drop_key" in sys.argv:
        x["mask.dense"][..., -1] = False
    made = numpy_kernels.KERNELS[message["op"]](call, x)
    for name, tensor in message["outputs"].items():
        store(outside, tensor, made[name])
    return {"type": "done", "id": message["id"]}


def serve():
    r, w, i, o = map(int, os.environ["LOCKSTEP_WIRE"].split(","))
    inside, outside = mmap.mmap(i, 0, prot=mmap.PROT_READ), mmap.mmap(o, 0)
    for line in os.fdopen(r, "rb"):
        message = json.loads(line)
        kind = message["type"]
        reply = {"hello": HELLO, "bye": {"type": "bye"}}.get(kind)
        reply = reply or answer(message, inside, outside)
        os.write(w, json.dumps(reply).encode() + b"\n")
        if kind == "bye":
            return


if __name__ == "__main__":
    serve()
