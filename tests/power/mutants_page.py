#!/usr/bin/env python3
"""Writes the tables of docs/mutants.md that come from the catalogue.

  tests/power/mutants_page.py PROGRAM [POWER | --check]

PROGRAM is `lockstep`, POWER is `lockstep-power`. The script replaces everything between the marker lines of
the page: the rows of attention_forward by family, and with POWER, which
takes minutes, the table of dials. --check writes nothing, and exits 1 if the page has
other rows than the program's catalogue."""
import json
import pathlib
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "mutants.md"
ROWS = ("<!-- rows: tests/power/mutants_page.py -->", "<!-- end of rows -->")
DIALS = ("<!-- dials: tests/power/mutants_page.py -->", "<!-- end of dials -->")


def ask(program, *words):
    done = subprocess.run([program, *words], check=False, text=True,
                          stdout=subprocess.PIPE)
    if not done.stdout:
        sys.exit(f"{program} {' '.join(words)}: exit {done.returncode}")
    return json.loads(done.stdout)


def cell(text):
    return text.replace("|", "\\|")


def rows(program):
    families = {}
    claims = []
    shards = []
    for row in ask(program, "list", "mutants", "--json"):
        if row["family"] == "claims":
            claims.append(row)
        elif row["family"] == "shards":
            shards.append(row)
        elif row.get("op") == "attention_forward":
            families.setdefault(row["family"], []).append(row)
    text = ""
    for family, members in families.items():
        text += (f"## {family}\n\n| name | what it breaks | dial | smallest "
                 "case |\n|---|---|---|---|\n")
        for row in members:
            base = "" if row["base"] == "exact" else f" (base {row['base']})"
            dial = (f"{row['dial']}, default {row['severity']:g}"
                    if row["dial"] else "")
            case = row["pattern"].replace("attention_forward ", "")
            text += (f"| {row['name']} | {cell(row['description'])}{base} | "
                     f"{dial} | `{cell(case)}` |\n")
        text += "\n"
    return text + claims_rows(claims) + "\n" + shards_rows(shards)


def claims_rows(members):
    text = ("## claims\n\nThese kernels of all ops have right answers. Two correct kernels "
            "compute in turn,\nso that only a claim shows the bug ([profiles.md](profiles.md)).\n\n"
            "| name | claim | breaks also | what is wrong | case |\n|---|---|---|---|---|\n")
    for row in members:
        text += (f"| {row['name']} | {row['claim']} | {row['also']} | "
                 f"{cell(row['description'])} | `{cell(row['pattern'])}` |\n")
    return text


def shards_rows(members):
    text = ("## shards\n\nThese kernels compute each shard of a case correctly, and put the answers\n"
            "together wrongly ([shards.md](shards.md)).\n\n"
            "| name | cut | what is wrong | case |\n|---|---|---|---|\n")
    for row in members:
        text += (f"| {row['name']} | `{row['shard']}` | {cell(row['description'])} | "
                 f"`{cell(row['pattern'])}` |\n")
    return text


def dials(power):
    text = ("| name | dial | mildest found | by | on |\n"
            "|---|---|---|---|---|\n")
    missed = []
    for row in ask(power, "dials", "--json", "-")["dials"]:
        if row["mildest"] == 0:
            missed.append(row["mutant"])
            continue
        text += (f"| {row['mutant']} | {row['dial']} | {row['mildest']} | "
                 f"{row['tier']} | `{cell(row['case'])}` |\n")
    text += "\nNot found at any setting: "
    return text + (", ".join(missed) if missed else "none") + ".\n"


def replace(page, marks, text):
    before, rest = page.split(marks[0])
    old, after = rest.split(marks[1])
    return f"{before}{marks[0]}\n\n{text}\n{marks[1]}{after}", old.strip()


def main():
    program = sys.argv[1]
    page = PAGE.read_text(encoding="utf-8")
    text = rows(program)
    page, old = replace(page, ROWS, text)
    if sys.argv[2:] == ["--check"]:
        if old != text.strip():
            sys.exit("docs/mutants.md is not what the catalogue says: run "
                     "tests/power/mutants_page.py PROGRAM")
        return
    if sys.argv[2:]:
        page, _ = replace(page, DIALS, dials(sys.argv[2]))
    PAGE.write_text(page, encoding="utf-8")


main()
