"""The host of Python kernels: the other side of the wire (docs/wire.md).

    python3 -m lockstep.host MODULE:FUNCTION [NAME=VALUE]...
"""
import ctypes
import json
import mmap
import os
import sys
import traceback

import numpy as np

from lockstep.call import Call, refuse_others, refuse_untold
from lockstep.errors import LockstepError, Unsupported, Wrong
from lockstep.frameworks import LANES, dtype_of, name_of, to_numpy
from lockstep.kernels import Signature, facts_of, load
from lockstep.places import parts_of, place_of

ARGUMENTS = {"attention_forward": ("q", "k", "v"),
             "attention_backward": ("q", "k", "v", "o", "lse", "do"),
             "attention_merge": ("o_parts", "lse_parts"), "mamba3_scan": ("q", "k", "v"),
             "mamba3_step": ("q", "k", "v"), "mamba3_scan_backward": ("q", "k", "v", "dy"), "ssd_scan": ("q", "k", "v"),
             "block_plan": ("mask",)}
# Python names the flag since 3.13; Linux has this number on the machines of the wheels.
NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def mapped(descriptor, prot):
    """Shared memory, mapped whole. If tensors have large gaps, the mapping exceeds the machine's
    memory, so no memory is reserved for pages that a call does not touch."""
    return mmap.mmap(descriptor, 0, flags=mmap.MAP_SHARED | NO_RESERVE, prot=prot)


def arguments_of(call):
    """The tensors that a kernel of the op has as arguments; pools where keys lie in pages."""
    return [call.inputs[name if name in call.inputs else name + "_pages"]
            for name in ARGUMENTS[call.op]]


# Smallest normal number and the smallest of all: products with them show whether
# the processor flushes results, or arguments, that are subnormal.
_NORMAL, _SUBNORMAL, _HALF, _ONE = sys.float_info.min, 5e-324, 0.5, 1.0
_LIBM = ctypes.CDLL(None)


def _floating_point():
    """What the kernel left of the state that all arithmetic rests on."""
    changed = []
    if _LIBM.fegetround() != 0:
        changed.append("the rounding mode is not to nearest")
    if _NORMAL * _HALF == 0:
        changed.append("subnormal results are flushed (FTZ)")
    elif _SUBNORMAL * _ONE == 0:
        changed.append("subnormal arguments are flushed (DAZ)")
    return ", ".join(changed)


# json.loads and json.dumps look at their options in every call.
_READ = json.JSONDecoder().decode
_WRITE = json.JSONEncoder(ensure_ascii=False).encode

# Ops whose first output may be all that a kernel has.
_FIRST_ALONE = ("attention_forward", "attention_merge", "mamba3_scan", "ssd_scan")
# What an exception of these leaves behind is Python's own. Others may come from a
# device or a library whose state is lost: after an illegal access every later call of a
# CUDA context fails.
_HARMLESS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError,
             NotImplementedError, TypeError, ValueError)


