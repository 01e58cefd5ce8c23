"""Writes docs/gpu-kernels.md from what scripts/judge_gpu_kernels.py saw."""
import pathlib

PAGE = pathlib.Path("docs/gpu-kernels.md")
HEAD = """# Kernels on a GPU before the judge

Written by `scripts/judge-gpu-kernels.sh`, which takes at most eight minutes and needs no network. {ran} Adapters are in `python/examples/gpu`; each holds its profile.
How a kernel of your own is judged: [gpu.md](gpu.md).

| kernel | pass | fail | untrusted | skipped | not run |
|---|---|---|---|---|---|
"""
PLANTED = """
## Planted bugs

`triton_flash.py` has seven bugs, planted one at a time. Each was judged on one case; the right column is what
`verify` says first.

| bug | verdict | named as |
|---|---|---|
"""
TIMES = """
## Times

| kernel | a case of 4096 x 4096, d = 128, bf16, s | cases of `fuzz` that are computed, 1/s |
|---|---|---|
"""
DEFECTS = """
## Defects of libraries

`python/examples/gpu/defects.py` shows what was found in libraries on an H100, without Lockstep. Each function prints
what it sees:

```bash
python3 python/examples/gpu/defects.py
```
"""


def _row(row):
    if row["not_run"]:
        return f"| `{row['kernel']}` | - | - | - | - | {row['not_run']} |\n"
    c = row["counts"]
    wrong = c["fail"] + c["error"] + c["suspicious"]
    return (f"| `{row['kernel']}` | {c['pass']} | {wrong} | {c['untrusted']} | {c['skipped']} "
            "| |\n")


def _findings(rows):
    text = ""
    for row in rows:
        for finding in row.get("wrong", []):
            text += f"\n`{row['kernel']}`: {finding['message']}\n```text\n{finding['replay']}\n```\n"
    return "\n## What failed\n" + text if text else ""


def page_of(results):
    libraries = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    ran = (f"Here it ran on {results['device']} ({libraries})." if results["device"] else
           "Without a GPU, the\nTriton kernel ran under Triton's interpreter on the CPU "
           f"({libraries}). The others\nwere not run.")
    text = HEAD.format(ran=ran) + "".join(map(_row, results["kernels"]))
    text += _findings(results["kernels"]) + PLANTED
    for bug in results["planted"]:
        text += f"| {bug['bug']} | {bug['verdict']} | {bug['named'] or '-'} |\n"
    if results["times"]:
        text += TIMES
        for row in results["times"]:
            warm = "-" if row["warm"] is None else f"{row['warm']:.2f}"
            text += f"| `{row['kernel']}` | {warm} | {row['drawn_per_second']:.0f} |\n"
    return text + DEFECTS


def write_page(results):
    PAGE.write_text(page_of(results), encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0
