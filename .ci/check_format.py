#!/usr/bin/env python3
"""Fails unless clang-format leaves every C++ file as it is."""

import concurrent.futures
import os
import re
import shutil
import subprocess

import sources
from sources import Finding

CLANG_FORMAT = os.environ.get("CLANG_FORMAT", "clang-format-19")


def first_change(root, path):
    run = subprocess.run([CLANG_FORMAT, "--style=file", "--dry-run", path],
                         cwd=root, capture_output=True, text=True, check=False)
    match = re.search(r":(\d+):\d+: warning: code should be clang-formatted",
                      run.stderr)
    if match:
        return Finding(path, int(match.group(1)),
                       f"not formatted; run: {CLANG_FORMAT} -i {path}")
    if run.returncode != 0:
        return Finding(path, 1, run.stderr.strip())
    return None


def check(root):
    style = os.path.join(root, ".clang-format")
    if not os.path.exists(style):
        shutil.copy(sources.ROOT / ".clang-format", style)
    names = sources.in_rooms(sources.files(root, (".h", ".cc", ".inc")))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda path: first_change(root, path), names)
    return [finding for finding in found if finding]


CLEAN = {"verify/a.cc": "int F(int x) { return x; }\n"}
PLANTED = [
    ("verify/x.cc", "int  F( int x ){return x;}\n", "not formatted"),
    ("verify/x.cc", "int " + "x" * 40 + " = " + "y" * 60 + " + z;\n",
     "not formatted"),
]

if __name__ == "__main__":
    sources.main(check, CLEAN, PLANTED)
