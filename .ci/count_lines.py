#!/usr/bin/env python3
"""Lines of the project: count_lines.py [REVISION [REVISION]] | --budget | --selftest.

Without a revision, what git tracks in the working tree, room by room; with two, the
difference, too. A line is code, comment or blank; one with code and a comment is code.
Code is whatever a compiler or an interpreter reads, or a wheel installs, in any folder.
The rest (case files, records, tables, pages) is counted whole, as data or as pages.
Product is the code of every room but tests/ and .ci/.

--budget holds the working tree against .ci/budget.txt, whose lines are these:
  NAME N          code, core or tests: lines of code, at most
  NAME +N WHY     a sum that a piece of work may add to them
  comments P      percent of the product's lines of code that are comments, at least
  format HASH     of every .clang-format
N may not be larger than the former version of the file allowed with its sums, P not
smaller, and HASH stays.
"""

import collections
import hashlib
import io
import pathlib
import re
import subprocess
import sys

import sources

CODE = {**dict.fromkeys((".h", ".cc", ".c", ".cpp", ".cu", ".inc", ".js"), "//"),
        **dict.fromkeys((".py", ".pyi", ".sh", ".cmake", ".in", "CMakeLists.txt",
                         "Containerfile", "Dockerfile"), "#"),
        ".css": "/*", ".html": "<!--"}
PAGES = (".md", ".cff", ".1")
TRIAL = ("tests", ".ci", ".github")
KINDS = ("code", "comment", "blank", "pages", "data")
CORE = ("reference", "verify/base", "verify/profile", "verify/oracle", "verify/allowed",
        "verify/judge")
# They have ledgers of their own: measurements, and the record of verdicts.
APART = ("tests/power/", "tests/record/")
BUDGET = ".ci/budget.txt"


def _mark(name, lines):
    """What starts a comment in the file; None: it is no code."""
    if lines and lines[0].startswith("#!"):
        return "#"
    return next((mark for end, mark in CODE.items() if name.endswith(end)), None)


def count(name, text):
    """How many lines of each kind a file has."""
    lines = text.splitlines()
    mark = _mark(name, lines)
    if mark is None:
        return {"pages" if name.endswith(PAGES) else "data": len(lines)}
    kinds = collections.Counter()
    docstring = False
    for line in map(str.strip, lines):
        quotes = line.count('"""') if mark == "#" else 0
        if not line:
            kinds["blank"] += 1
        elif docstring or line.startswith((mark, '"""')):
            kinds["comment"] += 1
        else:
            kinds["code"] += 1
            quotes = 0  # a string of code, such as a usage text, is code
        docstring ^= quotes % 2 == 1
    return kinds


def _git(*words, **more):
    return subprocess.run(["git", "-C", str(sources.ROOT), *words], check=True,
                          capture_output=True, **more).stdout


def _files(revision):
    """(name, text) of what git tracks."""
    if revision is None:
        for name in _git("ls-files", "-z").decode().split("\0"):
            path = sources.ROOT / name
            if path.is_file():
                yield name, path.read_text(errors="replace")
        return
    rows = [re.match(r"\d+ blob (\w+)\t(.*)", row, re.DOTALL) for row in
            _git("ls-tree", "-r", "-z", revision).decode().split("\0")]
    rows = [row.groups() for row in rows if row]
    out = io.BytesIO(_git("cat-file", "--batch",
                          input="\n".join(row[0] for row in rows).encode()))
    for _, name in rows:
        size = int(out.readline().split()[2])
        yield name, out.read(size + 1)[:-1].decode(errors="replace")


def survey(files):
    """room -> kind -> lines; rooms of the top, and those of verify/."""
    rooms = collections.defaultdict(collections.Counter)
    for name, text in files:
        parts = pathlib.PurePosixPath(name).parts
        room = "/".join(parts[:2 if parts[0] == "verify" and len(parts) > 2 else 1])
        rooms[room if len(parts) > 1 else "(top)"].update(count(name, text))
    return rooms


