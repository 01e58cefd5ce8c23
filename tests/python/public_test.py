#!/usr/bin/env python3
"""Public kernels judged from their libraries: public_test.py numpy|torch. NumPy's with
the Python at hand; torch SDPA and FlexAttention, eager, with that of
LOCKSTEP_PUBLIC_VENV, and where that is not set the test says so and is skipped."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KERNELS = {"numpy": ("numpy_attention.py:attend",),
           "torch": ("torch_sdpa.py:attend_f32", "torch_sdpa.py:attend_bf16",
                     "torch_sdpa.py:attend_f16",
                     "torch_flex.py:eager_f32", "torch_flex.py:eager_bf16",
                     "torch_flex.py:eager_f16",
                     "torch_sdpa.py:gradients_f32", "torch_sdpa.py:gradients_bf16")}
SKIPPED = 77


def drawn(python, kernel):
    """Fifty cases of a right kernel: no alarm, and some that were judged."""
    op = "attention_backward" if "gradients" in kernel else "attention_forward"
    run = subprocess.run(
        [os.environ["LOCKSTEP"], "fuzz", op, "--profile", "from-candidate",
         "--candidate", f"py:python/examples/{kernel}", "--budget", "50cases", "--seed", "7"],
        cwd=ROOT, env={**os.environ, "LOCKSTEP_PYTHON": python}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    last = run.stdout.splitlines()[-1:]
    print(kernel, f"exit {run.returncode}", *last, flush=True)
    passed = re.search(r"(\d+) pass", run.stdout)
    good = run.returncode in (0, 5) and passed and int(passed[1]) > 0
    if not good:
        print(run.stdout)
    return bool(good)


def planted(python):
    """Bugs in the same kernels, found and shrunk."""
    return subprocess.run([python, str(HERE / "planted_test.py"), "sdpa", "flex"],
                          env={**os.environ, "LOCKSTEP_PYTHON": python}).returncode == 0


def long_key(python):
    """One key of 131072, found from pytest; without the bug there is no alarm."""
    run = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "lockstep.pytest_plugin", "-p",
         "no:cacheprovider", "public_long.py"], cwd=HERE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "LOCKSTEP_PYTHON": python})
    print(run.stdout, flush=True)
    return run.returncode == 1 and "1 failed, 1 passed" in run.stdout \
        and "FAILED public_long.py::without_a_key" in run.stdout


def main(library):
    os.environ.update(LOCKSTEP_PROGRAM=os.environ["LOCKSTEP"], OMP_NUM_THREADS="1",
                      PYTHONPATH=str(ROOT / "python"))
    python = sys.executable
    if library == "torch":
        place = os.environ.get("LOCKSTEP_PUBLIC_VENV")
        if not place:
            print("LOCKSTEP_PUBLIC_VENV names no environment with torch "
                  "(scripts/judge-public-kernels.sh makes one): SDPA and FlexAttention "
                  "are not judged")
            return SKIPPED
        python = os.path.join(place, "bin", "python")
    good = [drawn(python, kernel) for kernel in KERNELS[library]]
    if library == "torch":
        good += [planted(python), long_key(python)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