class Runner:
    """One kernel with its facts: arrays in, arrays out."""

    restarts = True  # after an exception another process takes its place

    def __init__(self, function, facts):
        if facts.layout:
            from lockstep import scans, strangers
            room = scans if facts.op == ("ssd_scan",) else strangers
            function = room.adapted(function, facts)
        self.function, self.facts = function, facts
        self.signature = Signature.of(function)
        self.place = place_of(facts)
        self._whole = False  # it has answered with every output

    def hello(self):
        name = self.facts.name or getattr(self.function, "__name__", "kernel")
        return {"type": "hello", "wire": "1.0", "name": name,
                "version": self.facts.version, "ops": list(self.facts.op),
                "profile": _profile_text(self.facts.profile), "wants": list(self.facts.wants),
                "lacks": list(self.facts.lacks),
                "lanes": list(self.facts.lanes or LANES),
                "features": [*(self.facts.features or ()), *_told(self.facts), *self.facts.lanes],
                **({"splits": list(self.facts.splits)} if self.facts.splits else {}),
                **({"alignment": self.facts.alignment} if self.facts.alignment else {})}

    def run(self, message, inputs, outputs):
        """Calls the kernel; `outputs`: {name: array to be written}, or None where
        the answer is tables, which are returned. Returns them and a receipt."""
        shapes = {name: (x.shape, name_of(x.dtype)) for name, x in (outputs or {}).items()}
        if self.facts.features is not None and not self.facts.layout:
            refuse_others(Call(message, inputs, shapes), self.facts.features, outputs)
        try:
            tables, receipt = self._run(message, inputs, outputs, shapes)
        finally:
            kept = self.place.leave()
        if kept:
            receipt["kept"] = ", ".join(kept)
        return tables, receipt

    def _run(self, message, inputs, outputs, shapes):
        place = self.place
        call = Call(message, place.take(inputs), shapes)
        words = {"call": call} if self.signature.call else {}
        if not words:
            refuse_untold(Call(message, inputs, shapes), self.hello()["name"],
                          self.facts.features, ARGUMENTS[call.op])
        in_place = self.signature.out and outputs is not None
        if in_place:
            words["out"] = place.room(outputs)
        arguments = arguments_of(call)
        place.start()
        answer = self.function(*arguments, **words)
        place.wait(answer, call.receipt)
        place.check_inputs()
        if outputs is None:
            return _tables(answer), call.receipt
        if in_place:
            place.fetch_room(outputs)
        else:
            self._take(message, answer, inputs, outputs)
        return None, call.receipt

    def _take(self, message, answer, inputs, outputs):
        """Copies what was returned to where it belongs."""
        op = message["op"]
        if answer is None:
            raise Wrong("outputs", "returned None, want " + ", ".join(outputs)
                        + "; a kernel with a parameter `out` writes into it")
        parts = parts_of(answer)
        if len(parts) != len(outputs):
            alone = len(parts) == 1 and op in _FIRST_ALONE and not self._whole
            raise Wrong("outputs", f"returned {len(parts)} arrays, want "
                        f"{len(outputs)}: {', '.join(outputs)}; what it does not "
                        "have it names with lacks=[...]", list(outputs)[1:] if alone else ())
        self._whole = self._whole or len(outputs) > 1
        returned = {}
        for (name, place), part in zip(outputs.items(), parts):
            array = self.place.fetch(name, part)
            if array.shape != place.shape:
                raise Wrong("shape", f"{name} has the shape {list(array.shape)}, "
                            f"want {list(place.shape)}")
            if array.dtype != place.dtype:
                raise Wrong("dtype", f"{name} has the type {array.dtype}, "
                            f"want {place.dtype}")
            returned[name] = (part, array)
        self.place.check_aliases(returned, inputs)
        for name, (_, array) in returned.items():
            there = _tokens_of(message, name, inputs)
            outputs[name][there] = array[there]


def _tokens_of(message, name, inputs):
    """The part of an output that the kernel computes. In a ragged batch, what it
    returns behind the last row is ignored."""
    if not message.get("scalars", {}).get("varlen"):
        return ...
    if name == "dsink":
        return ...
    table = "cu_seqlens_k" if name in ("dk", "dv") else "cu_seqlens_q"
    own = slice(int(inputs[table][-1]))
    return (slice(None), own) if name in ("lse", "own_lse") else own


def _told(facts):
    """Features that a stranger's parameters tell."""
    return [word.partition(":")[0] for word in facts.tells]


def _profile_text(profile):
    """A text on one line, as --profile takes it, has ';' for the ends of its lines."""
    if "=" not in profile or "\n" in profile:
        return profile
    return profile.replace(";", "\n") + "\n"


def _tables(answer):
    if not isinstance(answer, dict):
        raise Wrong("tables", "returned " + type(answer).__name__
                    + ", want {name: integer array}")
    tables = {}
    for name, table in answer.items():
        array = np.ascontiguousarray(to_numpy(table))
        array = array.astype(np.uint8) if array.dtype == bool else array
        if name_of(array.dtype) in (None, *LANES):
            raise Wrong("tables", f"table {name} has the type {array.dtype}, want "
                        "i8, u8, i16, i32 or i64")
        tables[name] = array
    return tables


