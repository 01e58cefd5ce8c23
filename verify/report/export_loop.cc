#include "verify/report/export_loop.h"

namespace lockstep::verify {

const char* const kLoopText =
    R"py("""Has a kernel answer the calls beside this file, written by `lockstep export`.

    import sys
    sys.path.insert(0, "DIR")   # the folder of this file
    import lockstep_calls

    def kernel(call, x):        # call["op"], call["scale"], ...; x["q"], ...
        return {"o": o, "lse": lse}     # None: not supported

    lockstep_calls.run(kernel)  # or library="torch", library="jax"

Then: lockstep verify CASES --candidate files:DIR --profile PROFILE

Inputs are arrays by name: of NumPy, where bfloat16 is widened to float32, or
tensors of the library, which has a bfloat16. float16 is float16. Masks are of type bool. Outputs are
rounded to what the call asks for. Names, shapes and scalars: docs/wire.md.
"""
import json
import os
import struct
import traceback

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "U8": "u1", "I8": "i1", "I16": "<i2",
         "I32": "<i4", "I64": "<i8", "F8_E4M3": "u1", "F8_E5M2": "u1"}
FP8 = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}  # NumPy has the bytes alone
REALS = ("scale", "softcap", "norm_epsilon")


def load(path):
    """Arrays by name, and the types of those that NumPy has no type for."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header, body = json.loads(data[8:8 + length]), memoryview(data)[8 + length:]
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        x = np.frombuffer(body[begin:end], TYPES[entry["dtype"]])
        x = x.reshape(entry["shape"])
        if entry["dtype"] == "BF16":
            x = (x.astype("<u4") << 16).view("<f4")
        arrays[name] = x.astype(bool) if entry["dtype"] == "U8" else x.copy()
    return arrays, {n: e["dtype"] for n, e in header.items()
                    if e["dtype"] == "BF16" or e["dtype"] in FP8}


def as_stored(x, dtype):
    """Type in the file, and the bits: bfloat16 is rounded to nearest even."""
    x = np.asarray(x)
    if dtype is None:  # tables: integers as they are
        x = x.astype("u1") if x.dtype == bool else x
        return x.dtype.name.upper().replace("NT", "").replace("UI", "U"), x
    with np.errstate(over="ignore", invalid="ignore"):
        x = x.astype("<f4")
    if dtype == "f32":
        return "F32", x
    if dtype == "f16":
        with np.errstate(over="ignore", invalid="ignore"):
            return "F16", np.where(np.isnan(x), np.float16("nan"), x.astype("<f2"))
    bits = x.view("<u4")
    bits = (bits + np.uint32(0x7fff) + (bits >> 16 & 1)) >> 16
    return "BF16", np.where(np.isnan(x), 0x7fc0, bits).astype("<u2")


def save(path, outputs, metadata):
    """Writes (type, bits) by name; the file gets its name when it is whole."""
    header, parts, at = {"__metadata__": metadata}, [], 0
    for name, (dtype, bits) in outputs.items():
        parts.append(np.ascontiguousarray(bits).tobytes())
        header[name] = {"dtype": dtype, "shape": list(bits.shape),
                        "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    text = json.dumps(header).encode()
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))
    os.replace(path + ".part", path)


def library_of(name):
    """How arrays of NumPy become those of the library, and back."""
    if name == "torch":
        import torch

        def there(x, narrow):
            x = torch.from_numpy(x)
            if narrow in FP8:
                return x.view(getattr(torch, FP8[narrow]))
            return x.bfloat16() if narrow else x

        def back(x):
            x = torch.as_tensor(x).detach().cpu()
            return (x.double() if x.is_floating_point() else x).numpy()
    elif name == "jax":
        import jax
        import jax.numpy as jnp

        def there(x, narrow):
            if narrow in FP8:
                return jax.lax.bitcast_convert_type(jnp.asarray(x), getattr(jnp, FP8[narrow]))
            return jnp.asarray(x, jnp.bfloat16 if narrow else x.dtype)

        def back(x):
            floats = jnp.issubdtype(x.dtype, jnp.floating)
            return np.asarray(x.astype(jnp.float32) if floats else x)
    else:
        def there(x, narrow):
            return x
        back = np.asarray
    return there, back


def read_call(folder, number):
    """What is asked, scalars among the other fields, and the inputs."""
    place = os.path.join(folder, "calls", str(number))
    with open(os.path.join(place, "call.json"), encoding="utf-8") as file:
        call = json.load(file)
    call.update(call.pop("scalars"))
    for name in REALS:
        if isinstance(call.get(name), str):
            call[name] = float.fromhex(call[name])
    x, narrow = load(os.path.join(place, "inputs.safetensors"))
    if "after" in call:  # goes on from what the kernel left in another call
        before = os.path.join(folder, "calls", str(call["after"]["call"]))
        left, _ = load(os.path.join(before, "outputs.safetensors"))
        x.update((i, left[o]) for i, o in call["after"]["inputs"].items())
    return place, call, x, narrow


def answer(kernel, folder, number, library="numpy"):
    """One call; its answer, or the lack of one, is in calls/NUMBER."""
    there, back = library_of(library)
    place, call, x, narrow = read_call(folder, number)
    path = os.path.join(place, "outputs.safetensors")
    refused = os.path.join(place, "unsupported.txt")
    for old in (path, refused):
        if os.path.exists(old):
            os.remove(old)
    made = kernel(call, {n: there(a, narrow.get(n)) for n, a in x.items()})
    if made is None:
        with open(refused, "w", encoding="utf-8") as file:
            file.write("the kernel says so")
        return
    asked = call.get("outputs") or {}
    save(path, {n: as_stored(back(a), asked[n]["dtype"] if n in asked else None)
                for n, a in made.items()}, {"digest": call["digest"]})


def run(kernel, folder=HERE, library="numpy"):
    """All calls, in order. A call that raises has no answer; the others go on."""
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        numbers = [entry["call"] for entry in json.load(file)["calls"]]
    failed = []
    for number in numbers:
        try:
            answer(kernel, folder, number, library)
        except Exception:
            traceback.print_exc()
            failed.append(number)
    print(f"{len(numbers) - len(failed)} of {len(numbers)} calls answered")
    if failed:
        raise SystemExit(f"calls {failed} have no answer")
)py";

}  // namespace lockstep::verify
