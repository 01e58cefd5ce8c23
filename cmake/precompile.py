#!/usr/bin/env python3
"""Compiles a precompiled header, and says beside it what ccache is to take for its
contents: precompile.py ROOT COMMAND...

A precompiled header names the folder that it was made in, so what is compiled with it
would serve no other tree and no other checkout. The file FILE.sum, which ccache reads
if CCACHE_PCH_EXTSUM is set (scripts/common.sh), has a hash of all that decides what is
in FILE: the compiler, its flags, and the contents of every header, without the names of
folders below ROOT, the checkout.
"""

import hashlib
import pathlib
import re
import subprocess
import sys


def headers(dependencies):
    """The files that a dependency file of make's names."""
    text = pathlib.Path(dependencies).read_text(encoding="utf-8").replace("\\\n", " ")
    return [name.replace("\\ ", " ")
            for name in re.findall(r"(?:\\ |\S)+", text.partition(":")[2])]


def sum_of(root, command, dependencies):
    key = hashlib.sha256()
    version = subprocess.run([command[0], "--version"], capture_output=True, check=True)
    words = [word.encode() for word in command if root not in word]
    for part in (version.stdout, *words,
                 *(pathlib.Path(name).read_bytes() for name in headers(dependencies))):
        part = part.replace(root.encode(), b"")
        key.update(len(part).to_bytes(8, "little") + part)
    return key.hexdigest()


def main(root, *command):
    code = subprocess.run(command, check=False).returncode
    output = command[command.index("-o") + 1]
    if code == 0 and output.endswith((".pch", ".gch")):
        at = command.index("-MF") + 1
        pathlib.Path(output + ".sum").write_text(sum_of(root, command, command[at]),
                                                 encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
