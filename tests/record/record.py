#!/usr/bin/env python3
"""The record of verdicts: record.py --check [--part K/N] | --write | --diff [COMMIT] | --selftest

Each line of the .rows files of this folder is a question and its answer, with tabs
between them: a kernel, a case line, and the columns of answer.h. Questions are stored;
the program lockstep-record answers them. They are these:

  each known bug (`lockstep list mutants`) on its own line and on two long ones
  each right kernel (`lockstep list variants`) on four short lines
  each line of data/cases, but for those of a benchmark, with both builtins
  300 drawn lines an op, and lines that are refused (bad.rows), with a builtin
  kernels of others, right and wrong (foreign.rows; their sources: foreign.py)

--check answers all of them, or those of a part, and demands the stored answers. A part
is those whose line has K as its hash modulo N; K `drawn` follows from the commit. It
also holds the record against its former version in git: a right kernel that begins to
fail, a bug that begins to pass, and a question that is gone want a line in reasons.txt.
--write stores new answers, and questions for bugs, kernels and lines that have none.
--diff prints what is stored now and was not in COMMIT (default: before the last change).
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import os
import resource
import subprocess
import sys
import tempfile
import zlib

import changes
import foreign
from changes import FAILS, HERE, MOST_ROWS, PASSES, ROOT, Row, changes_of, parse, show, text_of

LOCKSTEP = os.environ.get("LOCKSTEP", os.path.join(ROOT, "build/release/bin/lockstep"))
BUILTINS = ("builtin:optimized", "builtin:reference")
# Rows with a goal, of 4096 keys: nothing that other lines do not have but their length.
UNJUDGED_CASES = ("targets.cases",)
LONG_LINES, SHORT_LINES = 2, 4


def stored():
    rows = {}
    for file in sorted(filter(changes.is_record, os.listdir(HERE))):
        with open(os.path.join(HERE, file), encoding="utf-8") as text:
            rows.update(parse(file, text.read()))
    return rows


def store(rows):
    files = collections.defaultdict(list)
    for row in rows.values():
        files[row.file].append(text_of(row))
    for file, lines in files.items():
        with open(os.path.join(HERE, file), "w", encoding="utf-8") as text:
            text.writelines(line + "\n" for line in sorted(lines))


# Answers.


def _answer_some(questions, folder):
    """Answers in a process of their own; a question that ends it has that for one."""
    answers, left = [], list(questions)
    program = os.path.join(os.path.dirname(LOCKSTEP), "lockstep-record")
    while left:
        asked = "".join(f"{foreign.spec(kernel, folder)}\t{line}\n"
                        for kernel, line in left)
        done = subprocess.run([program], input=asked, cwd=ROOT, capture_output=True,
                              text=True, check=False)
        rows = done.stdout.splitlines()
        for (kernel, line), row in zip(left, rows):
            columns = row.replace(folder, "").split("\t")[2:]
            answers.append(dict(column.split("=", 1) for column in columns))
        left = left[len(rows):]
        if left:
            answers.append({"exit": f"program ended with {done.returncode}"})
            left = left[1:]
    return answers


def answer(questions):
    """{(kernel, line): columns}. Questions about one line are asked together, since
    they share its bounds."""
    groups = collections.defaultdict(list)
    for kernel, line in questions:
        groups[line].append((kernel, line))
    batches, batch = [], []
    for group in groups.values():
        batch += group
        if len(batch) >= 24:
            batches.append(batch)
            batch = []
    batches += [batch] if batch else []
    workers = int(os.environ.get("LOCKSTEP_JOBS", os.cpu_count()))
    answers = {}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(workers) as pool:
        foreign.build(sorted({kernel for kernel, _ in questions}), folder)
        for batch, columns in zip(batches, pool.map(
                lambda batch: _answer_some(batch, folder), batches)):
            answers.update(zip(batch, columns))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(answers)} rows, {(used.ru_utime + used.ru_stime) / 60:.1f} CPU minutes")
    return answers


# Questions that the record has to have.


def _listed(what):
    done = subprocess.run([LOCKSTEP, "list", what, "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def bug_of(entry):
    """The kernel and the line of an entry of the list of bugs."""
    pattern = entry["pattern"]
    if entry["op"] == "block_plan" and not pattern.startswith("block_plan"):
        pattern = "block_plan " + pattern
    words = " --claims" if entry["family"] == "claims" else ""
    return f"mutant:{entry['name']}{words}", pattern


def file_of(line):
    return line.split(" ")[0] + ".rows"


def required():
    """Questions that follow from lists and files: {(kernel, line)}."""
    questions = {bug_of(entry) for entry in _listed("mutants")}
    for path in glob.glob(os.path.join(ROOT, "data/cases/*.cases")):
        if os.path.basename(path) in UNJUDGED_CASES:
            continue
        with open(path, encoding="utf-8") as file:
            for line in map(str.strip, file):
                if line and not line.startswith("#"):
                    line = line.split(" #")[0].strip()
                    questions.update((kernel, line) for kernel in BUILTINS)
    return questions


def unknown(rows):
    """(op, kernel, how many lines it wants) of bugs and right kernels without a row."""
    kernels = {row.kernel for row in rows.values()}
    for entry in _listed("mutants"):
        # Tables have no length, and a claim's bug chooses its lengths itself.
        lines = 0 if entry["op"] == "block_plan" or entry["family"] == "claims" else LONG_LINES
        if bug_of(entry)[0] not in kernels:
            yield entry["op"], bug_of(entry)[0], lines
    for entry in _listed("variants"):
        if f"variant:{entry['name']}" not in kernels:
            yield entry["op"], f"variant:{entry['name']}", SHORT_LINES


def add_questions(rows):
    """Answers what is required and has no row. A kernel without any gets lines of others
    of its kind, those that most have first, on which a bug is found."""
    news = list(unknown(rows))
    for (kernel, line), columns in answer(sorted(required() - rows.keys())).items():
        rows[kernel, line] = Row(file_of(line), kernel, line, columns)
    patterns = {bug_of(entry)[1] for entry in _listed("mutants")}
    for op, kernel, count in news:
        kind = kernel.split(":")[0] + ":"
        lines = collections.Counter(
            row.line for row in rows.values() if row.file == op + ".rows"
            and row.kernel.startswith(kind) and row.line not in patterns)
        for line, _ in lines.most_common(40):
            if count > 0:
                columns = answer([(kernel, line)])[kernel, line]
                if columns["exit"] in (FAILS if kind == "mutant:" else PASSES):
                    rows[kernel, line] = Row(op + ".rows", kernel, line, columns)
                    count -= 1


# The command.


def part_of(text):
    number, _, count = text.partition("/")
    if number == "drawn":
        commit = changes.git("rev-parse", "HEAD")
        if commit is None:
            print("no commit to draw a part by: part 0")
        number = int(commit or "0", 16) % int(count)
        print(f"part {number}/{count}")
    return int(number), int(count)


def check(rows, part):
    number, count = part_of(part)
    asked = {key for key in rows if zlib.crc32(key[1].encode()) % count == number}
    answers = answer(sorted(asked))
    new = {key: rows[key]._replace(columns=columns) for key, columns in answers.items()}
    changed = changes_of({key: rows[key] for key in asked}, new)
    show(changed)
    messages = [f"{len(changed)} rows of the record have other answers now; record.py "
                "--write stores them"] if changed else []
    missing = sorted(required() - rows.keys())
    messages += [f"no row for {kernel}, {line}: record.py --write adds one"
                 for kernel, line in missing[:MOST_ROWS]]
    messages += [f"no row for {kernel}: record.py --write adds some"
                 for _, kernel, _ in unknown(rows) if kernel.startswith("variant:")]
    messages += changes.check_history(rows)
    print(*messages, sep="\n")
    return 1 if messages else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true")
    what.add_argument("--write", action="store_true")
    what.add_argument("--diff", nargs="?", const="", metavar="COMMIT")
    what.add_argument("--selftest", action="store_true")
    parser.add_argument("--part", default="0/1", metavar="K/N")
    arguments = parser.parse_args()
    if arguments.selftest:
        return changes.selftest()
    rows = stored()
    if arguments.check:
        return check(rows, arguments.part)
    if arguments.write:
        answers = answer(sorted(rows))
        new = {key: row._replace(columns=answers[key]) for key, row in rows.items()}
        add_questions(new)
        show(changes_of(rows, new))
        store(new)
        return 0
    before = arguments.diff or changes.last_change()[0]
    if before is None:
        print("git shows no former record")
        return 0
    show(changes_of(changes.record_at(before), rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
