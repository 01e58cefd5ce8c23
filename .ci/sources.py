"""What the structural checks share: the project's files, and how a check reports.

A check is a function `check(root) -> list of Finding`. Run as a program it judges
the checkout it lies in; with --selftest it judges small planted trees instead and
fails unless every planted defect is found and the clean control is not.
"""

import dataclasses
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = ("reference", "optimized", "verify", "fuzz", "bench", "python", "tests")


@dataclasses.dataclass(frozen=True)
class Finding:
    path: str
    line: int
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.message}"


def files(root, suffixes):
    """Project files below the rooms, as sorted POSIX paths relative to root.

    In a checkout: what git tracks or would track, so that build trees and other
    ignored files are never judged.
    """
    git = subprocess.run(
        ["git", "-C", str(root), "ls-files", "--cached", "--others",
         "--exclude-standard", "-z"], capture_output=True, check=False)
    top = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "--show-toplevel"],
        capture_output=True, text=True, check=False).stdout.strip()
    if git.returncode == 0 and top and pathlib.Path(top) == pathlib.Path(root):
        names = [n for n in git.stdout.decode().split("\0") if n]
    else:
        names = [p.relative_to(root).as_posix()
                 for p in pathlib.Path(root).rglob("*") if p.is_file()
                 and "build" not in p.relative_to(root).parts[:1]]
    return sorted(n for n in names
                  if n.endswith(suffixes) and (pathlib.Path(root) / n).exists())


def in_rooms(names):
    return [n for n in names if n.split("/")[0] in ROOMS]


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"'
    r'|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def code_only(text):
    """The text with comments and literals blanked, line breaks kept.

    The names in #include lines survive: they are not string literals.
    """
    def blank(match):
        start = text.rfind("\n", 0, match.start()) + 1
        if text[start:match.start()].lstrip().startswith("#include"):
            if match.group().startswith('"'):
                return match.group()
        return re.sub(r"[^\n]", " ", match.group())
    return _TOKEN.sub(blank, text)


def _plant(tree):
    root = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-selftest-"))
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def selftest(check, clean, planted):
    """clean: {path: text}. planted: list of (path, text, words of the finding)."""
    bad = 0
    found = check(_plant(clean))
    if found:
        bad += 1
        print("selftest: the clean control was reported:", *found, sep="\n  ")
    for path, text, words in planted:
        found = check(_plant({**clean, path: text}))
        if not any(f.path == path and words in f.message for f in found):
            bad += 1
            print(f"selftest: survived: {path}: {words!r}; found: "
                  f"{[str(f) for f in found]}\n{text}")
    print(f"selftest: {len(planted)} planted defects, {bad} problems")
    return 1 if bad else 0


def main(check, clean, planted):
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest(check, clean, planted))
    if sys.argv[1:]:
        sys.exit(f"usage: {sys.argv[0]} [--selftest]")
    found = check(ROOT)
    for finding in found:
        print(finding)
    name = pathlib.Path(sys.argv[0]).name
    print(f"{name}: {len(found)} findings" if found else f"{name}: ok")
    sys.exit(1 if found else 0)
