"""The section of docs/public-kernels.md about claims: what each library keeps of "the
same bits whatever the batch". Written by scripts/judge_public_kernels.py."""
import datetime
import pathlib
import re

PAGE = pathlib.Path("docs/public-kernels.md")
TITLE = "## What they keep"
CLAIMS = ("repeat", "batch", "padding", "chunk", "decode", "heads")

HEAD = """{title}

Written by `scripts/judge-public-kernels.sh --claims` on {date}, on {cpu} ({units}), with one thread.
`lockstep invariance` tries every claim on the lines of attention in `data/cases/invariance.cases`, in the kernel's
lane, and at the lengths and batches that the judge adds ([invariance.md](invariance.md)). *Kept* means that
no tried pair differed; the library's authors do not promise it. None of the kernels takes the argument `splits`.

| kernel | library | {claims} |
|---|---|{rules}|
"""


def cell(row):
    """"kept" or where it breaks, of a row of the table of claims."""
    if row["state"] != "broken":
        return f"{row['state']}, {row['pairs']} pairs" if row["pairs"] else row["state"]
    begins = row["begins"]
    sizes = [f"{begins[size]} {begins[unit]}" for size, unit in (
        ("width", "unit"), ("length", "length_unit")) if begins[size]]
    return (f"**broken** from {', '.join(sizes) or 'the first case'}; {row['broken']} of "
            f"{row['pairs']} pairs, max {row['max_ulp']} ulp")


def shown(name, row):
    """The smallest pair that differs, of a broken claim."""
    first = row["first"]
    return (f"`{name}`, {row['claim']}: {first['pair']}.\n\n```text\n{first['case']}\n"
            f"{first['element']} {first['one']} against {first['other']}; "
            f"{first['differs']}\n```\n")


def table_of(events):
    """The rows of a run, by claim."""
    rows = next((e["claims"] for e in events if e["kind"] == "claims"), [])
    return {row["claim"]: row for row in rows}


def section(results, version, cpu, units):
    """`results`: {name: (library, rows by claim)}."""
    lines = [HEAD.format(title=TITLE, date=datetime.date.today(), cpu=cpu(), units=units(),
                         claims=" | ".join(CLAIMS), rules="|".join("---" for _ in CLAIMS))]
    for name, (library, rows) in results.items():
        cells = [cell(rows[c]) if c in rows else "not tried" for c in CLAIMS]
        lines.append(f"| `{name}` | {version(library)} | {' | '.join(cells)} |\n")
    broken = [shown(name, row) for name, (_, rows) in results.items()
              for row in rows.values() if row["state"] == "broken"]
    if broken:
        lines.append("\nThe smallest pairs that were found to differ:\n\n" + "\n".join(broken))
    return "".join(lines)


def written(page):
    """The section that stands in the page, with its title; empty where there is none."""
    found = re.search(rf"^{TITLE}\n.*?(?=^## |\Z)", page, re.M | re.S)
    return found[0] if found else ""


def put(text):
    """Puts the section in its place in the page: before the defects."""
    page = PAGE.read_text()
    page = page.replace(written(page), "")
    before, title, rest = page.partition("## Defects and conventions\n")
    PAGE.write_text(before + text.rstrip() + "\n\n" + title + rest)


def lines_of(lane):
    """Lines of attention of the case file in that lane."""
    kept = []
    for line in pathlib.Path("data/cases/invariance.cases").read_text().splitlines():
        given = "bf16" if " lane=bf16" in line else "f32"
        if line.startswith("attention_forward ") and given == lane:
            kept.append(line)
    return kept
