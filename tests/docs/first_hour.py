#!/usr/bin/env python3
"""A newcomer's first hour, from README to a red pull request: first_hour.py LOCKSTEP
[PART...].

Every line that is typed stands in README.md or docs/, and is taken from there. A part
whose framework is not here prints `not run: NAME`, which is no pass: the script then
exits with 77, and with 1 where a part failed. The environment that LOCKSTEP_PUBLIC_VENV
names is the user's: Python with NumPy, torch, JAX, pytest, nbclient and ipykernel."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import docs_test

ROOT = docs_test.ROOT
PYTHON = os.path.join(os.environ.get("LOCKSTEP_PUBLIC_VENV", ""), "bin", "python")
if not os.path.exists(PYTHON):
    PYTHON = sys.executable

NOTEBOOK = """
import nbformat, nbclient, sys
cells = [nbformat.v4.new_code_cell(text) for text in open(sys.argv[1]).read().split("#CELL#")]
book = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(book, kernel_name="python3").execute()
print("\\n".join(o.get("text") or str(o.get("data", "")) for c in book.cells for o in c.outputs))
"""


class NotHere(Exception):
    """What a part needs and this machine does not have."""


class Hour:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, pathlib.Path(scratch)
        self.environment = {
            **os.environ, "PYTHONPATH": str(ROOT / "python"), "LOCKSTEP_PROGRAM": program,
            "LOCKSTEP_PYTHON": PYTHON, "PYTHONDONTWRITEBYTECODE": "1"}

    def needs(self, *modules):
        for module in modules:
            if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True,
                              check=False).returncode:
                raise NotHere(module)

    def run(self, words, code, *said):
        done = subprocess.run(words, cwd=self.scratch, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        assert done.returncode == code, f"exit {done.returncode}, not {code}\n{done.stdout}"
        for word in said:
            assert word in done.stdout, f"no {word!r} in\n{done.stdout}"
        return done.stdout

    def python(self, text, code, *said):
        (self.scratch / "mine.py").write_text(text)
        return self.run([PYTHON, "mine.py"], code, *said)

    def page(self, name, only=None):
        """The commands of a page, what they print compared with what it shows."""
        text = (ROOT / name).read_text()
        if only:
            text = only(text)
        ran, failures = docs_test.run_page(name, text, self.program, self.scratch)
        assert ran and not failures, "\n".join(failures)


def python_blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.S)


def section(text, head, end):
    return text[text.index(head):text.index(end)]


def numpy_kernel(hour):
    hour.needs("numpy", "ml_dtypes")
    code, = python_blocks("README.md")
    hour.python(code, 0)
    hour.python(code.replace("j <= i,", "j <= i + 1,"), 1, "lockstep.errors.Failed",
                "envelope (o)")


def torch_kernel(hour):
    hour.needs("torch")
    hour.page("docs/gpu.md", lambda text: section(text, "## torch", "## JAX"))


def jax_kernel(hour):
    hour.needs("jax")
    hour.page("docs/gpu.md", lambda text: section(text, "## JAX", "## CUDA"))


def window_bug(hour):
    hour.needs("numpy", "ml_dtypes")
    hour.page("docs/tutorial-python.md",
              lambda text: section(text, "## The kernel", "## The same in torch"))


def in_pytest(hour):
    hour.needs("numpy", "ml_dtypes", "pytest")
    marked, = (b for b in python_blocks("docs/python.md") if "@lockstep.parametrize" in b)
    (hour.scratch / "attend_test.py").write_text(
        f"import sys; sys.path.insert(0, {str(ROOT / 'python/examples')!r})\n"
        "import lockstep\nfrom numpy_attention import attend as right\n\n" + marked)
    hour.run([PYTHON, "-m", "pytest", "-q", "-p", "lockstep.pytest_plugin",
              "-p", "no:cacheprovider", "attend_test.py"], 0, "2 passed")


def notebook_cell(hour):
    hour.needs("numpy", "ml_dtypes", "nbformat", "nbclient", "ipykernel")
    code, = python_blocks("README.md")
    (hour.scratch / "cells.py").write_text(
        code.replace("lockstep.verify(my", "report = lockstep.verify(my").replace(
            ".check()", "") + "#CELL#\nprint(report)\nreport")
    hour.run([PYTHON, "-c", NOTEBOOK, "cells.py"], 0, "1 case: 1 pass",
             "judged in this process")


def c_kernel(hour):
    if not shutil.which("gcc"):
        raise NotHere("gcc")
    hour.page("docs/candidates.md",
              lambda text: section(text, "## A shared object", "Four case files"))


def install(hour):
    """`cmake --install` of a build, and a project that finds it."""
    build = pathlib.Path(hour.program).parents[1]
    page = (ROOT / "docs/api.md").read_text()
    assert "lockstep_installed\ncmake --install build/release --prefix" in page
    if not (build / "pages").is_dir():
        raise NotHere("a build of lockstep_installed")
    prefix = hour.scratch / "prefix"
    hour.run(["cmake", "--install", str(build), "--prefix", str(prefix)], 0)
    found, = re.findall(r"```cmake\n(.*?)```", page, re.S)
    example, shown = re.findall(r"```cpp\n(.*?)```\n```text\n(.*?)```", page, re.S)[0]
    (hour.scratch / "mine.cc").write_text(example)
    (hour.scratch / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(mine CXX)\n"
        + found.replace("target_link", "add_executable(mine mine.cc)\ntarget_link"))
    hour.run(["cmake", "-S", ".", "-B", "built", "-G", "Ninja",
              "-DCMAKE_CXX_COMPILER=clang++-19", f"-DCMAKE_PREFIX_PATH={prefix}"], 0)
    hour.run(["cmake", "--build", "built"], 0)
    hour.run(["built/mine"], 0, shown)
    hour.run([str(prefix / "bin/lockstep"), "--version"], 0, "lockstep ")


def own_ids(hour):
    hour.needs("numpy")
    hour.page("docs/faq.md")


def red_pull_request(hour):
    hour.page("docs/ci.md",
              lambda text: section(text, "## 1. A kernel", "## Exit codes"))


# All of them, in the order of the hour.
PARTS = (numpy_kernel, torch_kernel, jax_kernel, window_bug, in_pytest, notebook_cell, c_kernel,
         install, own_ids, red_pull_request)


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    failed = missing = 0
    sys.executable = PYTHON  # of the commands that pages show
    with tempfile.TemporaryDirectory() as programs:
        os.symlink(program, os.path.join(programs, "lockstep"))
        os.environ["PATH"] = os.pathsep.join(
            [programs, os.path.dirname(PYTHON), os.environ["PATH"]])
        os.environ.setdefault("LOCKSTEP_PUBLIC_VENV", os.path.dirname(os.path.dirname(PYTHON)))
        chosen = [p for p in PARTS if p.__name__ in sys.argv[2:]] or PARTS
        for part in chosen:
            with tempfile.TemporaryDirectory() as scratch:
                try:
                    part(Hour(program, scratch))
                    print(f"passed: {part.__name__}", flush=True)
                except NotHere as what:
                    missing += 1
                    print(f"not run: {part.__name__}, without {what}", flush=True)
                except AssertionError as error:
                    failed += 1
                    print(f"FAILED: {part.__name__}\n{error}", flush=True)
    print(f"{len(chosen) - failed - missing} of {len(chosen)} parts passed, {missing} not run")
    return 1 if failed else 77 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
