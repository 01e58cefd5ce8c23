"""Rows of the record, how they changed, and what a change wants: a reason for what begins
to fail or to pass, and a commit of its own."""

import collections
import contextlib
import fnmatch
import io
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = "tests/record"
MOST_ROWS, EXAMPLES = 20, 3
FAILS, PASSES = ("1", "2", "3", "6"), ("0", "4", "5", "77")


class Row(collections.namedtuple("Row", "file kernel line columns")):
    """columns: {name: value}; None: there is no such row."""

    @property
    def exit(self):
        return (self.columns or {}).get("exit")

    @property
    def wrong(self):
        """Whether it has to be rejected."""
        return (self.kernel.startswith("mutant:") or "!" in self.kernel
                or self.file == "bad.rows")


def parse(file, text):
    rows = {}
    for row in text.splitlines():
        kernel, line, *columns = row.split("\t")
        if (kernel, line) in rows:
            sys.exit(f"{FOLDER}/{file}: two rows for {kernel}, {line}")
        rows[kernel, line] = Row(file, kernel, line,
                                 dict(column.split("=", 1) for column in columns))
    return rows


def text_of(row):
    columns = [f"{name}={value}" for name, value in row.columns.items()]
    return "\t".join([row.kernel, row.line, *columns])


def is_record(name):
    return name.endswith(".rows")


class Change(collections.namedtuple("Change", "old new")):
    """Of one question; a row that is not there is None."""

    @property
    def row(self):
        return self.new or self.old

    @property
    def names(self):
        """Of columns that differ."""
        old, new = ((row.columns if row else {}) for row in self)
        return [name for name in dict.fromkeys([*old, *new])
                if old.get(name) != new.get(name)]

    @property
    def rule(self):
        kind = self.row.kernel.split(":")[0]
        if not self.old or not self.new:
            return f"{self.row.file}, {kind}: " + ("gone" if self.old else "new")
        words = [f"{name} {self.old.columns.get(name)} -> {self.new.columns.get(name)}"
                 if name in ("exit", "verdict") else name for name in self.names]
        return f"{self.row.file}, {kind}: " + ", ".join(words)

    @property
    def serious(self):
        """What wants a reason; else empty."""
        if self.old and not self.new:
            return "the question is gone"
        if not self.old:
            return ""
        if self.row.wrong:
            bad = self.old.exit in FAILS and self.new.exit in PASSES
            return "what is wrong begins to pass" if bad else ""
        bad = self.old.exit in PASSES and self.new.exit not in PASSES
        return "a right kernel begins to fail" if bad else ""


def changes_of(old, new):
    return [Change(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)]


def _show(change):
    print(f"{change.row.kernel}  {change.row.line[:300]}")
    if not change.old or not change.new:
        print("  gone" if change.old else "  new")
        return
    for name in change.names:
        print(f"  {name:8} {change.old.columns.get(name, '')} -> "
              f"{change.new.columns.get(name, '')}")


def show(changes):
    """Up to 20 rows one by one; more by what they have in common."""
    if len(changes) <= MOST_ROWS:
        for change in changes:
            _show(change)
        return
    groups = collections.defaultdict(list)
    for change in changes:
        groups[change.rule].append(change)
    for rule, group in sorted(groups.items(), key=lambda one: -len(one[1])):
        print(f"\n{len(group)} x  {rule}")
        for change in group[:EXAMPLES]:
            _show(change)


def unexplained(changes, reasons):
    """Messages about serious changes for which no reason is given. A reason is a line
    "KERNEL<tab>LINE<tab>WHY"; LINE may have `*`, and KERNEL where the question is gone."""
    given = [line.split("\t") for line in reasons.splitlines()
             if line and not line.startswith("#")]
    messages = [f"reasons.txt: want KERNEL<tab>LINE<tab>WHY, found '{words}'"
                for words in given if len(words) != 3 or not words[2].strip()]
    for change in changes:
        row, why = change.row, change.serious
        if why and not any(
                len(words) == 3 and fnmatch.fnmatchcase(row.line, words[1])
                and (row.kernel == words[0]
                     or not change.new and fnmatch.fnmatchcase(row.kernel, words[0]))
                for words in given):
            messages.append(f"{why}, and reasons.txt has no line for it: "
                            f"{row.kernel}\t{row.line}")
    return messages


# Former versions.


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True,
                          check=False)
    return done.stdout if done.returncode == 0 else None


def last_change():
    """(commit before the record's last change, that change's commit). The latter is None
    where that change is not committed; both are None where git shows no change."""
    paths = f"{FOLDER}/*.rows"
    dirty = git("status", "--porcelain", "--", paths)
    if dirty is None:
        return None, None
    if dirty:
        return "HEAD", None
    commit = (git("log", "-1", "--no-merges", "--format=%H", "--", paths) or "").strip()
    before = commit and git("rev-parse", "--verify", "-q", commit + "^")
    return (before.strip(), commit) if before else (None, None)


