#!/usr/bin/env python3
"""Writes docs/performance.md, how fast the kernels are, from data/performance/.

  scripts/performance.py collect FILE NAME  keeps what `lockstep bench --json FILE` measured of
                                            data/cases/targets.cases as data/performance/NAME.json
  scripts/performance.py page [--check]     writes the page; --check: is it that page?

A file describes one machine: its CPU, the program that was measured, and a line for each
row with a goal. A second run on a machine replaces the first. Machines that were measured
before these files existed have the rows of the page of that time, without commit and day.
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DATA = ROOT / "data" / "performance"
PAGE = ROOT / "docs" / "performance.md"

# What a machine's file takes from the context of a bench file.
MACHINE = {"cpu": "cpu_model", "cores": "num_cpus", "target": "target", "date": "date",
           "commit": "lockstep_commit", "compiler": "compiler", "load": "load_avg",
           "peaks": "peak_gflops", "reads": "read_bandwidth"}
# Metrics that are shares of something, shown in percent.
SHARES = {"fraction": "of the limit", "of_roof": "of the roof",
          "of_instruction": "of the instruction's peak"}

HEAD = """# Performance

This page is made by `scripts/performance.py` from files of `lockstep bench`:

```
build/release/bin/lockstep bench --cases data/cases/targets.cases --candidate builtin:optimized,threads=1 --budget 60s --json FILE
scripts/performance.py collect FILE NAME
scripts/performance.py page
```

Each figure is a ratio to a measurement of the same run on the same core. So it depends little
on the clock frequency and on other processes. [benchmarking.md](benchmarking.md#how-to-read-a-row) explains
the limit, the roof and the instruction's peak. The figure of the fastest call is in brackets.
The page shows goals that are met and goals that are missed. CPUs are named by family and model.
"""


def fail(message):
    sys.exit(f"performance.py: {message}")


def reduced(bench):
    """What a file of this folder holds of a result of `lockstep bench --json`."""
    context = bench["context"]
    best = {row["goal"]: row["best"] for row in bench["benchmarks"]
            if "best" in row and "goal" in row}
    rows = [{"row": goal["goal"], "metric": goal["metric"], "target": goal["target"],
             "at_least": goal["target_is"] == "at_least",
             "measured": round(goal["measured"], 4), "met": bool(goal["met"]),
             "best": round(best[goal["goal"]], 4) if goal["goal"] in best else None,
             "case": goal.get("case", "")}
            for goal in bench["goals"]]
    return {**{name: context[source] for name, source in MACHINE.items()}, "rows": rows}


def collect(file, name):
    if not name.replace("-", "").isalnum():
        fail(f"name '{name}': want letters, digits and hyphens, such as epyc-26")
    try:
        bench = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        machine = reduced(bench)
    except (OSError, ValueError) as error:
        fail(f"{file}: {error}")
    except KeyError as error:
        fail(f"{file}: has no {error}; want a result of lockstep bench --json with goals")
    write(DATA / f"{name}.json", machine)


def write(path, machine):
    rows = machine["rows"]
    head = json.dumps({key: value for key, value in machine.items() if key != "rows"})
    lines = ",\n  ".join(json.dumps(row) for row in rows)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{head[:-1]},\n "rows": [\n  {lines}\n ]}}\n', encoding="utf-8")


def read():
    machines = [json.loads(path.read_text(encoding="utf-8"))
                for path in sorted(DATA.glob("*.json"))]
    if not machines:
        fail(f"{DATA}: there is no file of a machine")
    return machines


def value_text(row):
    if row["metric"] not in SHARES:
        return f"{row['measured']:.3g}"
    best = "" if row["best"] is None else f" ({100 * row['best']:.1f})"
    return f"{100 * row['measured']:.1f}{best}"


def goal_text(row):
    sign = ">=" if row["at_least"] else "<="
    if row["metric"] in SHARES:
        return f"{sign} {100 * row['target']:.0f} % {SHARES[row['metric']]}"
    return f"{sign} {row['target']:g} {row['metric'].replace('_', ' ')}"


def machines_text(machines):
    text = ["## Machines", "",
            "| machine | cores | target | limits of a thread, GFLOP/s | reads of a thread, GB/s "
            "| measured | load | program |", "|---|---|---|---|---|---|---|---|"]
    for machine in machines:
        peaks = ", ".join(f"{name} {peak:.0f}" for name, peak in machine["peaks"].items())
        reads = ", ".join(f"{name} {rate / 1e9:.0f}" for name, rate in machine["reads"].items())
        program = machine["commit"][:8] or "an earlier one"
        day = machine["date"][:10] or "not recorded"
        load = f"{machine['load'][0]:.1f}" if machine["load"] else "not recorded"
        text.append(f"| {machine['cpu']} | {machine['cores']} | {machine['target']} | {peaks} "
                    f"| {reads} | {day} | {load} | {program}, {machine['compiler']} |")
    return text


def rows_text(machines):
    text = ["## Rows", "", "| row | goal | " + " | ".join(m["cpu"] for m in machines) + " |",
            "|---|---|" + "---|" * len(machines)]
    names = {}
    for machine in machines:
        for row in machine["rows"]:
            names.setdefault(row["row"], row)
    for name, first in names.items():
        cells = []
        for machine in machines:
            row = next((r for r in machine["rows"] if r["row"] == name), None)
            cells.append("" if row is None else value_text(row) + ("" if row["met"] else ", missed"))
        text.append(f"| `{name}` | {goal_text(first)} | " + " | ".join(cells) + " |")
    return text


def cases_text(machines):
    text = ["## Cases", "", "| row | case |", "|---|---|"]
    seen = {}
    for machine in machines:
        for row in machine["rows"]:
            if row["case"]:
                seen.setdefault(row["row"], row["case"])
    for name, case in seen.items():
        shown = case if len(case) <= 120 else case[:117] + "..."
        text.append(f"| `{name}` | `{shown.replace('|', chr(92) + '|')}` |")
    return text


def page_of(machines):
    parts = [machines_text(machines), rows_text(machines), cases_text(machines)]
    return HEAD + "".join("\n" + "\n".join(part) + "\n" for part in parts)


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "collect":
        return collect(arguments[1], arguments[2])
    if arguments in (["page"], ["page", "--check"]):
        page = page_of(read())
        if arguments[-1] == "--check":
            if PAGE.read_text(encoding="utf-8") != page:
                fail(f"{PAGE} is not what {DATA} gives; run scripts/performance.py page")
            return None
        PAGE.write_text(page, encoding="utf-8")
        return None
    sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