class Wire:
    """Serves one kernel on the four descriptors until the judge says bye."""

    def __init__(self, runner, descriptors):
        self.runner = runner
        read, write, inside, outside = descriptors
        self.lines = os.fdopen(read, "rb")
        self.write = write
        self.inside = mapped(inside, mmap.PROT_READ)
        self.outside = mapped(outside, mmap.PROT_READ | mmap.PROT_WRITE)

        self.descriptors = (inside, outside)

    def close(self):
        """Lets go of the descriptors. The memory stays mapped as long as a kernel
        keeps arrays in it."""
        self.lines.close()
        for descriptor in (self.write, *self.descriptors):
            os.close(descriptor)

    def serve(self, before_call=None):
        """True: the judge said bye. `before_call` is told each call's case."""
        for line in self.lines:
            message = _READ(line.decode())
            kind = message["type"]
            if kind == "call" and before_call:
                before_call(message.get("case", ""))
            try:
                self._send(self._answer(kind, message))
            except BrokenPipeError:
                return False
            if kind == "bye":
                return True
        return False

    def _send(self, reply):
        # Half of a surrogate pair is no UTF-8, wherever it came from.
        text = _WRITE(reply).encode(errors="replace") + b"\n"
        while text:
            text = text[os.write(self.write, text):]

    def _answer(self, kind, message):
        if kind == "hello":
            return self.runner.hello()
        if kind == "bye":
            return {"type": "bye"}
        if kind != "call":
            return {"type": "error", "id": message.get("id", 0), "kind": "error",
                    "message": f"no message of the type {kind!r} is known here"}
        return {"id": message["id"], **self._call(message)}

    def _view(self, tensor):
        memory = self.inside if tensor["file"] == "in" else self.outside
        return np.ndarray(tensor["shape"], dtype_of(tensor["dtype"]), memory,
                          tensor["offset"], tensor["strides"])

    def _call(self, message):
        try:
            inputs = {n: self._view(t) for n, t in message["inputs"].items()}
            places = message.get("outputs")
            outputs = {n: self._view(t) for n, t in places.items()} if places else None
            tables, receipt = self.runner.run(message, inputs, outputs)
            reply = {"type": "done", "receipt": receipt}
            if tables is not None:
                reply["tables"] = self._place(tables, message["tables"])
        except Unsupported as why:
            return {"type": "unsupported", "reason": _one_line(why)}
        except Wrong as wrong:
            return {"type": "error", "kind": wrong.kind, "message": str(wrong),
                    **({"lacks": wrong.lacks} if wrong.lacks else {})}
        except (Exception, SystemExit) as error:  # a broken kernel is a verdict
            lost = self.runner.restarts and not isinstance(error, _HARMLESS)
            return {"type": "error", "kind": "exception", "message": _where(error),
                    **({"fatal": True} if lost else {})}
        changed = _floating_point()
        if changed:
            return {"type": "error", "kind": "fp", "message": changed, "fatal": True}
        return reply

    def _place(self, tables, room):
        """Tables one behind the other in the room for them."""
        at, end, placed = room["offset"], room["offset"] + room["bytes"], {}
        for name, array in tables.items():
            at = -(-at // 8) * 8
            if at + array.nbytes > end:
                raise Wrong("tables", f"they take more than {room['bytes']} bytes")
            np.ndarray(array.shape, array.dtype, self.outside, at)[...] = array
            placed[name] = {"offset": at, "dtype": name_of(array.dtype),
                            "shape": list(array.shape)}
            at += array.nbytes
        return placed


def _one_line(error):
    text = str(error).encode(errors="backslashreplace").decode()
    return " ".join(text.split()) or type(error).__name__


def _where(error):
    """The exception and the line of the kernel that it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = os.path.dirname(os.path.abspath(__file__))
    place = next((f for f in reversed(frames)
                  if os.path.dirname(os.path.abspath(f.filename)) != own), None)
    at = f" ({os.path.basename(place.filename)}:{place.lineno})" if place else ""
    return f"{type(error).__name__}: {_one_line(error)}{at}"[:2000]


def main(words):
    try:
        if not words:
            raise LockstepError("want MODULE:FUNCTION or FILE.py:FUNCTION")
        descriptors = [int(n) for n in os.environ.get("LOCKSTEP_WIRE", "").split(",") if n]
        if len(descriptors) != 4:
            raise LockstepError("LOCKSTEP_WIRE names no four descriptors: the judge "
                                "starts hosts (lockstep verify --candidate py:...)")
        function = load(words[0])
        given = dict(word.partition("=")[::2] for word in words[1:])
        runner = Runner(function, facts_of(function).changed(**given))
    except LockstepError as error:
        # The judge shows the last line that a host printed.
        print(f"lockstep.host: {error}", file=sys.stderr)
        return 2
    Wire(runner, descriptors).serve()
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Without taking thousands of modules of a framework to pieces, which may last
    # longer than the judge waits.
    os._exit(code)
