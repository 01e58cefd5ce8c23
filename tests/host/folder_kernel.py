#!/usr/bin/env python3
"""folder_kernel.py MODE FOLDER: softcap attention in NumPy for cmd-files:, right
or not. Twenty lines of it are all that a kernel needs."""
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import numpy as np  # noqa: E402

import numpy_kernels  # noqa: E402
from program import read_safetensors, write_safetensors  # noqa: E402

TYPES = {"F32": "<f4", "U8": "u1", "I32": "<i4"}


def answer(folder, mode):
    with open(folder + "/call.json", encoding="utf-8") as file:
        call = json.load(file)["scalars"]
    for name in ("scale", "softcap"):
        call[name] = call[name] and float.fromhex(call[name])
    tensors, _ = read_safetensors(folder + "/inputs.safetensors")
    x = {name: np.frombuffer(data, TYPES[kind]).reshape(shape)
         for name, (kind, shape, data) in tensors.items()}
    if mode.endswith("drop_key"):
        x["mask.dense"] = x["mask.dense"].copy()
        x["mask.dense"][..., -1] = 0
    result = numpy_kernels.attention(call, x)
    if mode == "no_lse":
        del result["lse"]
    if mode == "shape":
        result["lse"] = result["lse"][None]
    if mode.startswith("npy"):
        for name, value in result.items():
            np.save(f"{folder}/{name}.npy", value.astype("<f4"))
        return
    write_safetensors(folder + "/outputs.safetensors", {
        name: ("F32", list(value.shape), value.astype("<f4").tobytes())
        for name, value in result.items()})


def main(mode, folder):
    if mode == "exit_7":
        print("no device", file=sys.stderr)
        return 7
    if mode == "unsupported":
        print("odd lengths")
        return 77
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "hang":
        time.sleep(600)
    if mode == "flood":
        print("x" * (2 << 20))
    if mode == "orphan":
        subprocess.Popen(["sleep", "600"], start_new_session=True)
    if mode != "no_answer":
        answer(folder, mode)
    if mode == "torn":
        os.truncate(folder + "/outputs.safetensors", 40)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
