#!/usr/bin/env python3
"""The site of docs/ builds, and every link of it leads somewhere: site_test.py FOLDER.
Exits with 77, and says so, where the index of packages cannot be reached."""
import os
import pathlib
import re
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(folder):
    folder = pathlib.Path(folder).resolve()
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv/bin/python"
    if subprocess.run([python, "-m", "pip", "install", "--quiet", "mkdocs-material"],
                      check=False).returncode:
        print("skipped: pip cannot get mkdocs-material")
        return 77
    done = subprocess.run(
        [python, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder / "site"],
        cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "NO_MKDOCS_2_WARNING": "1"})
    if done.returncode:
        print(done.stdout)
        return 1
    first = (folder / "site/index.html").read_text(encoding="utf-8")
    # What README.md links in docs/ is a page of the site, the rest the repository's.
    assert re.search(r'href="verdicts/"', first), "README.md is not the first page"
    assert re.search(r'href="https://github.com/[^"]*/blob/main/data/captured/', first)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
