#!/usr/bin/env python3
"""Calls a second of a small NumPy kernel through lockstep.verify, in a process of its own
and in this one: python bench/python_calls.py [CASES], where the package is installed. Of
processor time as well, which other work on the machine changes less."""
import os
import resource
import sys
import time

# One thread: the arrays are too small for two.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

import numpy as np  # noqa: E402

import lockstep  # noqa: E402

PROFILE = """base = cpu-f32
name = small
max = two_pass
splits = 1
masked_nan_safe = no
nan = unspecified
"""


@lockstep.kernel(profile=PROFILE, lanes=["f32"])
def attend(q, k, v, *, call):
    z = np.float32(call.scale) * (q @ k.swapaxes(2, 3))
    top = z.max(-1, keepdims=True)
    p = np.exp(z - top)
    total = p.sum(-1, keepdims=True)
    return (p @ v) / total, (top + np.log(total))[..., 0]


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def alone(calls=10000):
    """Seconds of the kernel without a judge."""
    call = lockstep.Case("attention_forward sq=5 skv=7 d=8").call()
    start = time.perf_counter()
    for _ in range(calls):
        attend(call.q, call.k, call.v, call=call)
    return (time.perf_counter() - start) / calls


def main(cases):
    lines = [f"attention_forward sq=5 skv=7 d=8 seed={n}" for n in range(cases)]
    print(f"the kernel alone: {alone() * 1e6:.1f} us")
    for isolate in (True, False):
        start, before = time.perf_counter(), processor_seconds()
        report = lockstep.verify(attend, lines, isolate=isolate).check()
        calls = sum(case.event["executed"]["runs"] for case in report.cases)
        print(f"isolate={isolate}: {calls} calls, "
              f"{calls / (time.perf_counter() - start):.0f} a second, "
              f"{calls / (processor_seconds() - before):.0f} a second of processor time")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
