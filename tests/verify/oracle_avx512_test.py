#!/usr/bin/env python3
"""The oracle's 512-bit kernels use the fused instruction, seen in their code.

A CPU without AVX-512 cannot run them, and a compiler does not say which of two
roundings it chose; the disassembly does. Usage: oracle_avx512_test.py ARCHIVE.
Exit 77: no objdump, or the archive has no such member (not x86-64).
"""
import re
import shutil
import subprocess
import sys

MEMBER = "kernels_avx512.cc"
FUSED = re.compile(r"\bvfmadd\d+pd\b.*zmm")
UNFUSED = re.compile(r"\bv(mul|add|sub)pd\b.*zmm")


def functions(text):
    """Symbol -> lines of its code."""
    found, name = {}, None
    for line in text.splitlines():
        start = re.match(r"[0-9a-f]+ <(.*)>:$", line)
        if start:
            name = start.group(1)
            found[name] = []
        elif name:
            found[name].append(line)
    return found


def faults(text):
    """What is wrong with a disassembly of the member."""
    code = functions(text)
    if not any(FUSED.search(line) for body in code.values() for line in body):
        return ["no vfmadd...pd on a zmm register anywhere"]
    # Scores are sums of fma alone: a product or a sum of its own is an fma of
    # two roundings.
    scores = [n for n in code if "ScoreTileOf" in n]
    if not scores:
        return ["no ScoreTileOf in " + MEMBER]
    return [f"{name}: {line.strip()}" for name in scores
            for line in code[name] if UNFUSED.search(line)]


def self_test():
    """The test can fail: either planted fault is seen, right code is not."""
    head = "0000000000000000 <_ZN8lockstep11ScoreTileOf>:\n"
    fused = "  10:\tvfmadd231pd %zmm1,%zmm2,%zmm3\n"
    unfused = "  10:\tvmulpd %zmm1,%zmm2,%zmm3\n"
    narrow = "  10:\tvfmadd231pd %ymm1,%ymm2,%ymm3\n"
    assert not faults(head + fused)
    assert faults(head + fused + unfused)
    assert faults(head + narrow)
    assert faults(fused)


def main():
    self_test()
    objdump = shutil.which("objdump")
    if not objdump:
        print("not run: AVX-512 code of the oracle (no objdump)")
        return 77
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", sys.argv[1]],
                          check=True, capture_output=True, text=True).stdout
    members = re.split(r"^(\S+):\s+file format .*$", text, flags=re.M)
    bodies = [body for name, body in zip(members[1::2], members[2::2])
              if MEMBER in name]
    if not bodies:
        print(f"not run: the archive has no {MEMBER}")
        return 77
    found = faults(bodies[0])
    for fault in found[:5]:
        print(fault)
    print(f"{len(FUSED.findall(bodies[0]))} fused in 512 bits, "
          f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
