#!/usr/bin/env python3
"""Lines of the project, room by room: count_lines.py [REVISION...] [--selftest].

Without a revision, what git tracks in the working tree; with two, the difference, too.
A line is code, comment or blank; one with code and a comment is code. What is not code
(case files, records, tables, pages) is counted whole, as data or as pages. Product is
every room but tests/, .ci/ and what is data.
"""

import collections
import io
import pathlib
import re
import subprocess
import sys

import sources

CODE = {".h": "//", ".cc": "//", ".c": "//", ".cu": "//", ".py": "#", ".sh": "#",
        ".cmake": "#", ".in": "#", "CMakeLists.txt": "#", ".ci/run": "#"}
PAGES = (".md", ".cff", ".1")
TRIAL = ("tests", ".ci", ".github", ".clusterfuzzlite")
KINDS = ("code", "comment", "blank", "pages", "data")


def _mark(name):
    """What starts a comment in the file; None: it is no code."""
    if name.startswith("data/"):
        return None
    return next((mark for end, mark in CODE.items() if name.endswith(end)), None)


def count(name, text):
    """How many lines of each kind a file has."""
    lines, mark = text.splitlines(), _mark(name)
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


def selftest():
    got = count("verify/a.cc", "// Why.\n\nint a;  // b\n  // c\n")
    assert got == {"comment": 2, "blank": 1, "code": 1}, got
    got = count("a.py", '"""One.\n\nTwo."""\n# c\nx = """y"""\n')
    assert got == {"comment": 3, "blank": 1, "code": 1}, got
    assert count("data/a.py", "a\n\n") == {"data": 2}
    assert count("docs/a.md", "a\n\nb") == {"pages": 3}
    rooms = survey([("verify/a/b.cc", "x;\n"), ("verify/m.cc", "y;\n"),
                    ("tests/t.cc", "z;\n"), ("R.md", "r\n")])
    assert set(rooms) == {"verify/a", "verify", "tests", "(top)"}, rooms
    assert totals(rooms)["product"] == {"code": 2, "pages": 1}, totals(rooms)
    print("selftest: ok")


def main(words):
    if words == ["--selftest"]:
        return selftest()
    if len(words) > 2 or any(word.startswith("-") for word in words):
        sys.exit(f"usage: {sys.argv[0]} [REVISION [REVISION]] [--selftest]")
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
