#!/usr/bin/env python3
"""Every header compiles alone: check_headers.py [BUILD_DIR] | --selftest.

A header that leans on what its includers happened to include first breaks the next
includer. foo.cc includes foo.h first, so the sub-project of tests/install/, which has
neither precompiled headers (cmake/prelude.h) nor batches, proves foo.h of the libraries
it builds, of verify/ by night; the others are compiled here. Flags come from the build's
compile_commands.json.
"""

import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

import compiling
import sources


# The libraries of the sub-project.
PROVED = re.compile(r"(reference|optimized|verify)/(?!(cli|host|selftest)/)")


def compile_alone(compiler, flags, header):
    """None, or the first error of a file that includes nothing but header."""
    text = f'#include "{header}"\n'
    command = [compiler, "-x", "c++", "-fsyntax-only", "-Wall", "-Wextra",
               "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable",
               *flags, "-"]
    code, output = compiling.run(command, stdin=text)
    if code == 0:
        return None
    errors = [line for line in output.splitlines()
              if re.search(r"\b(?:error|fatal error):", line)]
    return f"{header}: does not compile alone: {(errors or [output])[0]}"


def check(compiler, flags, headers):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda h: compile_alone(compiler, flags, h), headers)
    return [message for message in found if message]


def includes_first(path, header):
    """Whether the file includes the header before anything else."""
    with open(path, encoding="utf-8") as file:
        first = next((line for line in file if line.startswith("#include")), "")
    return first.strip() == f'#include "{header}"'


def unproved(root, headers, compiled):
    """Headers that their own file, among those compiled as they are, does not include
    first."""
    owners = {h: str(pathlib.Path(h).with_suffix(".cc")) for h in headers}
    return [h for h in headers if owners[h] not in compiled or not PROVED.match(h)
            or not includes_first(root / owners[h], h)]


def selftest():
    root = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-selftest-"))
    (root / "alone.h").write_text(
        "#ifndef A_H_\n#define A_H_\n#include <vector>\n"
        "inline std::vector<int> F() { return {1}; }\n#endif\n")
    (root / "leans.h").write_text(
        "#ifndef L_H_\n#define L_H_\n"
        "inline std::vector<int> G() { return {1}; }\n#endif\n")
    compiler = os.environ.get("CXX", "clang++-19")
    found = check(compiler, ["-std=c++20", f"-I{root}"], ["alone.h", "leans.h"])
    headers = ["verify/alone.h", "verify/leans.h", "verify/cli/alone.h", "fuzz/alone.h"]
    for header in headers:
        path = root / header
        path.parent.mkdir(parents=True, exist_ok=True)
        first = "<vector>" if "leans" in header else f'"{header}"'
        path.with_suffix(".cc").write_text(f"// Its own first?\n#include {first}\n")
    left = unproved(root, headers, {h.replace(".h", ".cc") for h in headers})
    none = unproved(root, headers[:1], {})
    ok = (len(found) == 1 and found[0].startswith("leans.h") and
          left == headers[1:] and none == headers[:1])
    print("selftest:", "ok" if ok else
          f"expected leans.h alone, got {found}, {left}, {none}")
    return 0 if ok else 1


def main():
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    commands = compiling.commands(compiling.build_dir())
    # bench and tests need not compile for a header of the libraries.
    # Those of python/ need nanobind, which pip brings: the wheel's build has them.
    headers = [name for name in
               sources.in_rooms(sources.files(sources.ROOT, (".h",)))
               if not name.startswith("python/")]
    compiler = compiling.compiler_of(next(iter(commands.values())))
    others = unproved(sources.ROOT, headers, commands)
    found = check(compiler, compiling.include_flags(commands.values()), others)
    for message in found:
        print(message)
    print(f"check_headers.py: {len(headers)} headers, {len(headers) - len(others)} "
          f"of them first in their own file, {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
