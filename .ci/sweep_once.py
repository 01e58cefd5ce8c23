"""Runs an exhaustive sweep, unless this very program passed it here before.

  sweep_once.py DIGESTS PROGRAM ARGUMENT... | --selftest

Two minutes of all 2^32 arguments change nothing that the same program has shown on
such a CPU. What passed is a mark (compiling.py), named by a hash of the program, the
digests it is compared with, the arguments and the CPU's features; a program that
fails or skips leaves none. Libraries of the system are not in it: after an update of
libm, LOCKSTEP_FRESH=1 sweeps again.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

import compiling


def features():
    """What the CPU can do: it decides which targets are swept."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line for line in file
                        if line.lower().startswith(("flags", "features")))
    except (OSError, StopIteration):
        return None


def key_of(digests, command):
    if features() is None:
        return None
    key = hashlib.sha256("\0".join([features(), *command[1:]]).encode())
    for path in (digests, command[0]):
        key.update(hashlib.sha256(pathlib.Path(path).read_bytes()).digest())
    return key.hexdigest()


def main(digests, *command):
    key = key_of(digests, command)
    fresh = os.environ.get("LOCKSTEP_FRESH") == "1"
    if not fresh and compiling.passed_before("sweep", key):
        print("not run: this program passed this sweep before")
        return 0
    code = subprocess.run(command, check=False).returncode
    if code == 0:
        compiling.remember("sweep", key)
    return code


def selftest():
    """Counts runs of a program that adds a line to a log and ends as it is told."""
    if features() is None:
        print("selftest: nothing tells this CPU's features, so every sweep runs")
        return 77
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-selftest-"))
    os.environ["LOCKSTEP_CACHE"] = str(folder / "cache")
    os.environ.pop("LOCKSTEP_FRESH", None)
    digests, program, log = (folder / x for x in ("digests", "program", "log"))
    digests.write_text("1")

    def runs(code, *arguments):
        log.write_text("")
        program.write_text(f"#!/bin/sh\necho ran >>{log}\nexit {code}\n")
        program.chmod(0o755)
        if main(str(digests), str(program), *arguments) not in (0, code):
            return -1
        return len(log.read_text().splitlines())

    seen = [runs(1), runs(1), runs(77), runs(0), runs(0), runs(0, "--other"),
            runs(0)]
    digests.write_text("2")
    seen += [runs(0), runs(0)]
    os.environ["LOCKSTEP_FRESH"] = "1"
    seen += [runs(0)]
    wanted = [1, 1, 1, 1, 0, 1, 0, 1, 0, 1]
    print(f"selftest: ran {seen}, wanted {wanted}")
    return 0 if seen == wanted else 1


if __name__ == "__main__":
    sys.exit(selftest() if sys.argv[1:] == ["--selftest"] else main(*sys.argv[1:]))
