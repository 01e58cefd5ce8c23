#!/usr/bin/env python3
"""The bf16 dot instruction is in one object of the library only.

Every other kernel has to run where AVX-512 is but not this instruction. Usage:
native_dot_code_test.py OBJECT... Exit 77: no objdump, or not x86-64.
"""
import os
import re
import shutil
import subprocess
import sys

DOT = re.compile(r"^\s+[0-9a-f]+:\s+vdpbf16ps\b", re.MULTILINE)
HOME = "attention_native_dot.cc.o"


def complaints(with_dot):
    """What is wrong with these objects that have the instruction."""
    found = [f"{name} has vdpbf16ps" for name in sorted(with_dot) if name != HOME]
    return found if HOME in with_dot else [*found, f"{HOME} has no vdpbf16ps"]


def main(objects):
    assert DOT.search("  10:\tvdpbf16ps %zmm1,%zmm2,%zmm3\n")
    assert not complaints({HOME}) and complaints(set()) and complaints({HOME, "other.o"})
    with open(objects[0], "rb") as file:
        x86 = file.read(20)[18:20] == b"\x3e\x00"  # e_machine
    if not x86 or not shutil.which("objdump"):
        return 77
    with_dot = set()
    for path in objects:
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], check=True,
                              capture_output=True, text=True).stdout
        if DOT.search(text):
            with_dot.add(os.path.basename(path))
    wrong = complaints(with_dot)
    print("\n".join(wrong) or f"{len(objects)} objects, one with vdpbf16ps")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
