#!/usr/bin/env python3
"""How often `lockstep explain` names the bug: causes_catalogue.py [--every N] [--table FILE].

Every known bug is planted into a kernel that is not the one bugs are replayed in: other
arithmetic, other tiles, on cases that were not made for it. Named is a bug that comes
first, or cannot be told from the first on any case nearby. Fails below 80 % (first) and
92 % (among three).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys

PROGRAM = os.environ["LOCKSTEP"]
# Cases as kernels meet them: groups, batches, tails, and each kind of mask.
ATTENTION = [
    "attention_forward b=2 hq=4 hkv=2 sq=70 skv=70 d=16 dv=8 cap=5 mask=causal",
    "attention_forward b=2 hq=4 hkv=2 sq=50 skv=90 d=8 mask=causal&window:20,3 align=br "
    "sinklogit=normal:2",
    "attention_forward b=2 hq=4 hkv=2 sq=66 skv=66 d=8 mask=causal "
    "q_seg=runs:20,46 kv_seg=runs:20,46",
    "attention_forward b=2 hq=4 hkv=2 sq=50 skv=70 d=8 mask=causal align=br valid_kv=65,33 "
    "valid_q=50,33",
    "attention_forward b=2 hq=2 sq=66 skv=66 d=8 mask=chunked:16 align=3",
    "attention_forward b=2 hq=2 sq=50 skv=66 d=8 mask=prefix:12 align=3",
    "attention_forward b=2 hq=2 sq=66 skv=66 d=8 mask=causal&(window:8,0|sink:3) "
    "q_seg=runs:30,36 kv_seg=runs:30,36",
    "attention_forward b=2 hq=4 hkv=2 sq=40 skv=40 d=8 mask=full mask.h1=window:3,0 "
    "mask.h2=causal",
    "attention_forward hq=2 sq=1 skv=70 d=8 mask=window:9,0 align=br",
    "attention_forward hq=2 sq=40 skv=70 d=8 mask=random:0.3",
    "attention_forward hq=2 sq=40 skv=70 d=8 fill=normal:8",
    "attention_forward hq=2 sq=40 skv=70 d=8 lane=bf16 cap=2",
]
BACKWARD = [
    "attention_backward b=2 hq=4 hkv=2 sq=40 skv=40 d=16 dv=8 cap=5 mask=causal",
    "attention_backward b=2 hq=4 hkv=2 sq=30 skv=40 d=8 mask=causal&window:12,3 align=br "
    "sinklogit=normal:2 dlse=normal:1",
    "attention_backward b=2 hq=4 hkv=2 sq=36 skv=36 d=8 mask=causal q_seg=runs:20,16 "
    "kv_seg=runs:20,16",
    "attention_backward hq=2 sq=24 skv=40 d=8 mask=causal align=br valid_kv=35 valid_q=20",
]
SCAN = [
    "mamba3_scan b=2 t=70 h=4 g=2 n=16 p=8 seg=runs:30,40",
    "mamba3_scan t=70 h=4 g=2 n=16 p=8 regime=short seg=runs:33,37",
    "mamba3_scan t=40 h=2 n=16 p=8 r=2",
    "mamba3_step t=6 h=4 g=2 n=16 p=8",
]
SCAN_BACKWARD = [
    "mamba3_scan_backward b=2 t=40 h=4 g=2 n=8 p=6 seg=runs:18,22 dcarry=yes",
    "mamba3_scan_backward t=40 h=2 n=8 p=6 variant=mimo r=2 gate=yes reduce=yes dcarry=yes",
    "mamba3_scan_backward t=30 h=2 n=9 p=5 norm=1e-3 carry=yes dcarry=yes",
]
SSD = ["ssd_scan b=2 t=70 h=4 g=2 n=16 p=8", "ssd_scan t=70 h=4 n=16 p=8 regime=short"]


def kernels_of(bug):
    """The bug in other arithmetic and other tiles than it is replayed in."""
    name = "mutant:" + bug["name"]
    if bug["op"] == "block_plan":
        return [name]
    if bug["op"] not in ("attention_forward", "attention_backward"):
        return [name + ",chunk=16", name]
    other = {"exact": "cpu", "grad-cpu": "grad-cpu-base2"}.get(bug["base"])
    base = ",base=" + other if other else ""
    return [name + base + ",tile=32x32", name + base]


def cases_of(bug):
    if bug["op"] == "block_plan":
        return ["block_plan " + bug["pattern"]
                if not bug["pattern"].startswith("block_plan") else bug["pattern"]]
    usual = {"attention_forward": ATTENTION, "attention_backward": BACKWARD,
             "mamba3_scan_backward": SCAN_BACKWARD, "ssd_scan": SSD}.get(bug["op"], SCAN)
    alone = [] if ";;" in bug["pattern"] else [bug["pattern"]]
    return usual + alone


def explain(bug):
    """(bug's name, rank from 1 or 0, its share, line) of the first case that shows it."""
    for kernel in kernels_of(bug):
        for case in cases_of(bug):
            ran = subprocess.run(
                [PROGRAM, "explain", case, "--candidate", kernel, "--json", "-"],
                capture_output=True, text=True, check=False)
            if ran.returncode != 1 or not ran.stdout:
                continue
            causes = json.loads(ran.stdout)["causes"]
            rank = next((n + 1 for n, cause in enumerate(causes)
                         if bug["name"] in [cause["cause"], *cause["alike"]]), 0)
            first = causes[0] if causes else {"cause": "", "score": 0.0, "alike": []}
            return bug["name"], rank, first, f"{kernel} on {case}"
    return bug["name"], None, None, ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--table")
    arguments = parser.parse_args()
    listed = subprocess.run([PROGRAM, "list", "mutants", "--json"],
                            capture_output=True, text=True, check=True)
    bugs = json.loads(listed.stdout)[::arguments.every]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(explain, bugs))
    rows = collections.defaultdict(lambda: [0, 0, 0, 0, 0, 0])
    for name, rank, first, where in results:
        row = rows[name.split(".")[0]]
        if rank is None:
            row[5] += 1
            print("not shown:", name)
            continue
        row[0] += 1
        row[1] += rank == 1
        row[2] += 1 <= rank <= 3
        # What is said with confidence, and how often that is wrong.
        sure = first["score"] >= 0.98
        row[3] += sure
        row[4] += sure and rank != 1
        if rank != 1:
            print(f"{name}: rank {rank or '-'}, first is {first['cause']} "
                  f"{first['score']:.3f}: {where}")
    head = ("| bugs | explained | named first | among three | said to be reproduced | "
            "wrongly | not shown by any case here |\n|---|---|---|---|---|---|---|\n")
    total = [sum(column) for column in zip(*rows.values())]
    lines = [f"| {name} | " + " | ".join(map(str, row)) + " |\n"
             for name, row in [*sorted(rows.items()), ("all", total)]]
    table = head + "".join(lines)
    print(table, end="")
    if arguments.table:
        with open(arguments.table, "w", encoding="utf-8") as file:
            file.write(table)
    return total[1] < 0.8 * total[0] or total[2] < 0.92 * total[0]


if __name__ == "__main__":
    sys.exit(main())
