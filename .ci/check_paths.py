#!/usr/bin/env python3
"""Files and pages that comments and docs cite exist: check_paths.py [--selftest].

Judged are words that begin with a top-level folder (`docs/plans.md`, `verify/case.*`,
`optimized/simd/`), wherever they stand in comments, docs, scripts and build files, and
the links of Markdown pages. A pattern must match something; a name in capitals, such
as docs/NAME.md, stands for any.
"""

import io
import pathlib
import posixpath
import re
import tokenize

import sources
from sources import Finding

FOLDERS = ("reference", "optimized", "verify", "fuzz", "bench", "tests", "data",
           "examples", "python",
           "docs", "scripts", "cmake", ".ci", ".github")
SUFFIXES = (".md", ".h", ".cc", ".py", ".sh", ".txt", ".cmake", ".yml", "run")
CITED = re.compile(r"(?<![\w./$}-])(?:%s)/[\w./*{},+-]*" %
                   "|".join(re.escape(f) for f in FOLDERS))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def strip_end(word):
    """Without the punctuation of the sentence that it ends."""
    return re.sub(r"[.,{+-]+$", "", word)


def alternatives(word):
    """a.{h,cc} -> a.h, a.cc"""
    match = re.search(r"\{([^{}]*)\}", word)
    if not match:
        return [word]
    return [name for part in match.group(1).split(",")
            for name in alternatives(
                word[:match.start()] + part + word[match.end():])]


def exists(root, word):
    if re.search(r"[A-Z]{2,}", posixpath.basename(word)) and not (
            root / word).exists():
        return "README" not in word and "LICENSE" not in word
    if "*" in word:
        return any(root.glob(word.rstrip("/")))
    base = root / word.rstrip("/")
    if base.exists() or (root / (word + ".in")).exists():
        return True
    # A unit by its stem, a macro's or a header's folder.
    return not posixpath.splitext(word)[1] and any(
        base.parent.glob(base.name + ".*"))


def lines_to_judge(path, text):
    """(number, line) of what is prose: in C++ and Python the comments alone."""
    if path.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        return
    mark = "//" if path.endswith((".h", ".cc")) else ""
    for number, line in enumerate(text.splitlines(), 1):
        at = line.find(mark)
        if at >= 0:
            yield number, line[at:]


def check(root):
    root = pathlib.Path(root)
    found = []
    for path in sources.files(root, SUFFIXES):
        text = (root / path).read_text(encoding="utf-8")
        for number, line in lines_to_judge(path, text):
            for word in CITED.findall(line):
                for name in alternatives(strip_end(word)):
                    # A build file names folders as it sees them, from its own.
                    near = posixpath.join(posixpath.dirname(path), name)
                    if not exists(root, name) and not (
                            path.endswith("CMakeLists.txt") and
                            exists(root, near)):
                        found.append(Finding(path, number,
                                             f"'{name}' does not exist"))
            if path.endswith(".md"):
                for link in LINK.findall(line):
                    if "://" in link or link.startswith("mailto:"):
                        continue
                    if not (root / path).parent.joinpath(link).exists():
                        found.append(Finding(path, number,
                                             f"the link '{link}' leads nowhere"))
    return found


CLEAN = {
    "docs/a.md": "[b](b.md#x) and `verify/c.{h,cc}`, verify/c.*, docs/NAME.md.\n",
    "docs/b.md": "verify/ and verify/c.\n",
    "verify/d.py": "# in verify/c.cc\nPLANTED = 'verify/gone.cc'\n",
    "verify/c.h": "// docs/a.md says why.\n",
    "verify/c.cc": "int x;  // in verify/c.h\n",
}
PLANTED = (
    ("docs/b.md", "see docs/gone.md\n", "'docs/gone.md' does not exist"),
    ("docs/b.md", "[c](gone.md)\n", "the link 'gone.md' leads nowhere"),
    ("verify/c.h", "// as verify/gone.{h,cc} do\n", "'verify/gone.cc'"),
    ("verify/c.cc", "int x;  // in verify/d*.h\n", "'verify/d*.h'"),
    ("verify/c.cc", "int x;  // in fuzz/e.\n", "'fuzz/e'"),
)

if __name__ == "__main__":
    sources.main(check, CLEAN, PLANTED)
