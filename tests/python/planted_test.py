#!/usr/bin/env python3
"""Planted bugs are found by lockstep.fuzz and shrunk to a line that the program
replays: planted_test.py [BASE]... (numpy)."""
import os
import shlex
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "python"))
if "LOCKSTEP" in os.environ:
    os.environ["LOCKSTEP_PROGRAM"] = os.environ["LOCKSTEP"]
os.environ["OMP_NUM_THREADS"] = "1"
os.chdir(HERE)

import lockstep  # noqa: E402
import planted  # noqa: E402
from lockstep import program  # noqa: E402


# Lives on what earlier cases left. Where they are needed the report says so.
OF_OTHER_CASES = {"stale_mask"}


def trouble(base, bug):
    """What is wrong, or nothing, and what was seen."""
    report = lockstep.fuzz(getattr(planted, f"{base}_{bug}"), budget="4000cases", shrink=20)
    if report.exit != 1 or len(report.findings) != 1:
        return f"not found, exit {report.exit}", ""
    finding = report.findings[0]
    seen = f"{finding.event['found_seconds']:.2f} s  {finding.case}"
    replay = program.start(shlex.split(finding.replay)[1:], stdout=-1, stderr=-1)
    replay.communicate()
    if bug in OF_OTHER_CASES and "does not repeat in a fresh process" in str(report):
        return "", seen
    return ("" if replay.returncode == 1 else f"replay exits {replay.returncode}"), seen


def main(bases):
    failures = 0
    for base in bases:
        for bug in planted.BUGS:
            wrong, seen = trouble(base, bug)
            failures += bool(wrong)
            print(f"{base:6} {bug:26} {seen} {wrong}", flush=True)
    print(f"{failures} not found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["numpy"]))
