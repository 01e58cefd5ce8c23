#!/usr/bin/env python3
"""The golden digests against what a program answers, wherever that was built:
program_golden.py PROGRAM [OP...]. The program judges every pinned case, and its receipt has
the digests of what its kernels answered."""
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def goldens(op):
    """case -> {"inputs": digest, output: digest}"""
    text = (ROOT / f"data/golden/{op}.golden").read_text(encoding="utf-8")
    pinned = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            case, _, digests = line.partition(" => ")
            pinned[case] = dict(word.split("=") for word in digests.split())
    return pinned


def answered(program, cases):
    """The digests of a receipt, in the order of the cases."""
    with tempfile.TemporaryDirectory() as folder:
        file, receipt = pathlib.Path(folder, "golden.cases"), pathlib.Path(folder, "receipt")
        file.write_text("\n".join(cases) + "\n", encoding="utf-8")
        done = subprocess.run([program, "verify", "--cases", file, "--receipt", receipt],
                              cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        # 5: few cases prove nothing of the judge; the digests are there all the same.
        if done.returncode not in (0, 5):
            sys.exit(f"program_golden: exit {done.returncode}\n{done.stdout}")
        for case in json.loads(receipt.read_text(encoding="utf-8"))["cases"]:
            yield {"inputs": case["problem"]["input_digest"], **case["output_digests"]}


def differences(program, ops):
    """(number of cases, what differs)"""
    count, wrong = 0, []
    for op in ops:
        pinned = goldens(op)
        found = list(answered(program, pinned))
        if len(found) != len(pinned):
            wrong.append(f"{op}: {len(found)} of {len(pinned)} cases were answered")
        for (case, digests), answer in zip(pinned.items(), found):
            count += 1
            if answer != digests:
                wrong.append(f"{case}\n  pinned   {digests}\n  answered {answer}")
    return count, wrong


def main(program, *ops):
    count, wrong = differences(program, ops or sorted(
        path.stem for path in (ROOT / "data/golden").glob("*.golden")))
    print("\n".join([*wrong, f"{count} cases, {len(wrong)} differ"]))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) > 1 else __doc__)
