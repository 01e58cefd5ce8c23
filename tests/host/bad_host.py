#!/usr/bin/env python3
"""bad_host.py MODE [FILE]: a right kernel in a process that misbehaves."""
import ctypes
import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time

import attention_host as host
from attention_host import HELLO, attend

MODE = sys.argv[1]
CALLS = []  # messages seen so far
SAY = lambda text: os.write(int(os.environ["LOCKSTEP_WIRE"].split(",")[1]), text)


def spawn(double):
    """A child that outlives us; `double`: as an orphan, in its own session."""
    command = "import time; time.sleep(600)"
    if not double:
        subprocess.Popen([sys.executable, "-c", command])
        return
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen([sys.executable, "-c", command])
        os._exit(0)
    os.wait()


def late(call, inside, outside):
    """Writes to o when the judge believes it is done."""
    done = attend(call, inside, outside)
    at = call["outputs"]["o"]["offset"]

    def write():
        time.sleep(0.2)
        outside[at:at + 4] = b"\1\2\3\4"
        with open(sys.argv[2], "w", encoding="utf-8"):
            pass
    threading.Thread(target=write, daemon=True).start()
    return done


def store_at(outside, offset):
    outside[offset:offset + 1] = b"\1"


def last_byte(tensor):
    size = {"f32": 4, "bf16": 2}[tensor["dtype"]]
    return tensor["offset"] + sum((n - 1) * s for n, s in zip(
        tensor["shape"], tensor["strides"])) + size


PREVIOUS = {}


def previous(call, inside, outside):
    """The output of the call before, where that had the same shape."""
    regions = [(t["offset"], last_byte(t)) for t in call["outputs"].values()]
    done = attend(call, inside, outside)
    now = [outside[a:b] for a, b in regions]
    old = PREVIOUS.get("all", now)
    PREVIOUS["all"] = now
    if [len(x) for x in old] == [len(x) for x in now]:
        for (a, b), bytes_ in zip(regions, old):
            outside[a:b] = bytes_
    return done


def answer(call, inside, outside):
    if call["type"] == "reset":
        if MODE == "reset_error":
            return {"type": "error", "id": call["id"], "message": "cannot"}
        return {"type": "done", "id": call["id"], "receipt": {"left": LEFT[MODE]}}
    first = not CALLS
    CALLS.append(call["id"])
    o = call["outputs"]["o"]
    if MODE == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if MODE == "abort":
        os.abort()
    if MODE == "exit_0":
        os._exit(0)
    if MODE == "exit_7":
        print("no device", file=sys.stderr, flush=True)
        os._exit(7)
    if MODE == "exception":
        raise RuntimeError("a kernel's own trouble")
    if MODE == "hang":
        time.sleep(600)
    if MODE == "nothing_written":
        return {"type": "done", "id": call["id"]}
    if MODE == "previous":
        return previous(call, inside, outside)
    if MODE == "late":
        return late(call, inside, outside)
    end = last_byte(o)
    poison = outside[end - 4:end]
    done = attend(call, inside, outside)
    if MODE == "one_unwritten":
        outside[end - 4:end] = poison
    if MODE == "before":
        store_at(outside, o["offset"] - 1)
    if MODE == "behind":
        store_at(outside, end)
    if MODE == "writes_inputs":
        # Their mapping is for reading: this is a fault.
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                              ctypes.c_int, ctypes.c_int, ctypes.c_long]
        inputs = int(os.environ["LOCKSTEP_WIRE"].split(",")[2])
        ctypes.memset(libc.mmap(None, 4096, mmap.PROT_READ, mmap.MAP_SHARED,
                                inputs, 0), 0, 1)
    if MODE == "maps_inputs":
        mmap.mmap(int(os.environ["LOCKSTEP_WIRE"].split(",")[2]), 4096)
    if MODE == "memory":
        CALLS.append(bytearray(b"\1") * (400 << 20))
        time.sleep(600)
    if MODE == "flood":
        for _ in range(1000):
            print("x" * 4096, flush=True)
    if MODE == "orphan" and first:
        spawn(True)
    if MODE == "torn":
        SAY(b'{"type": "done", "id"')
        os._exit(0)
    if MODE == "not_json":
        SAY(b"done\n")
        return None
    if MODE == "long_line":
        SAY(b"x" * (2 << 20) + b"\n")
        return None
    if MODE == "wrong_id":
        return {"type": "done", "id": call["id"] + 1}
    if MODE == "twice":
        SAY(json.dumps(done).encode() + b"\n")
    if MODE == "wrong_type":
        return {"type": "done", "id": call["id"], "receipt": {"seconds": []}}
    if MODE == "fp":
        return {**done, "receipt": {"fp": {"rounding": "nearest", "ftz": True}}}
    if MODE == "lie_seconds":
        return {**done, "receipt": {"seconds": 1000}}
    if MODE == "lie_processor":
        return {**done, "receipt": {"processor_seconds": -1}}
    if MODE == "lie_backend":
        return {**done, "receipt": {"backend": "another"}}
    if MODE == "lie_tiles":
        return {**done, "receipt": {"tile": [4, 4], "tiles_full": 0,
                                    "tiles_partial": 0, "tiles_empty": 0}}
    if MODE == "error":
        return {"type": "error", "id": call["id"], "message": "out of luck"}
    if MODE == "unsupported":
        return {"type": "unsupported", "id": call["id"], "reason": "odd lengths"}
    if MODE == "unsupported_later" and not first:
        return {"type": "unsupported", "id": call["id"], "reason": "once only"}
    if MODE == "closes":
        os.close(int(os.environ["LOCKSTEP_WIRE"].split(",")[1]))
        time.sleep(600)
    return done


LEFT = {"left_threads": {"threads": 2}, "left_children": {"children": 1}}
HELLOS = {
    "scan_only": {"ops": ["mamba3_scan"]},
    "left_threads": {"features": ["reset"]},
    "left_children": {"features": ["reset"]},
    "reset_error": {"features": ["reset"]},
    "version": {"wire": "2.0"},
    "no_name": {"name": ""},
    "no_ops": {"ops": []},
    "alignment": {"alignment": 3},
    "hello_type": {"ops": "attention_forward"},
}

if __name__ == "__main__":
    if MODE == "no_hello":
        sys.exit(0)
    if MODE == "hello_hang":
        time.sleep(600)
    if MODE == "survives_bye":
        host.serve()
        time.sleep(600)
    if MODE == "helper_at_end":
        # It ends because we do, and takes its time.
        host.serve()
        subprocess.Popen(["sh", "-c", "cat; sleep 0.3"], stdin=subprocess.PIPE)
        sys.exit(0)
    if MODE == "orphan_at_end":
        host.serve()
        spawn(True)
        sys.exit(0)
    host.serve({**HELLO, **HELLOS.get(MODE, {})}, answer)
