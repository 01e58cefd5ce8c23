#!/usr/bin/env python3
"""Exports every case of a file and has the float64 witness judge it.

  run_witness.py LOCKSTEP CASES...

Ends with `N passed, N failed`; exit 0 only if every case was exported and
agreed and the cases cover every mask kind.
"""

import pathlib
import subprocess
import sys
import tempfile

import attention_witness
import case_language
import safetensors_file

MASK_KINDS = {"full", "causal", "window", "chunked", "prefix", "sink",
              "random", "blocks", "index"}


def read_cases(paths):
    lines = []
    for path in paths:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        stripped = (line.split("#")[0].strip() if line.lstrip()[:1] == "#"
                    else line.strip() for line in text.splitlines())
        lines += [line for line in stripped if line]
    return lines


def kinds(tree):
    """Names of the mask kinds in one expression."""
    if tree[0] in ("and", "or"):
        return kinds(tree[1]) | kinds(tree[2])
    return {tree[2] if tree[0] == "stored" else tree[0]}


def judge_case(lockstep, line, folder):
    """(passed, text)."""
    done = subprocess.run([lockstep, "export", line, "--minimal", "--with-expected",
                           "--out", str(folder)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return False, f"export exited {done.returncode}: {done.stderr.strip()}"
    try:
        tally, _ = attention_witness.judge_directory(folder)
    except (OSError, KeyError, ValueError, attention_witness.Undecidable,
            case_language.CaseError, safetensors_file.FormatError) as error:
        return False, f"{type(error).__name__}: {error}"
    text = "\n      ".join([attention_witness.summary(tally)]
                           + tally.messages)
    return attention_witness.passes(tally), text


def main():
    if len(sys.argv) < 3:
        print("usage: run_witness.py LOCKSTEP CASES...", file=sys.stderr)
        return 2
    lockstep, lines = sys.argv[1], read_cases(sys.argv[2:])
    passed = failed = 0
    covered = set()
    for line in lines:
        with tempfile.TemporaryDirectory() as name:
            ok, text = judge_case(lockstep, line, pathlib.Path(name) / "case")
        passed, failed = passed + ok, failed + (not ok)
        for tree in case_language.parse_case(line).masks.values():
            covered |= kinds(tree)
        print(f"{'ok   ' if ok else 'FAIL '} {line}\n      {text}", flush=True)
    missing = MASK_KINDS - covered
    if missing:
        print(f"FAIL  no case covers {sorted(missing)}")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
