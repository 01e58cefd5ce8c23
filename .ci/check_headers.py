#!/usr/bin/env python3
"""Every header compiles alone: check_headers.py [BUILD_DIR] | --selftest.

A header that leans on what its includers happened to include first breaks the next
includer. foo.cc includes foo.h first, so the sub-project of tests/install/, which has
neither precompiled headers (cmake/prelude.h) nor batches, proves foo.h of the libraries
it builds, of verify/ by night; the others are compiled here, where a header that brings
<string> and <vector> starts with these parsed: they hide nothing that it lacks. Flags come
from the build's compile_commands.json.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import tempfile

import compiling
import sources


# The libraries of the sub-project.
PROVED = re.compile(r"(reference|optimized|verify)/(?!(cli|host|selftest)/)")


# What takes most of a header's time, in the order of preference; for one that brings all
# of a row, the row is parsed once: 58 s for 87 (two cores of an AMD EPYC, family 25).
COSTLY = (("hwy/highway.h", "optional", "string", "vector"), ("hwy/highway.h",),
          ("gtest/gtest.h",), ("nlohmann/json.hpp",),
          ("cmath", "functional", "map", "memory", "optional", "span", "string",
           "variant", "vector"),
          ("memory", "optional", "span", "string", "vector"),
          ("optional", "string", "vector"), ("string",), ("vector",))


def brought(root, header, known):
    """The names that the header includes, itself or through the project's own."""
    if header not in known:
        known[header] = set()  # a circle ends here
        text = (root / header).read_text(encoding="utf-8")
        for name in re.findall(r'^ *# *include *["<](.*)[">]', text, re.MULTILINE):
            own = (root / name).is_file()
            known[header] |= brought(root, name, known) if own else {name}
    return known[header]


class Alone:
    """Compiles headers, each by itself."""

    def __init__(self, compiler, flags, root):
        self.command = [compiler, *flags]
        self.root = root
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-headers-"))
        self.known = {}
        self.parsed = {}  # row of COSTLY: the arguments that name its parsed form

    def parse(self, row):
        if row not in self.parsed:
            header = self.folder / f"{len(self.parsed)}.h"
            header.write_text("".join(f"#include <{name}>\n" for name in row))
            made = f"{header}.pch"
            code, output = compiling.run(
                [*self.command, "-x", "c++-header", str(header), "-o", made])
            if code != 0:
                sys.exit(f"check_headers.py: {row} does not compile: {output[:400]}")
            self.parsed[row] = ["-include-pch", made]
        return self.parsed[row]

    def row(self, header):
        """The arguments for the costliest row that the header brings."""
        names = brought(self.root, header, self.known)
        found = next((row for row in COSTLY if names.issuperset(row)), None)
        return self.parse(found) if found and "clang" in self.command[0] else []

    def error(self, header, start):
        """None, or the first error of a file that includes nothing but the header."""
        code, output = compiling.run(
            [*self.command, *start, "-x", "c++", "-fsyntax-only", "-Wall", "-Wextra",
             "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable", "-"],
            stdin=f'#include "{header}"\n')
        if code == 0:
            return None
        errors = [line for line in output.splitlines()
                  if re.search(r"\b(?:error|fatal error):", line)]
        return f"{header}: does not compile alone: {(errors or [output])[0]}"

    def check(self, headers):
        starts = [self.row(header) for header in headers]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(self.error, headers, starts))
        shutil.rmtree(self.folder)
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
    # One that brings a costly header through another, and lacks a third.
    (root / "lacks.h").write_text(
        "#ifndef K_H_\n#define K_H_\n#include \"alone.h\"\n"
        "inline std::map<int, int> K() { return {}; }\n#endif\n")
    compiler = os.environ.get("CXX", "clang++-19")
    alone = Alone(compiler, ["-std=c++20", f"-I{root}"], root)
    found = alone.check(["alone.h", "leans.h", "lacks.h"])
    started = list(alone.parsed) == [("vector",)]
    headers = ["verify/alone.h", "verify/leans.h", "verify/cli/alone.h", "fuzz/alone.h"]
    for header in headers:
        path = root / header
        path.parent.mkdir(parents=True, exist_ok=True)
        first = "<vector>" if "leans" in header else f'"{header}"'
        path.with_suffix(".cc").write_text(f"// Its own first?\n#include {first}\n")
    left = unproved(root, headers, {h.replace(".h", ".cc") for h in headers})
    none = unproved(root, headers[:1], {})
    ok = ([message.split(":")[0] for message in found] == ["leans.h", "lacks.h"] and
          started and left == headers[1:] and none == headers[:1])
    print("selftest:", "ok" if ok else
          f"expected leans.h and lacks.h, got {found}, {started}, {left}, {none}")
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
    flags = compiling.include_flags(commands.values())
    found = Alone(compiler, flags, sources.ROOT).check(others)
    for message in found:
        print(message)
    print(f"check_headers.py: {len(headers)} headers, {len(headers) - len(others)} "
          f"of them first in their own file, {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