def totals(rooms):
    sums = {"product": collections.Counter(), "tests": collections.Counter()}
    for room, kinds in rooms.items():
        sums["tests" if room in TRIAL else "product"].update(kinds)
    return sums


def show(rooms, before=None):
    print(f"{'':24}" + "".join(f"{kind:>9}" for kind in KINDS))
    for room in sorted(rooms.keys() | (before or {}).keys()):
        if before is None:
            row = [rooms[room][kind] for kind in KINDS]
        else:
            row = [rooms.get(room, {}).get(kind, 0) - before.get(room, {}).get(kind, 0)
                   for kind in KINDS]
        if any(row):
            print(f"{room:24}" + "".join(
                f"{n:{'+' if before is not None else ''}9d}" for n in row))


def measure(files):
    """What the budget is about."""
    files = list(files)
    everything = survey(files)
    product = totals(everything)["product"]
    kept = survey(file for file in files if not file[0].startswith(APART))
    formats = sorted((name, text) for name, text in files
                     if name.endswith(".clang-format"))
    return {"code": product["code"],
            "core": sum(everything[room]["code"] for room in CORE),
            "tests": totals(kept)["tests"]["code"],
            "comments": round(100 * product["comment"] /
                              max(product["code"] + product["comment"], 1), 2),
            "format": hashlib.sha256(repr(formats).encode()).hexdigest()[:16]}


def read_budget(text):
    """name -> (value, sums allowed beyond it)."""
    values, sums = {}, collections.Counter()
    for number, line in enumerate(text.splitlines(), 1):
        name, value, *why = line.split("#")[0].split(None, 2) + ["", ""]
        if not name:
            continue
        try:
            if value.startswith("+"):
                if not why[0]:
                    raise ValueError("a sum wants a reason behind it")
                sums[name] += int(value)
            else:
                values[name] = (value if name == "format" else
                                float(value) if name == "comments" else int(value))
        except ValueError as error:
            sys.exit(f"{BUDGET}:{number}: {error}")
    return {name: (value, sums[name]) for name, value in values.items()}


def overdrawn(found, budget, before=None):
    """A message for every line of the budget that does not hold. `before`: the former
    budget; None: it is not known."""
    messages = [f"{BUDGET} has no line '{name}'" for name in found if name not in budget]
    for name, (value, more) in budget.items():
        if name not in found:
            messages.append(f"{BUDGET}: '{name}' is nothing that is counted")
            continue
        old, old_more = (before or {}).get(name, (value, 0))
        if name == "format":
            if found[name] != value:
                messages.append(f".clang-format is frozen: its hash is {found[name]}, "
                                f"{BUDGET} has {value}")
            worse = value != old
        elif name == "comments":
            if found[name] < value:
                messages.append(f"comments are {found[name]} % of the product's lines, "
                                f"and {BUDGET} wants {value} %")
            worse = value < old
        else:
            if found[name] > value + more:
                messages.append(f"{name}: {found[name]} lines of code, "
                                f"{found[name] - value - more} more than the "
                                f"{value + more} of {BUDGET}")
            worse = value > old + old_more
        if worse:
            messages.append(f"{BUDGET}: {name} {value} is looser than {old} before; what "
                            f"a piece of work may add is a line '{name} +N WHY'")
    return messages


def _former_budget(text):
    """The last committed version that is another than `text`; None: there is none."""
    for commit in _git("log", "-2", "--format=%H", "--", BUDGET).decode().split():
        former = _git("show", f"{commit}:{BUDGET}").decode()
        if former != text:
            return read_budget(former)
    return None


def check_budget():
    found = measure(_files(None))
    text = (sources.ROOT / BUDGET).read_text(encoding="utf-8")
    budget, before = read_budget(text), _former_budget(text)
    if before is None:
        print(f"git shows no former {BUDGET}: its numbers are not compared with any")
    messages = overdrawn(found, budget, before)
    for name in ("code", "core", "tests"):
        print(f"{name:6}{found[name]:8} of {sum(budget.get(name, (0, 0)))}")
    print(*messages, f"budget: {len(messages)} findings" if messages else "budget: ok",
          sep="\n")
    return 1 if messages else 0


