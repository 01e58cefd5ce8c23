#!/usr/bin/env python3
"""Sentences of the pages are short: check_english.py [--update | --pages | --selftest].

Judged are docs/, README.md and CONTRIBUTING.md: the median of the words of a page's
sentences, and their 90th percentile. A sentence ends at . ! ? or where its paragraph or
list item ends, not at ; or :. Code, tables and headings do not count, and a piece
of code in a line is one word. Pages beyond 18 and 30 words stand in english.json with
what they have; a page fails that got worse than that. --update writes the file anew,
which only lowers numbers or drops pages. --pages lists all pages, longest first.
"""

import json
import pathlib
import re
import sys

import sources
from sources import Finding

MEDIAN, TENTH = 18, 30
RECORD = ".ci/english.json"

_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"[.!?][\"')\]*_]*(?=\s|$)")


def _blocks(text):
    """Paragraphs and list items, each as one line of text."""
    block, code = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            code = not code
            line = ""
        ends = code or not line.strip() or line.lstrip().startswith(("|", "#", "<"))
        if ends or _ITEM.match(line):
            if block:
                yield " ".join(block)
            block = []
        if not ends and not (line.startswith("    ") and not block):
            item = _ITEM.match(line)
            block.append(line[item.end() if item else 0:].strip())
    if block:
        yield " ".join(block)


def sentences(text):
    """Word counts of the sentences of a Markdown page."""
    for block in _blocks(text):
        block = re.sub(r"``.+?``|`[^`]*`", "code", block)
        block = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
        for sentence in _END.split(block):
            words = sum(1 for word in sentence.split() if re.search(r"\w", word))
            if words:
                yield words


def measure(text):
    """(median, 90th percentile), 0 where there are no sentences."""
    counts = sorted(sentences(text))
    if not counts:
        return 0, 0
    return counts[(len(counts) - 1) // 2], counts[(9 * len(counts) + 9) // 10 - 1]


def pages(root):
    return [path for path in sources.files(root, (".md",))
            if path.startswith("docs/") or path in ("README.md", "CONTRIBUTING.md")]


def recorded(root):
    path = root / RECORD
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def check(root):
    root = pathlib.Path(root)
    record = recorded(root)
    findings = []
    for path in pages(root):
        found = measure((root / path).read_text(encoding="utf-8"))
        most = record.get(path, [MEDIAN, TENTH])
        if not (found[0] <= most[0] and found[1] <= most[1]):
            findings.append(Finding(
                path, 1, f"half of the sentences have {found[0]} words or more and a "
                f"tenth {found[1]}; at most {most[0]} and {most[1]} are wanted"))
    return findings


def update(root):
    """Keeps recorded pages that are beyond the limits, with no more than they had."""
    new = {}
    for path, most in recorded(root).items():
        text = (root / path).read_text(encoding="utf-8") if (root / path).exists() else ""
        found = measure(text)
        if not (found[0] <= MEDIAN and found[1] <= TENTH):
            new[path] = [min(a, b) for a, b in zip(found, most)]
    rows = [f'  "{path}": {numbers}' for path, numbers in sorted(new.items())]
    (root / RECORD).write_text("{\n" + ",\n".join(rows) + "\n}\n",
                               encoding="utf-8")


def words(count, end="."):
    return " ".join(["word"] * count) + end + "\n"


CLEAN = {"docs/a.md": "# " + words(40) + "\n| " + words(50) + "\n```\n" + words(60) +
                      "```\n\n" + words(18) + words(20) + words(17, ";") + "\n- " +
                      words(8, "") + "- " + words(9, ""),
         "docs/old.md": words(40), RECORD: '{"docs/old.md": [40, 40]}'}
PLANTED = [
    ("docs/a.md", words(19) * 3, "sentences have 19 words"),
    ("docs/a.md", words(10) * 6 + words(31) * 2, "a tenth 31"),
    ("docs/a.md", "1. " + words(12, ": ") + words(12, ""), "sentences have 24"),
    ("docs/a.md", words(12, " 2 + ") + words(12, ""), "sentences have 25"),
    ("docs/old.md", words(41), "at most 40"),
    ("README.md", words(5) + words(20, "") + "\n" + words(20, "?"), "have 20"),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        sys.exit(update(sources.ROOT))
    if sys.argv[1:] == ["--pages"]:
        for numbers, name in sorted(((measure((sources.ROOT / name).read_text(
                encoding="utf-8")), name) for name in pages(sources.ROOT)), reverse=True):
            print(f"{numbers[0]:4} {numbers[1]:4}  {name}")
        sys.exit(0)
    sources.main(check, CLEAN, PLANTED)
