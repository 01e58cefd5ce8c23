#!/usr/bin/env python3
"""data/regressions: every file passes with its candidate, and only ever grew.

usage: regressions_test.py LOCKSTEP
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def git(*arguments, cwd=ROOT):
    done = subprocess.run(["git", "-C", str(cwd), *arguments],
                          capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def only_grew(root, path):
    """Whether each version in history begins the next, and the file's text."""
    name = path.relative_to(root).as_posix()
    commits = (git("log", "--reverse", "--format=%H", "--", name, cwd=root) or
               "").split()
    before = ""
    for text in [git("show", f"{c}:{name}", cwd=root) or "" for c in commits
                 ] + [path.read_text()]:
        if not text.startswith(before):
            return False
        before = text
    return True


def passes(lockstep, path):
    """Exit 0, or the wrong exit code's report. A run that skips or distrusts
    every line proves nothing, and exits 5."""
    candidate = path.stem.replace(".", ":", 1)
    done = subprocess.run(
        [lockstep, "verify", "--cases", str(path), "--candidate", candidate],
        capture_output=True, text=True, cwd=ROOT, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def planted():
    """Defects in a small history: an edited line is seen, a new one is not."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        git("init", "-q", cwd=root)
        path = root / "x.cases"
        path.write_text("a\n")
        git("add", "-A", cwd=root)
        git("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t",
            cwd=root)
        path.write_text("a\nb\n")
        grown = only_grew(root, path)
        path.write_text("A\nb\n")
        return grown and not only_grew(root, path)


def main():
    lockstep = sys.argv[1]
    failures = [] if planted() else ["planted defects are not seen"]
    files = sorted((ROOT / "data/regressions").glob("*.cases"))
    for path in files:
        if not only_grew(ROOT, path):
            failures.append(f"{path.name}: a line was edited or deleted")
        good, text = passes(lockstep, path)
        if not good:
            failures.append(f"{path.name}: {text}")
    for failure in failures:
        print(failure)
    print(f"{len(files)} files, {len(failures)} failures")
    return 1 if failures or not files else 0


if __name__ == "__main__":
    sys.exit(main())
