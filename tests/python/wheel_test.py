"""What the wheel brings beside the module: programs that need no compiler, the case
files, the header, and an extension that shares a process with other C++ libraries."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import lockstep
import lockstep_verify

SOURCE = pathlib.Path(os.environ["LOCKSTEP_SOURCE"])
PACKAGE = pathlib.Path(lockstep.__file__).parent
PROGRAM = pathlib.Path(sys.executable).parent / "lockstep"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False, **more)


def test_case_files_and_the_header_came_along():
    ours = SOURCE / "data/cases"
    brought = {path.name for path in (PACKAGE / "data/cases").iterdir()}
    assert brought == {path.name for path in ours.glob("*.cases")} - {"captured.cases"}
    header = PACKAGE / "include/lockstep/candidate.h"
    assert header.read_bytes() == (
        SOURCE / "verify/host/include/lockstep/candidate.h").read_bytes()


def test_our_kernels_have_the_exact_bits():
    done = run(PROGRAM, "verify", "--cases", PACKAGE / "data/cases/ci.cases")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " bit for bit with the scalar reference" in done.stdout


def test_the_extension_exports_one_function():
    extension, = PACKAGE.glob("_native*.so")
    said = run("nm", "-D", "--defined-only", extension)
    if said.returncode:
        pytest.skip(f"nm is not there: {said.stderr}")
    assert [line.split()[-1] for line in said.stdout.splitlines()] == ["PyInit__native"]


def test_errors_pass_between_libraries_of_cpp():
    """Exceptions and memory of the extension, in a process that has torch's C++
    library where torch is."""
    script = """
try:
    import torch
except ImportError:
    print("no torch")
import gc, numpy as np, lockstep
q = np.ones((1, 1, 4, 8), np.float32)
for n in range(50):
    for call in (lambda: lockstep.Case("attention_forward sq=3"),
                 lambda: lockstep.attention_forward(q, q, q, mask="casual"),
                 lambda: lockstep.mamba3_scan(q, q, q, a=q, dt=q, tau=q, vartheta=q, bq=q, bk=q),
                 lambda: lockstep.block_plan("causal", sq=0, skv=4)):
        try:
            call()
        except lockstep.UsageError:
            continue
        raise SystemExit("nothing was refused")
    case = lockstep.Case("attention_forward sq=5 skv=7 d=8 cap=30 mask=causal")
    o, lse = case.expected()["o"], lockstep.attention_forward(q, q, q)
    del case, o, lse
    gc.collect()
print("ok")
"""
    done = run(sys.executable, "-c", script)
    assert done.returncode == 0 and done.stdout.endswith("ok\n"), done.stdout + done.stderr


def test_the_tutorial(tmp_path, monkeypatch):
    """Its commands print what the page shows, with this package alone."""
    place = SOURCE / "tests/docs/docs_test.py"
    spec = importlib.util.spec_from_file_location("docs_test", place)
    docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(docs)
    outer = docs.environment

    def environment(block, torch_files):
        found = outer(block, torch_files)
        if found:
            found.pop("PYTHONPATH")
        return found

    monkeypatch.setattr(docs, "environment", environment)
    page = "docs/tutorial-python.md"
    ran, failures = docs.run_page(page, (SOURCE / page).read_text(), str(PROGRAM), tmp_path)
    assert ran >= 4 and not failures, "\n".join(failures)


@pytest.mark.parametrize("shadow", ["beside", "over"])
def test_a_foreign_module_is_named(tmp_path, shadow):
    """Another distribution's module of this name, before ours or in its place."""
    foreign = tmp_path / "lockstep"
    if shadow == "over":
        place = tmp_path / "site"
        for name in ("lockstep", "lockstep_verify"):
            (place / name).mkdir(parents=True)
        own = pathlib.Path(lockstep_verify.__file__).parent
        for path in own.glob("*.py"):
            (place / "lockstep_verify" / path.name).write_text(path.read_text())
        foreign = place / "lockstep"
    foreign.mkdir(exist_ok=True)
    (foreign / "__init__.py").write_text("")
    done = run(sys.executable, "-c", "import lockstep_verify as l; l.main()",
               env={**os.environ, "PYTHONPATH": str(foreign.parent)})
    assert done.returncode == 1
    assert f"finds {foreign}/__init__.py, which another package brought" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert ("force-reinstall" in done.stderr) == (shadow == "over")
    (tmp_path / "some_test.py").write_text("def test_it():\n    pass\n")
    done = run(sys.executable, "-m", "pytest", "some_test.py", cwd=tmp_path,
               env={**os.environ, "PYTHONPATH": str(foreign.parent)})
    assert done.returncode != 0
    assert "which another package brought" in done.stdout + done.stderr


def test_the_golden_digests():
    done = run(sys.executable, SOURCE / "tests/data/program_golden.py", PROGRAM)
    assert done.returncode == 0, done.stdout + done.stderr
