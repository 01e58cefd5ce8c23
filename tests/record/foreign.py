"""Kernels of others in the record: those of examples/ and python/examples/, right and with
the bugs that the tests of tests/host/ plant into them.

Named as a candidate is, with a source in place of a shared object, and a bug behind `!`:
"so:examples/attention.c!cap twice", "py:python/examples/numpy_fp8.py:attend".
"""

import os
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/host"))
os.environ.setdefault("LOCKSTEP_SOURCE", ROOT)

import alias_test  # noqa: E402
import examples_test  # noqa: E402
import fp8_test  # noqa: E402
import index_test  # noqa: E402
import kernel_builds  # noqa: E402
import paged_test  # noqa: E402
import varlen_test  # noqa: E402

PROFILE = " --profile from-candidate"
# Its bugs by name: (part of the source, what is in its place, lines).
TABLES = {
    "so:examples/attention.c": examples_test.ATTENTION_BUGS,
    "so:examples/scan.cc": examples_test.SCAN_BUGS,
    "so:examples/paged_attention.c": paged_test.BUGS,
    "so:examples/mla_decode.c": alias_test.BUGS,
    "so:examples/varlen_attention.c": varlen_test.BUGS_IN_C,
    "py:python/examples/numpy_varlen.py:attend": varlen_test.BUGS,
    "py:python/examples/numpy_topk.py:attend": index_test.BUGS,
    "py:python/examples/numpy_fp8.py:attend": fp8_test.BUGS,
    "py:python/examples/numpy_attention.py:attend": {},
}
# What bugs need beside their own text.
HELP = {"py:python/examples/numpy_varlen.py:attend": varlen_test.HELP}


def _parts(kernel):
    name, _, bug = kernel.removesuffix(PROFILE).partition("!")
    return name, bug


def _text(name, bug):
    with open(os.path.join(ROOT, name.split(":")[1]), encoding="utf-8") as file:
        text = file.read()
    right, wrong = TABLES[name][bug][:2]
    if text.count(right) != 1:
        sys.exit(f"{name}: the text of bug '{bug}' stands there {text.count(right)} times")
    return text.replace(right, wrong) + HELP.get(name, "")


def _target(kernel, folder):
    suffix = ".so" if kernel.startswith("so:") else ".py"
    return os.path.join(folder, f"k{zlib.crc32(kernel.encode()):08x}{suffix}")


def build(kernels, folder):
    """Makes those of the kernels that are of others and have to be made."""
    for kernel in kernels:
        name, bug = _parts(kernel)
        if name not in TABLES:
            continue
        target = _target(kernel, folder)
        source = os.path.join(ROOT, name.split(":")[1])
        if name.startswith("py:"):
            if bug:
                with open(target, "w", encoding="utf-8") as file:
                    file.write(_text(name, bug))
            continue
        if bug:
            source = target.removesuffix(".so") + os.path.splitext(source)[1]
            with open(source, "w", encoding="utf-8") as file:
                file.write(_text(name, bug))
        kernel_builds.compile_to(target, source, "-Wno-unused", "-Wno-unused-parameter")


def spec(kernel, folder):
    """The kernel as a program takes it, once it is built."""
    name, bug = _parts(kernel)
    if name not in TABLES or name.startswith("py:") and not bug:
        return kernel
    target = _target(kernel, folder)
    return (f"so:{target}" if name.startswith("so:") else f"py:{target}:attend") + PROFILE