def selftest_budget():
    """Every way to overdraw is seen, and what keeps to the budget is not."""
    files = [("verify/judge/a.cc", "// Why.\nx;\ny;\n"), ("fuzz/b.inc", "z;\n"),
             ("tests/t.py", "x\n"), ("tests/record/r.py", "x\ny\n"),
             (".clang-format", "BasedOnStyle: Google\n")]
    found = measure(files)
    assert {**found, "format": 0} == {"code": 3, "core": 2, "tests": 1,
                                      "comments": 25.0, "format": 0}, found
    text = (f"# Lines.\ncode 2\ncode +1 a reason\ncore 2\ntests 1\ncomments 9.4\n"
            f"format {found['format']}\n")
    budget = read_budget(text)
    assert not overdrawn(found, budget, budget), overdrawn(found, budget, budget)
    for name, text in (("fuzz/c.js", "a\n"), ("a/b.html", "<p>\n"), ("a/x.pyi", "a\n"),
                       ("data/c.py", "a\n"), ("bench/tool", "#!/bin/sh\nls\n")):
        assert overdrawn(measure(files + [(name, text)]), budget), name
    for change, word in (
            ({"code": 4}, "code"), ({"core": 3}, "core"), ({"tests": 2}, "tests"),
            ({"comments": 9.39}, "comments"), ({"format": "0"}, "frozen")):
        messages = overdrawn({**found, **change}, budget, budget)
        assert len(messages) == 1 and word in messages[0], (change, messages)
    nested = files + [("examples/.clang-format", "ColumnLimit: 200\n")]
    assert "frozen" in overdrawn(measure(nested), budget)[0]
    # Looser than the former budget; the sum of a former one may be made its own.
    for name, value in (("code", 4), ("core", 3), ("comments", 9.0), ("format", "0")):
        worse = {**budget, name: (value, 0)}
        assert any("looser" in line for line in overdrawn(found, worse, budget)), name
    assert not overdrawn(found, {**budget, "code": (3, 0)}, budget)
    assert overdrawn(found, {}, None)


def selftest():
    got = count("verify/a.cc", "// Why.\n\nint a;  // b\n  // c\n")
    assert got == {"comment": 2, "blank": 1, "code": 1}, got
    got = count("a.py", '"""One.\n\nTwo."""\n# c\nx = """y"""\n')
    assert got == {"comment": 3, "blank": 1, "code": 1}, got
    assert count("data/a.cases", "a\n\n") == {"data": 2}
    assert count("verify/bugs.inc", "a\n// b\n") == {"code": 1, "comment": 1}
    assert count("bench/tool", "#!/bin/sh\nls\n") == {"comment": 1, "code": 1}
    assert count("docs/a.md", "a\n\nb") == {"pages": 3}
    rooms = survey([("verify/a/b.cc", "x;\n"), ("verify/m.cc", "y;\n"),
                    ("tests/t.cc", "z;\n"), ("R.md", "r\n")])
    assert set(rooms) == {"verify/a", "verify", "tests", "(top)"}, rooms
    assert totals(rooms)["product"] == {"code": 2, "pages": 1}, totals(rooms)
    selftest_budget()
    print("selftest: ok")


def main(words):
    if words == ["--selftest"]:
        return selftest()
    if words == ["--budget"]:
        return check_budget()
    if len(words) > 2 or any(word.startswith("-") for word in words):
        sys.exit(f"usage: {sys.argv[0]} [REVISION [REVISION]] | --budget | --selftest")
    surveys = []
    for revision in words or [None]:
        surveys.append(survey(_files(revision)))
        print(f"\n{revision or 'working tree'}")
        show({**surveys[-1], **totals(surveys[-1])})
    if len(surveys) == 2:
        print(f"\nfrom {words[0]} to {words[1]}")
        before, after = ({**s, **totals(s)} for s in surveys)
        show(after, before)
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
