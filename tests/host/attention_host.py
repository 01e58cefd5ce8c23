#!/usr/bin/env python3
"""Softcap attention behind the wire, from docs/wire.md and Python's standard
library alone. Slow; sums in binary64."""
import array
import json
import math
import mmap
import os
import struct

HELLO = {"type": "hello", "wire": "1.0", "name": "python-attention",
         "ops": ["attention_forward"], "wants": ["mask.dense"],
         "profile": "base = cpu-f32\nname = python\nnan = unspecified\n"}
FORMAT = {"f32": "<f", "bf16": "<H", "u8": "B", "i32": "<i"}

def place(tensor, at):
    return tensor["offset"] + sum(i * s for i, s in zip(at, tensor["strides"]))

def load(memory, tensor, *at):
    value, = struct.unpack_from(FORMAT[tensor["dtype"]], memory, place(tensor, at))
    if tensor["dtype"] != "bf16":
        return value
    return struct.unpack("<f", struct.pack("<I", value << 16))[0]

def store(memory, tensor, value, *at):
    bits = array.array("f", [value]).tobytes()  # of too much it makes infinity
    if tensor["dtype"] == "bf16" and value == value:
        word, = struct.unpack("<I", bits)
        bits = struct.pack("<I", word + 0x7fff + (word >> 16 & 1))
    bits = bits[2:] if tensor["dtype"] == "bf16" else bits
    memory[place(tensor, at):place(tensor, at) + len(bits)] = bits

def visible(call, memory, b, h, i):
    mask = call["inputs"]["mask.dense"]
    return [j for j in range(call["scalars"]["skv"])
            if load(memory, mask, b, h % mask["shape"][1], i, j)]

def row(call, memory, b, h, i):
    s, get = call["scalars"], lambda name, *at: load(memory, call["inputs"][name], *at)
    g, keys = h // (s["hq"] // s["hkv"]), visible(call, memory, b, h, i)
    scale, cap = float.fromhex(s["scale"]), float.fromhex(s["softcap"] or "inf")
    logits = [scale * math.fsum(get("q", b, h, i, c) * get("k", b, g, j, c)
                                for c in range(s["d"])) for j in keys]
    logits = [z if cap == math.inf else cap * math.tanh(z / cap) for z in logits]
    logits += [get("sink", h)] if "sink" in call["inputs"] else []
    top = max(logits, default=0.0)
    weights = [math.exp(z - top) for z in logits]
    o = [sum(w * get("v", b, g, j, c) for w, j in zip(weights, keys)) / (sum(weights) or 1)
         for c in range(s["dv"])]
    return o, top + math.log(sum(weights)) if weights else -math.inf

def attend(call, inside, outside):
    for b, h, i in ((b, h, i) for b in range(call["scalars"]["b"])
                    for h in range(call["scalars"]["hq"]) for i in range(call["scalars"]["sq"])):
        o, lse = row(call, inside, b, h, i)
        store(outside, call["outputs"]["lse"], lse, b, h, i)
        for c, value in enumerate(o):
            store(outside, call["outputs"]["o"], value, b, h, i, c)
    return {"type": "done", "id": call["id"]}

def serve(hello=HELLO, answer=attend):
    r, w, i, o = map(int, os.environ["LOCKSTEP_WIRE"].split(","))
    inside, outside = mmap.mmap(i, 0, prot=mmap.PROT_READ), mmap.mmap(o, 0)
    for line in os.fdopen(r, "rb"):
        message = json.loads(line)
        reply = {"hello": hello, "bye": {"type": "bye"}}.get(message["type"]) or \
            answer(message, inside, outside)
        os.write(w, json.dumps(reply).encode() + b"\n")

if __name__ == "__main__":
    serve()
