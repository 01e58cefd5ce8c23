#!/usr/bin/env python3
"""No function that files share is compiled for more than the baseline CPU.

Some files, and parts of files, are compiled for AVX2 or AVX-512. If such a file also
holds a copy of an inline function or a template that others use, the linker may
keep that copy for all, and the program ends on an older CPU. So each weak function of
the program that has instructions of AVX must carry a target in its name. Usage:
baseline_code_test.py PROGRAM. Exit 77: no objdump or nm, or not x86-64.
"""
import re
import shutil
import subprocess
import sys

# Targets of Highway and of xsimd. WithFma's copies are not weak symbols.
TARGET = re.compile(r"N_AVX|5xsimd")
# VEX and EVEX mnemonics begin with a v; of x86's others these two do.
AVX = re.compile(r"^\s+[0-9a-f]+:\s+v(?!err|erw|mcall|mmcall|mload|mrun|msave)[a-z]|%[yz]mm")
SYMBOL = re.compile(r"^[0-9a-f]+ <(.+)>:$")


def weak_functions(text):
    """Names of weak symbols, of what nm prints."""
    rows = (line.split() for line in text.splitlines())
    return {row[2] for row in rows if len(row) == 3 and row[1] in "WVu"}


def shared_above_baseline(lines, weak):
    """Weak functions with AVX whose names tell no target, of a disassembly."""
    found, name = {}, None
    for line in lines:
        start = SYMBOL.match(line)
        if start:
            name = start.group(1)
            if name not in weak or TARGET.search(name):
                name = None
        elif name and AVX.search(line):
            found.setdefault(name, line.strip())
    return found


def self_test():
    """What is planted is found, and what is named after its target is not."""
    planted = ["1 <_ZSt3maxIfE>:", "   1:\tvaddps %ymm0,%ymm1,%ymm2", "2 <_ZN6N_AVX21fEv>:",
               "   2:\tvaddps %ymm0,%ymm1,%ymm2", "3 <local>:", "   3:\tvzeroupper",
               "4 <_Z5plainv>:", "   4:\taddps %xmm0,%xmm1", "   5:\tverr %ax"]
    weak = weak_functions("01 W _ZSt3maxIfE\n02 W _ZN6N_AVX21fEv\n03 t local\n04 W _Z5plainv\n")
    assert list(shared_above_baseline(planted, weak)) == ["_ZSt3maxIfE"]


def main(program):
    self_test()
    if not shutil.which("objdump") or not shutil.which("nm"):
        return 77
    with open(program, "rb") as file:
        header = file.read(20)
    if header[18:20] != b"\x3e\x00":  # e_machine of x86-64
        return 77
    names = subprocess.run(["nm", "--defined-only", program], check=True, capture_output=True,
                           text=True).stdout
    weak = weak_functions(names)
    if len(weak) < 100:
        print(f"{program} has {len(weak)} weak symbols: it is stripped")
        return 77
    with subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", program],
                          stdout=subprocess.PIPE, text=True) as process:
        found = shared_above_baseline(process.stdout, weak)
    for name, line in sorted(found.items()):
        print(f"{name}: {line}")
    print(f"{len(weak)} weak symbols, {len(found)} shared above the baseline")
    return 1 if found or process.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
