"""Judges the kernels of python/examples and writes docs/public-kernels.md. Started by
scripts/judge-public-kernels.sh, with the Python that has the libraries."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import public_kernels_claims
from public_kernels_page import cpu, units, version, write_page
from public_kernels_table import CLAIMANTS, DEFECTS, KERNELS

OUT = pathlib.Path("build/public")
PROGRAM = "build/release/bin/lockstep"
SEEDS = 1000000  # between the rounds of a line


def lines_of(kernel, limit):
    """Lines of its corpora in its lane, evenly spread where there are more than wanted."""
    lane = f"lane={kernel.lane}"
    lines = []
    for corpus in kernel.corpora:
        for line in pathlib.Path("data/cases", corpus).read_text().splitlines():
            given = next((w for w in line.split() if w.startswith("lane=")), "lane=f32")
            if line and not line.startswith("#") and given == lane and all(
                    word in line for word in kernel.only):
                lines.append(line)
    wanted = min(limit, len(lines))
    lines = [lines[n * len(lines) // wanted] for n in range(wanted)]
    seeds = range(0, SEEDS * kernel.rounds, SEEDS)
    return [re.sub(r" seed=(\d+)", lambda found: f" seed={int(found[1]) + more}", line)
            for more in seeds for line in lines] + [
                line.format(lane=kernel.lane) for line in kernel.more]


def judged(words, name):
    """The events of a run of the program."""
    events = OUT / f"{name}.ndjson"
    with open(OUT / f"{name}.log", "w") as log:
        code = subprocess.run([PROGRAM, *words, "--json", events], stdout=log,
                              stderr=subprocess.STDOUT).returncode
    if code not in (0, 1, 3, 4, 5, 77, 130):  # what was judged before Ctrl-C counts
        sys.exit(f"judge_public_kernels: {name}: exit {code}, see {OUT}/{name}.log")
    return [json.loads(line) for line in open(events)]


def summary(events):
    found = [e for e in events if e["kind"] == "finding"]
    counts = next(e for e in events if e["kind"] == "summary")
    return {"counts": {k: counts.get(k, 0) for k in
                       ("cases", "pass", "fail", "suspicious", "untrusted", "skipped", "error")},
            "findings": [{k: e.get(k, "") for k in ("case", "verdict", "signature", "message",
                                                    "replay")} for e in found]}


def judge(kernel, limit):
    start = time.time()
    candidate = ["--candidate", kernel.spec]
    if kernel.op != "block_plan":
        candidate += ["--profile", "from-candidate"]
    result = {"corpus": None, "drawn": None}
    if lines := lines_of(kernel, limit or kernel.lines):
        cases = OUT / f"{kernel.name}.cases"
        cases.write_text("\n".join(lines) + "\n")
        result["corpus"] = summary(judged(
            ["verify", "--cases", str(cases), *candidate], f"{kernel.name}-corpus"))
    if drawn := min(limit or kernel.drawn, kernel.drawn):
        result["drawn"] = summary(judged(
            ["fuzz", kernel.op, *candidate, "--budget", f"{drawn}cases", "--findings", "6",
             "--shrink", "10"], f"{kernel.name}-drawn"))
    result["seconds"] = time.time() - start
    (OUT / f"{kernel.name}.json").write_text(json.dumps(result))
    print(f"{kernel.name}: {result['seconds']:.0f} s", flush=True)


def try_claims(names):
    """Which claims the kernels keep, into their section of the page."""
    results = {}
    for kernel in KERNELS:
        if kernel.name not in names:
            continue
        start = time.time()
        cases = OUT / f"{kernel.name}-claims.cases"
        cases.write_text("\n".join(public_kernels_claims.lines_of(kernel.lane)) + "\n")
        events = judged(["invariance", "--cases", str(cases), "--candidate", kernel.spec],
                        f"{kernel.name}-claims")
        results[kernel.name] = kernel.library, public_kernels_claims.table_of(events)
        print(f"{kernel.name}, claims: {time.time() - start:.0f} s", flush=True)
    public_kernels_claims.put(public_kernels_claims.section(results, version, cpu, units))


def reproduce():
    """What each defect's own script prints, and whether it shows here."""
    shown = {}
    for defect in DEFECTS:
        try:
            run = subprocess.run([sys.executable, defect.script], capture_output=True, text=True,
                                 timeout=900)
        except subprocess.TimeoutExpired:
            continue
        if run.returncode in (0, 1) and "Traceback" not in run.stderr:
            shown[defect.script] = {"shows": run.returncode == 1,
                                    "text": run.stdout.strip().splitlines()[:4]}
    (OUT / "defects.shown").write_text(json.dumps(shown))


def main():
    parser = argparse.ArgumentParser(prog="judge-public-kernels.sh")
    parser.add_argument("--cases", type=int)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--claims", action="store_true")
    parser.add_argument("kernels", nargs="*", metavar="KERNEL")
    words = parser.parse_args()
    names = {"defects", *(k.name for k in KERNELS)}
    if unknown := [k for k in words.kernels if k not in names]:
        parser.error(f"no kernel {unknown[0]!r}; there are {', '.join(sorted(names))}")
    if words.claims:
        try_claims(set(words.kernels) or set(CLAIMANTS))
        return 0
    wanted = set() if words.page else set(words.kernels) or names
    for kernel in KERNELS:
        if kernel.name in wanted:
            judge(kernel, words.cases)
    if "defects" in wanted:
        reproduce()
    if words.kernels:
        return 0
    shown = json.loads((OUT / "defects.shown").read_text())
    results = {k.name: json.loads(path.read_text()) for k in KERNELS
               if (path := OUT / f"{k.name}.json").exists()}
    unexplained = write_page(results, shown)
    if not words.page:
        try_claims(set(CLAIMANTS))
    for line in unexplained:
        print("not explained:", line)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
