#!/usr/bin/env python3
"""clang-tidy with the short allow-list of .clang-tidy, over the libraries.

  check_tidy.py [BUILD_DIR] | --selftest

clang-tidy costs seconds a file, so a file is skipped when an identical one passed
before: the key is a hash of its preprocessed text, the configuration and the tool's
version (compiling.py).
"""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time

import compiling
import sources

CLANG_TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-19")
# The tests' macros and the benchmarks' registration are not ours to judge.
JUDGED = ("reference/", "optimized/", "verify/", "fuzz/")


def clean_flags(arguments):
    """The arguments without launcher, output and input."""
    start = next(i for i, a in enumerate(arguments) if "ccache" not in a) + 1
    rest, flags = iter(arguments[start:]), []
    for argument in rest:
        if argument in ("-o", "-MF", "-MT"):
            next(rest)
        elif argument not in ("-c", "--", "-MD") and not argument.endswith(".cc"):
            flags.append(argument)
    return flags


def key_of(path, flags):
    _, version = compiling.run([CLANG_TIDY, "--version"])
    config = (sources.ROOT / ".clang-tidy").read_text()
    # Comments that silence a check are not in the preprocessed text.
    own = pathlib.Path(sources.ROOT, path).read_text(encoding="utf-8")
    return compiling.key_of(["clang++-19", *flags, path], own, config, version)


def judge(path, flags, use_cache=True):
    """Messages of clang-tidy for one file, empty when it passes."""
    key = key_of(path, flags) if use_cache else None
    if compiling.passed_before("tidy", key):
        return "", True
    code, output = compiling.run(
        [CLANG_TIDY, "--quiet", "--warnings-as-errors=*",
         f"--config-file={sources.ROOT / '.clang-tidy'}", path, "--", *flags,
         "-Wno-unknown-warning-option", "-Wno-error"])
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
    bad = 0
    for name, (text, words) in defects.items():
        (root / name).write_text(text)
        output, _ = judge(str(root / name), ["-std=c++20"], use_cache=False)
        if bool(output) != bool(words) or words not in output:
            bad += 1
            print(f"selftest: {name}: expected {words!r}, got {output!r}")
    print(f"selftest: {len(defects) - 1} planted defects, {bad} problems")
    return 1 if bad else 0


def main():
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    start = time.monotonic()
    todo = {path: clean_flags(arguments) for path, arguments in
            compiling.commands(compiling.build_dir()).items()
            if path.startswith(JUDGED)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for output, hit in pool.map(lambda item: judge(*item), todo.items()):
            results.append((output, hit))
            if output:
                print(output, flush=True)
    failed = sum(1 for output, _ in results if output)
    print(f"check_tidy.py: {len(results)} files, "
          f"{sum(1 for _, hit in results if hit)} unchanged, {failed} with "
          f"findings, {time.monotonic() - start:.0f} s")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
