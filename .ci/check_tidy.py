#!/usr/bin/env python3
"""clang-tidy with the short allow-list of .clang-tidy, over the libraries.

  check_tidy.py [BUILD_DIR] | --selftest

What the build compiles in a batch is judged in one, too: most of the time goes into
headers that its files share (eight files of a room: 3.6 s together, 16.7 s one by one).
clang-tidy still costs seconds a batch, so one is skipped when an identical one passed
before: the key is a hash of its preprocessed text, the configuration and the tool's
version (compiling.py). Debian's version 19 looks at every name of the standard library,
too: 51.8 s of processor time for eight batches, 18.2 by the version that pip brings.
"""

import concurrent.futures
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import batches
import compiling
import sources

PINNED = "23.1.4"
# The tests' macros and the benchmarks' registration are not ours to judge.
JUDGED = ("reference/", "optimized/", "verify/", "fuzz/")


@functools.cache
def clang_tidy():
    """CLANG_TIDY, or the pinned version in an environment of its own, made where it is
    not there yet, or Debian's."""
    if "CLANG_TIDY" in os.environ:
        return os.environ["CLANG_TIDY"]
    folder = compiling.cache_folder() / f"clang-tidy-{PINNED}"
    tool = folder / "bin" / "clang-tidy"
    try:
        if not tool.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True,
                           capture_output=True)
            subprocess.run([folder / "bin" / "pip", "install", "--quiet", "--timeout", "20",
                            "--retries", "1", f"clang-tidy=={PINNED}"], check=True,
                           capture_output=True)
        return str(tool)
    except (OSError, subprocess.CalledProcessError):
        print(f"check_tidy.py: pip does not bring clang-tidy {PINNED} (offline?), so "
              "clang-tidy-19 judges, in three times the time", flush=True)
        return "clang-tidy-19"


@functools.cache
def compiler_headers():
    """The headers of the build's compiler, omp.h among them, behind the tool's own."""
    code, folder = compiling.run(["clang++-19", "-print-resource-dir"])
    return ["-idirafter", f"{folder.strip()}/include"] if code == 0 else []


def clean_flags(arguments):
    """The arguments without launcher, output and input."""
    start = next(i for i, a in enumerate(arguments) if "ccache" not in a) + 1
    rest, flags = iter(arguments[start:]), []
    for argument in rest:
        if argument in ("-o", "-MF", "-MT"):
            next(rest)
        elif (argument not in ("-c", "--", "-MD") and
              not argument.endswith((".cc", ".cxx"))):
            flags.append(argument)
    return flags


def key_of(unit, files, flags):
    _, version = compiling.run([clang_tidy(), "--version"])
    config = (sources.ROOT / ".clang-tidy").read_text()
    # Comments that silence a check are not in the preprocessed text.
    own = [pathlib.Path(sources.ROOT, path).read_text(encoding="utf-8")
           for path in files]
    return compiling.key_of(["clang++-19", *flags, unit], *own, config, version)


def judge(unit, files, flags, use_cache=True):
    """Messages of clang-tidy for one file or batch of `files`, empty when it passes,
    and whether it passed before."""
    key = key_of(unit, files, flags) if use_cache else None
    if compiling.passed_before("tidy", key):
        return "", True
    code, output = compiling.run(
        [clang_tidy(), "--quiet", "--warnings-as-errors=*",
         f"--config-file={sources.ROOT / '.clang-tidy'}", unit, "--", *flags,
         # The same text once a target shows nothing more.
         "-DLOCKSTEP_ONE_TARGET", "-Wno-unknown-warning-option", "-Wno-error",
         *compiler_headers()])
    if code == 0:
        compiling.remember("tidy", key)
        return "", False
    return output, False


def selftest():
    root = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-selftest-"))
    defects = {
        "clean.cc": ("int Twice(int x) { return 2 * x; }\n", ""),
        "name.cc": ("int twice_me(int x) { return 2 * x; }\n",
                    "readability-identifier-naming"),
        "moved.cc": ("#include <string>\n#include <utility>\n"
                     "int F(std::string s) { std::string t = std::move(s);\n"
                     "  return static_cast<int>(s.size() + t.size()); }\n",
                     "bugprone-use-after-move"),
        "division.cc": ("double F(int a, int b) { return a / b; }\n",
                        "bugprone-integer-division"),
    }
    # Folders of the libraries' names: findings elsewhere are not reported.
    (root / "verify").mkdir()
    for name, (text, _) in defects.items():
        (root / "verify" / name).write_text(text)
    (root / "batch.cxx").write_text("".join(
        f'#include "{root / "verify" / name}"\n' for name in ("clean.cc", "name.cc")))
    judged = {**{root / "verify" / name: words for name, (_, words) in defects.items()},
              root / "batch.cxx": "name.cc:1:5: error: invalid case style"}
    bad = 0
    for path, words in judged.items():
        output, _ = judge(str(path), [], ["-std=c++20"], use_cache=False)
        if bool(output) != bool(words) or words not in output:
            bad += 1
            print(f"selftest: {path.name}: expected {words!r}, got {output!r}")
    print(f"selftest: {len(judged) - 1} planted defects, {bad} problems")
    return 1 if bad else 0


def units(build):
    """(file or batch, its files, flags) for what the build has of the libraries."""
    commands = compiling.commands(build)
    for unit in batches.units(build):
        files = [os.path.relpath(path, sources.ROOT) for path in
                 batches.files_of(unit) or [unit]]
        if files[0].startswith(JUDGED):
            # A batch has files of one folder, and one command.
            yield unit, files, clean_flags(commands[files[0]])


def main():
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    start = time.monotonic()
    todo = list(units(compiling.build_dir()))
    clang_tidy()  # once: two threads that both make its environment break it
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for output, hit in pool.map(lambda unit: judge(*unit), todo):
            results.append((output, hit))
            if output:
                print(output, flush=True)
    failed = sum(1 for output, _ in results if output)
    print(f"check_tidy.py: {sum(len(files) for _, files, _ in todo)} files in "
          f"{len(results)} batches, {sum(1 for _, hit in results if hit)} unchanged, "
          f"{failed} with findings, {time.monotonic() - start:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
