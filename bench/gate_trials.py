#!/usr/bin/env python3
"""Whether `lockstep gate` can be relied upon: comparisons of a kernel with itself, which
must make no claim, and with one that has so many percent more work or less, which must
be found slower or faster in 95 % of the runs.

    python3 -B bench/gate_trials.py --log FILE [--same 50] [--slow 40] [--fast 40]

The kernels are examples/attention.c behind so:, one thread, with rows that are computed
again; only their number differs. The three kinds take turns in an order that is drawn.
Each comparison is appended to FILE when it ends, and a FILE that has some already is
gone on with. Exit code 0: all as wanted, 1: not."""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# Every row sees every key, so that each costs the same.
CASE = "attention_forward sq=60 skv=80 d=64 cap=30 seed=1"
WANTED = {"same": None, "slow": "slower", "fast": "faster"}
# As many rows as there are, once more: what differs is a part of the work.
ROWS_AGAIN = 100
ALL_ROWS = """        attend(call, handle->weights, b, h, i);
      }
    }
  }
"""
AGAIN = ALL_ROWS + """  const int64_t rows = call->b * call->hq * call->sq;
  for (int64_t n = 0; n < rows * ROWS_AGAIN / 100; ++n) {
    const int64_t row = n % rows;
    attend(call, handle->weights, row / call->sq / call->hq, row / call->sq % call->hq,
           row % call->sq);
  }
"""


def build(folder, name, again):
    """The example with `again` percent of its rows computed again; returns its spec."""
    with open(os.path.join(SOURCE, "examples", "attention.c"), encoding="utf-8") as file:
        text = file.read()
    assert text.count(ALL_ROWS) == 1, "examples/attention.c has another loop over rows"
    source = os.path.join(folder, name + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text.replace(ALL_ROWS, AGAIN))
    target = os.path.join(folder, name + ".so")
    subprocess.run(["gcc", "-std=c99", "-O2", "-Wall", "-Werror", "-fPIC", "-shared",
                    f"-DROWS_AGAIN={again:g}", "-I",
                    os.path.join(SOURCE, "verify", "host", "include"), source, "-o", target,
                    "-lm"], check=True)
    return "so:" + target


def compare(program, baseline, candidate, budget):
    """One comparison, as the record of the log."""
    start = time.monotonic()
    done = subprocess.run([program, "gate", baseline, candidate, CASE, "--profile",
                           "from-candidate", "--budget", budget, "--json", "-"],
                          capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"gate_trials: lockstep gate said {done.stderr.strip()}")
    shape = json.loads(done.stdout)["shapes"][0]
    record = {key: shape[key] for key in
              ("verdict", "claim", "change", "interval", "chance", "pairs", "clock",
               "starts", "rounds", "baseline_seconds", "candidate_seconds")}
    record["seconds"] = round(time.monotonic() - start, 2)
    record["load"] = os.getloadavg()[0]
    return record


def read(log):
    if not os.path.exists(log):
        return []
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def told(record):
    wanted = WANTED[record["kind"]]
    if wanted is None:
        return record["claim"] not in ("slower", "faster")
    return record["claim"] == wanted


def judge(records, percent):
    """Prints the counts; whether they are as wanted."""
    good = bool(records)
    for kind, wanted in WANTED.items():
        runs = [record for record in records if record["kind"] == kind]
        if not runs:
            continue
        right = sum(told(record) for record in runs)
        enough = right == len(runs) if wanted is None else right >= 0.95 * len(runs)
        good = good and enough
        what = "no claim" if wanted is None else f"found {wanted} ({percent:g} %)"
        claims = {claim: sum(record["claim"] == claim for record in runs)
                  for claim in sorted({record["claim"] for record in runs})}
        print(f"{kind}: {what} in {right} of {len(runs)}; {claims}")
    for key in ("seconds", "load"):
        values = sorted(record[key] for record in records)
        if values:
            print(f"{key}: median {values[len(values) // 2]:.1f}, {values[0]:.1f} to "
                  f"{values[-1]:.1f}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--log", required=True)
    parser.add_argument("--same", type=int, default=50)
    parser.add_argument("--slow", type=int, default=40)
    parser.add_argument("--fast", type=int, default=40)
    parser.add_argument("--percent", type=float, default=5)
    parser.add_argument("--budget", default="20s")
    parser.add_argument("--program", default=os.path.join(SOURCE, "build/release/bin/lockstep"))
    arguments = parser.parse_args()
    records = read(arguments.log)
    left = []
    for kind in WANTED:
        done = sum(record["kind"] == kind for record in records)
        left += [kind] * max(getattr(arguments, kind) - done, 0)
    random.shuffle(left)
    with tempfile.TemporaryDirectory(prefix="lockstep-gate-") as folder:
        all_rows = 100 + ROWS_AGAIN
        more = arguments.percent / 100 * all_rows
        specs = {"same": build(folder, "same", ROWS_AGAIN),
                 "slow": build(folder, "slow", ROWS_AGAIN + more),
                 "fast": build(folder, "fast", ROWS_AGAIN - more)}
        for kind in left:
            record = {"kind": kind, **compare(arguments.program, specs["same"], specs[kind],
                                              arguments.budget)}
            records.append(record)
            with open(arguments.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
    return 0 if judge(records, arguments.percent) else 1


if __name__ == "__main__":
    sys.exit(main())