def record_at(commit):
    names = (git("ls-tree", "--name-only", commit, FOLDER + "/") or "").split()
    rows = {}
    for name in map(os.path.basename, names):
        if is_record(name):
            rows.update(parse(name, git("show", f"{commit}:{FOLDER}/{name}")))
    return rows


def mixed(commit, names):
    """A message where a commit changes the record and code; `names`: its files."""
    code = [name for name in names if name.split("/")[0] in
            ("reference", "optimized", "verify", "fuzz", "python", "cmake")]
    return [f"{commit[:12]} changes the record and {code[0]}: code and record change in "
            "separate commits"] if code else []


def check_history(rows):
    before, commit = last_change()
    old = record_at(before) if before else {}
    if not old:
        print("git shows no former record: nothing is compared with it")
        return []
    with open(os.path.join(HERE, "reasons.txt"), encoding="utf-8") as file:
        messages = unexplained(changes_of(old, rows), file.read())
    if commit:
        messages += mixed(commit, git("show", "--format=", "--name-only", commit).split())
    return messages


def selftest():
    """What --check is there for is seen, and what it is not there for is not."""
    def rows(*texts):
        found = {}
        for file, text in texts:
            found.update(parse(file, text))
        return found

    bug = "mutant:attn.x\tattention_forward sq=1 skv=2 d=4\texit={}\tverdict={}\tlo={}"
    right = "variant:cpu\tattention_forward sq=1 skv=2 d=4\texit={}\tlo={}"
    theirs = "so:a.c!cap twice\tattention_forward sq=1 skv=2 d=4\texit={}"
    bad = "builtin:reference\tattention_forward sq=0\texit={}\tsay=case: column 22"
    old = rows(("a.rows", bug.format(1, "fail", 0)), ("a.rows", right.format(0, 0)),
               ("foreign.rows", theirs.format(3)), ("bad.rows", bad.format(2)))
    assert not changes_of(old, dict(old))
    assert text_of(next(iter(old.values()))) == bug.format(1, "fail", 0)
    for file, text, names, serious in (
            ("a.rows", bug.format(0, "pass", 0), ["exit", "verdict"], "begins to pass"),
            ("a.rows", bug.format(4, "suspicious", 0), ["exit", "verdict"], "begins to pass"),
            ("a.rows", bug.format(3, "error", 0), ["exit", "verdict"], ""),
            ("a.rows", bug.format(1, "fail", 1), ["lo"], ""),
            ("a.rows", right.format(1, 0), ["exit"], "begins to fail"),
            ("a.rows", right.format("program ended with -11", 0), ["exit"], "begins to fail"),
            ("a.rows", right.format(0, 1), ["lo"], ""),
            ("foreign.rows", theirs.format(77), ["exit"], "begins to pass"),
            ("bad.rows", bad.format(0), ["exit"], "begins to pass")):
        [change] = changes_of(old, {**old, **rows((file, text))})
        assert change.names == names and serious in change.serious, (text, change)
        assert bool(change.serious) == bool(serious), (text, change.serious)
        kernel, line = text.split("\t")[:2]
        assert bool(unexplained([change], "# none\n")) == bool(serious), text
        assert not unexplained([change], f"{kernel}\t{line}\tit had no effect there")
        assert bool(unexplained([change], f"*\t{line}\tany kernel")) == bool(serious)
        assert unexplained([change], f"{kernel}\t{line}\t ")
    fewer = dict(list(old.items())[1:])
    [gone] = changes_of(old, fewer)
    assert "is gone" in gone.serious and unexplained([gone], "")
    assert not unexplained([gone], "mutant:*\t*\tits op is gone")
    [new] = changes_of(fewer, old)
    assert not new.serious and new.rule == "a.rows, mutant: new", new.rule
    assert mixed("0" * 40, ["tests/record/a.rows", "verify/judge/judge.cc"])
    assert not mixed("0" * 40, ["tests/record/a.rows", "tests/record/reasons.txt", "docs/a.md"])
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        many = rows(*(("a.rows", bug.replace("attn.x", f"attn.{n}").format(1, "fail", 0))
                      for n in range(MOST_ROWS + 1)))
        show(changes_of(many, {key: row._replace(columns={**row.columns, "lo": "1"})
                               for key, row in many.items()}))
    text = shown.getvalue()
    assert f"{len(many)} x  a.rows, mutant: lo" in text and text.count("0 -> 1") == EXAMPLES
    print("selftest: ok")
    return 0
