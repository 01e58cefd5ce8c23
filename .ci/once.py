#!/usr/bin/env python3
"""Runs a command, unless it passed here before on the same contents.

  once.py NAME READS... -- COMMAND [ARGUMENT...] | --selftest

READS are the files and folders that can change what the command finds, by their names
in the checkout wherever the program is started; of a folder, the files that git tracks
or would track. What passed is a mark (compiling.py), named by a hash of their names and
contents, the command, the compilers, what the environment tells tests, and the CPU's
features; a command that fails or skips leaves none.
Libraries of the system are not in it: LOCKSTEP_FRESH=1 runs everything again.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import compiling
import sources

COMPILERS = ("clang++-19", "g++")
ENVIRONMENTS = ("LOCKSTEP_PART", "LOCKSTEP_PUBLIC_VENV", "LOCKSTEP_PYTHON_RAY")


def features():
    """What the CPU can do: it decides which targets run. None: not known."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line for line in file
                         if line.lower().startswith(("flags", "features"))), None)
    except OSError:
        return None


def versions():
    lines = []
    for compiler in COMPILERS:
        try:
            lines.append(compiling.run([compiler, "--version"])[1])
        except FileNotFoundError:
            lines.append(f"no {compiler}")
    return lines


def contents(reads):
    """(name, bytes) of every file read, in order. A build's file counts by its
    name alone: another checkout of the same files is the same work."""
    tracked = sources.files(sources.ROOT, "")
    for read in reads:
        path = sources.ROOT / read
        if path.is_file():
            yield path.name, path.read_bytes()
            continue
        below = [n for n in tracked if n.startswith(read.rstrip("/") + "/")]
        if not below:
            sys.exit(f"once.py: '{read}' is no file, and no folder of the "
                     f"checkout with files in it")
        for name in below:
            yield name, (sources.ROOT / name).read_bytes()


def key_of(reads, command):
    if features() is None:
        return None
    words = [word.replace(str(sources.ROOT), ".") for word in command]
    told = [os.environ.get(name, "") for name in ENVIRONMENTS]
    key = hashlib.sha256("\0".join([features(), *versions(), *told, *words]).encode())
    for name, data in contents(reads):
        key.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
    return key.hexdigest()


def main(name, *rest):
    at = rest.index("--")
    reads, command = rest[:at], rest[at + 1:]
    key = key_of(reads, command)
    fresh = os.environ.get("LOCKSTEP_FRESH") == "1"
    if not fresh and compiling.passed_before(name, key):
        print(f"not run: {name} passed on these contents before")
        return 0
    code = subprocess.run(command, check=False).returncode
    if code == 0:
        compiling.remember(name, key)
    return code


def selftest():
    """Counts runs of a program that adds a line to a log and ends as it is told."""
    if features() is None:
        print("selftest: nothing tells this CPU's features, so everything runs")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-selftest-"))
    os.environ["LOCKSTEP_CACHE"] = str(folder / "cache")
    os.environ.pop("LOCKSTEP_FRESH", None)
    read, program, log = (folder / x for x in ("read", "program", "log"))
    read.write_text("1")

    def runs(code, *arguments):
        log.write_text("")
        program.write_text(f"#!/bin/sh\necho ran >>{log}\nexit {code}\n")
        program.chmod(0o755)
        if main("phase", str(read), str(program), "--", str(program),
                *arguments) not in (0, code):
            return -1
        return len(log.read_text().splitlines())

    seen = [runs(1), runs(1), runs(77), runs(0), runs(0), runs(0, "--other"),
            runs(0)]
    read.write_text("2")
    seen += [runs(0), runs(0)]
    os.environ["LOCKSTEP_FRESH"] = "1"
    seen += [runs(0)]
    wanted = [1, 1, 1, 1, 0, 1, 0, 1, 0, 1]
    folders = key_of([".ci"], ["x"]) != key_of(["cmake"], ["x"])
    here = key_of([".ci/once.py"], ["x"])
    os.chdir(folder)
    anywhere = key_of([".ci/once.py"], ["x"]) == here
    print(f"selftest: ran {seen}, wanted {wanted}; folders differ: {folders}; "
          f"read from anywhere: {anywhere}")
    return 0 if seen == wanted and folders and anywhere else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    if "--" not in sys.argv or len(sys.argv) < 4:
        sys.exit("usage: once.py NAME READS... -- COMMAND [ARGUMENT...] | --selftest")
    sys.exit(main(*sys.argv[1:]))
