#!/usr/bin/env python3
"""Runs the shell blocks of README.md and docs/ and compares what they print.

A block is ```sh; a ```text block right after it is its output. Blocks run in
order, in the project's root, in one scratch folder that stands for /tmp, with
the lockstep program under test for build/release/bin/lockstep and on the PATH. `# exits N`
behind a command states its exit code, 0 otherwise. Commands of scripts/ are
not run here: CI itself calls them. Durations and machine facts are wildcards:
a number before " s", the instruction sets that ran or did not, and anything
where the page shows `...`. A ```python block that begins with `# /tmp/NAME` is a file
of that name; commands about one that imports torch or JAX are run by the Python of
LOCKSTEP_PUBLIC_VENV, and not at all where that is not set.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# A job of GitHub Actions has remarks on lines among what is printed.
os.environ.pop("GITHUB_ACTIONS", None)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROFILE = re.compile(r"```profile\n(.*?)```", re.S)
FILE = re.compile(r"```python\n# /tmp/(\S+)\n(.*?)```", re.S)
BLOCK = re.compile(r"```sh\n(.*?)```\n(?:\s*```text\n(.*?)```)?", re.S)


def commands(block):
    """Logical lines: continuation lines joined, comments dropped."""
    for line in block.replace("\\\n", " ").splitlines():
        code = re.search(r"#\s*exits (\d+)", line)
        line = re.sub(r"\s+#\s.*$", "", line).strip()
        if line and not line.startswith("#"):
            yield line, int(code.group(1)) if code else 0


def pattern(expected):
    text = re.escape(expected.strip())
    text = re.sub(r"\d+\\\.\d+\\ s\b", r"[0-9.]+ s", text)
    return text.replace(re.escape("..."), ".*")


def machine(text):
    """Without what depends on the CPU, instruction sets that ran or did not, and on
    the user."""
    text = re.sub(r"^note      the kernel ran as root .*\n", "", text, flags=re.M)
    text = re.sub(r"^not run   .* \(not on this CPU\)\n", "", text, flags=re.M)
    return re.sub(r"\b((?:optimized on (?:AVX|NEON|SVE)\w*(?:, )?)+)",
                  "optimized on SIMD", text)


def write_files(text, scratch):
    """The files that a page shows; returns the names of those for torch or JAX."""
    for name, content in FILE.findall(text):
        pathlib.Path(scratch, name).write_text(content)
    return [name for name, content in FILE.findall(text)
            if re.search(r"^import (torch|jax)\b", content, re.M)]


def environment(block, torch_files):
    """Of the commands of a block; None: what they need is not here."""
    found = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1",
             "LOCKSTEP_PYTHON": sys.executable}
    if any(f"/tmp/{name}" in block for name in torch_files):
        folder = os.environ.get("LOCKSTEP_PUBLIC_VENV")
        if not folder:
            return None
        found["LOCKSTEP_PYTHON"] = os.path.join(folder, "bin", "python")
    return found


def run_page(page, text, program, scratch):
    """Returns (number of commands run, list of failures)."""
    ran, failures = 0, []
    torch_files = write_files(text, scratch)
    for block, expected in BLOCK.findall(text):
        output = ""
        if "scripts/" in block or "cmake" in block or "ctest" in block:
            continue
        variables = environment(block, torch_files)
        if variables is None:
            print(f"{page}: not run without LOCKSTEP_PUBLIC_VENV: {block.splitlines()[0]}")
            continue
        for line, code in commands(block):
            shell = line.replace("/tmp/", f"{scratch}/")
            shell = shell.replace("build/release/bin/lockstep", program)
            shell = shell.replace("build/release/tests/bin",
                                  f"{pathlib.Path(program).parents[1]}/tests/bin")
            done = subprocess.run(["bash", "-c", shell], cwd=ROOT, text=True,
                                  env=variables,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
            ran += 1
            output += done.stdout
            if done.returncode != code:
                failures.append(f"{page}: exit {done.returncode}, not {code}: "
                                f"{line}\n{done.stdout}")
        # A machine that is busy makes a run long enough for lines of progress.
        output = re.sub(r"^\d+ (?:of \d+ )?cases?, .*\bfindings?\n", "",
                        output.replace(f"{scratch}/", "/tmp/"), flags=re.M)
        output = machine(output)
        expected = machine(expected)
        if expected and not re.fullmatch(pattern(expected), output.strip()):
            failures.append(f"{page}: printed\n{output}\nbut shows\n{expected}")
    return ran, failures


def read_profiles(page, text, program, scratch):
    """Whether the program reads each ```profile block that a page shows."""
    ran, failures = 0, []
    for block in PROFILE.findall(text):
        lane = "f32"
        if "lane = bf16" in block or re.search(r"^base = .*bf16", block):
            lane = "bf16"
        file = pathlib.Path(scratch) / "shown.profile"
        file.write_text(block)
        case = f"attention_forward sq=3 skv=5 d=4 lane={lane}"
        variant = "cpu" if lane == "f32" else "flash"
        done = subprocess.run(
            [program, "verify", case, "--candidate", f"variant:{variant}",
             "--profile", str(file)], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False)
        ran += 1
        # Another kernel's answer may be wrong or too little: not unread.
        if done.returncode not in (0, 1, 5):
            failures.append(f"{page}: exit {done.returncode} for the profile\n"
                            f"{block}{done.stdout}")
    return ran, failures


def self_test(program, scratch):
    """The test can fail: a wrong output and a wrong exit code are seen."""
    planted = [
        "```sh\necho one\n```\n```text\ntwo\n```\n",
        "```sh\nfalse\n```\n",
        "```sh\ntrue  # exits 1\n```\n",
    ]
    for text in planted:
        if not run_page("planted", text, program, scratch)[1]:
            return [f"planted defect not seen: {text}"]
    if machine("optimized on AVX2, optimized on AVX3; x\nnot run   AVX3 "
               "(not on this CPU)\ny\n") != "optimized on SIMD; x\ny\n":
        return ["instruction sets are not taken out"]
    bad = "```profile\nbase = cpu-f32\nname = a\nexp_rl = 0\n```\n"
    if not read_profiles("planted", bad, program, scratch)[1]:
        return [f"planted profile not seen: {bad}"]
    good = "```sh\necho took 1.25 s # note\n```\n```text\ntook 9.5 s\n```\n"
    return run_page("planted", good, program, scratch)[1]


def main():
    if len(sys.argv) != 2:
        print("usage: docs_test.py LOCKSTEP", file=sys.stderr)
        return 2
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as scratch, \
            tempfile.TemporaryDirectory() as programs:
        os.symlink(program, os.path.join(programs, "lockstep"))
        os.environ["PATH"] = programs + os.pathsep + os.environ["PATH"]
        failures = self_test(program, scratch)
        total = 0
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")),
                 *sorted((ROOT / "data").rglob("README.md"))]
        for page in pages:
            for check in (run_page, read_profiles):
                ran, found = check(page.relative_to(ROOT), page.read_text(),
                                   program, scratch)
                total += ran
                failures += found
    for failure in failures:
        print(failure)
    print(f"{total} commands run, {len(failures)} failures")
    return 1 if failures or total < 5 else 0


if __name__ == "__main__":
    sys.exit(main())
