#!/usr/bin/env python3
"""Enforces the tables "Who may include whom" and "The rooms of verify" of
docs/architecture.md, at most 25 files in a folder of verify/, no circle of includes,
and none of folders that lie side by side in a room.

Also: includes are written from the project root and exist, no header that another
layer sees brings Highway along, and include guards are named after their path.
"""

import os
import re

import sources
from sources import Finding

# Layer of a file: the first prefix that matches.
LAYERS = ("reference/contract", "reference", "optimized", "verify/oracle",
          "verify", "fuzz", "bench", "python", "tests")

# Project folders a layer may include from, itself always included.
MAY_INCLUDE = {
    "reference/contract": (),
    "reference": ("reference/contract",),
    "optimized": ("reference/contract",),
    "verify/oracle": ("reference/contract",),
    "verify": ("reference/contract", "reference", "optimized",
               "verify/oracle"),
    "fuzz": ("reference/contract", "verify"),
    "bench": ("reference", "reference/contract", "verify", "optimized"),
    "python": ("reference", "reference/contract", "verify", "optimized"),
    "tests": LAYERS,
}

# The rooms of verify/, floor by floor: a room includes itself and lower floors.
FLOORS = (
    ("base",),
    ("profile", "oracle", "host"),
    ("case", "emulator"),
    ("inputs",),
    ("tables", "allowed"),
    ("ops", "domain"),
    ("candidate",),
    ("causes", "identify"),
    ("judge",),
    ("run",),
    ("report",),
    ("registry",),
    ("selftest",),
    ("cli",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Lower floors that a room keeps out of all the same: what it says must not
# depend on them.
KEEPS_OUT = {
    "oracle": ("base",),
    "host": ("base",),
    "case": ("oracle", "profile"),
    "inputs": ("oracle", "profile", "emulator"),
    "tables": ("oracle", "profile", "emulator"),
    "allowed": ("emulator",),
    "domain": ("oracle", "emulator"),
    "candidate": ("oracle", "domain"),
    "causes": ("oracle", "allowed"),
    "identify": ("oracle", "allowed", "domain"),
    "judge": ("oracle", "emulator", "domain"),
    "report": ("oracle", "emulator"),
}
MOST_FILES = 25

# Foreign headers and the layers that may see them. Anything else with a slash
# or a .h must be the C, C++ or POSIX library's.
FOREIGN = (
    (r"hwy/", ("optimized", "bench", "tests")),
    (r"xsimd/", ("verify/oracle", "tests")),
    (r"omp\.h", ("reference/contract", "verify", "bench", "tests")),
    (r"nanobind/", ("python",)),
    (r"Random123/", ("verify", "tests")),
    (r"xxh", ("verify", "tests")),
    (r"nlohmann/", ("verify", "bench", "tests")),
    (r"CLI/", ("verify", "fuzz", "bench")),
    (r"toml\+\+/", ("verify",)),
    (r"gtest/|gmock/", ("tests",)),
    (r"sanitizer/", ("tests",)),
    (r"benchmark/", ("bench",)),
    (r"(?:[a-z]+mm|x86|cpuid|arm_).*intrin.*|immintrin\.h|cpuid\.h",
     ("optimized", "verify", "bench", "tests")),
)
LIBRARY = re.compile(r"[a-z0-9_]+(\.h)?|sys/[a-z]+\.h|linux/[a-z]+\.h")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def layer_of(path):
    for layer in LAYERS:
        if path.startswith(layer + "/"):
            return layer
    return None


def brings_highway(root, path, seen):
    """Whether a header of optimized/ includes Highway, directly or not."""
    if path.endswith("-inl.h"):
        return True
    if path in seen or not os.path.exists(os.path.join(root, path)):
        return False
    seen.add(path)
    with open(os.path.join(root, path), encoding="utf-8") as file:
        names = [a or b for a, b in INCLUDE.findall(
            sources.code_only(file.read()))]
    return any(name.startswith("hwy/") or brings_highway(root, name, seen)
               for name in names)


def check_project_include(root, path, layer, name):
    made = os.path.join(root, name + ".in")  # CMake's configure_file
    if not os.path.exists(os.path.join(root, name)) and not os.path.exists(made):
        return f'"{name}" is not a path from the project root'
    target = layer_of(name)
    if target is None:
        return f'"{name}" lies outside the rooms'
    if target != layer and target not in MAY_INCLUDE[layer]:
        return f'{layer} may not include "{name}" ({target})'
    if (target == "optimized" and layer == "verify" and
            brings_highway(root, name, set())):
        return f'"{name}" is no public header of optimized: it brings Highway'
    return None


def room_of(path):
    """The room of verify/ that a path lies in; "" for verify/main.cc."""
    parts = path.split("/")
    return parts[1] if parts[0] == "verify" and len(parts) > 2 else ""


def check_room_include(path, name):
    here, there = room_of(path), room_of(name)
    if not here or not there or here == there:
        return None
    for room in (here, there):
        if room not in FLOOR:
            return f"verify/{room} is no room of docs/architecture.md"
    if FLOOR[there] >= FLOOR[here] or there in KEEPS_OUT.get(here, ()):
        return f'the room {here} may not include "{name}" (room {there})'
    return None


def side_by_side(includes):
    """folder -> folder of the same room, beside it -> a file that includes it."""
    beside = {}
    for path, names in includes.items():
        here = os.path.dirname(path)
        if not room_of(path) or here == f"verify/{room_of(path)}":
            continue
        for there in map(os.path.dirname, names):
            if there != here and os.path.dirname(there) == os.path.dirname(here):
                beside.setdefault(here, {})[there] = path
    return beside


def find_circle(includes):
    """A circle of headers or folders, first one repeated at the end; [] if there is none.

    includes: path -> paths."""
    done = set()

    def visit(path, way):
        if path in way:
            return way[way.index(path):] + [path]
        if path in done:
            return []
        for name in includes.get(path, ()):
            circle = visit(name, way + [path])
            if circle:
                return circle
        done.add(path)
        return []

    for path in sorted(includes):
        circle = visit(path, [])
        if circle:
            return circle
    return []


def check_folders(paths):
    """Too many files in one folder of verify/, and files outside the rooms."""
    count = {}
    for path in paths:
        folder = os.path.dirname(path)
        count[folder] = count.get(folder, 0) + 1
    return [Finding(folder, 1, f"{n} files, at most {MOST_FILES}")
            for folder, n in sorted(count.items())
            if n > MOST_FILES and folder.startswith("verify")]


def check_foreign_include(layer, name):
    for pattern, layers in FOREIGN:
        if re.match(pattern, name):
            if layer not in layers:
                return f"{layer} may not include <{name}>"
            return None
    if not LIBRARY.fullmatch(name):
        return f"<{name}> is not known to .ci/check_includes.py"
    return None


def check_guard(path, code):
    guard = "LOCKSTEP_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"
    if path.endswith("-inl.h"):
        # Highway's per-target guard; it toggles, but its name follows the rule.
        if guard not in code:
            return f"the per-target include guard must be {guard}"
        return None
    if not re.search(rf"#ifndef {guard}\n#define {guard}\n", code):
        return f"the include guard must be {guard}"
    return None


def check(root):
    paths = list(sources.in_rooms(sources.files(root, (".h", ".cc", ".inc"))))
    found = check_folders(paths)
    includes = {}
    for path in paths:
        layer = layer_of(path)
        with open(os.path.join(root, path), encoding="utf-8") as file:
            code = sources.code_only(file.read())
        for match in INCLUDE.finditer(code):
            project, foreign = match.groups()
            line = code.count("\n", 0, match.start(0) + 1) + 1
            if project and layer_of(project + "/") is None and (
                    any(re.match(p, project) for p, _ in FOREIGN)):
                project, foreign = None, project
            if project:
                includes.setdefault(path, []).append(project)
                message = (check_project_include(root, path, layer, project) or
                           check_room_include(path, project))
            else:
                message = check_foreign_include(layer, foreign)
            if message:
                found.append(Finding(path, line, message))
        # A header written in C for candidates has C's guard too.
        if path.endswith(".h") and layer != "tests":
            message = check_guard(path, code)
            if message:
                found.append(Finding(path, 1, message))
    circle = find_circle(includes)
    if circle:
        found.append(Finding(circle[0], 1, "a circle of includes: " +
                             " -> ".join(circle)))
    folders = side_by_side(includes)
    circle = find_circle({folder: list(there) for folder, there in folders.items()})
    if circle:
        found.append(Finding(folders[circle[0]][circle[1]], 1, "a circle of folders: " +
                             " -> ".join(circle)))
    return found


def _header(path, body):
    guard = "LOCKSTEP_" + re.sub(r"[^A-Za-z0-9]", "_", path).upper() + "_"
    return f"#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n"


CLEAN = {
    "reference/contract/t.h": _header("reference/contract/t.h",
                                      "#include <cstdint>\n"),
    "reference/r.h": _header("reference/r.h",
                             '#include "reference/contract/t.h"\n'),
    "optimized/o.h": _header("optimized/o.h",
                             '#include "reference/contract/t.h"\n'),
    "optimized/o.cc": '#include "hwy/highway.h"\n#include "optimized/o.h"\n',
    "optimized/work.h": _header("optimized/work.h",
                                '#include "optimized/simd/s.h"\n'),
    "optimized/simd/s.h": _header("optimized/simd/s.h",
                                  '#include "hwy/highway.h"\n'),
    "verify/base/v.h": _header("verify/base/v.h",
                               '#include "reference/r.h"\n'
                               '#include "optimized/o.h"\n'),
    "verify/oracle/o.h": _header("verify/oracle/o.h", ""),
    "verify/judge/a/low.h": _header("verify/judge/a/low.h", ""),
    "verify/judge/b/low.h": _header("verify/judge/b/low.h", ""),
    "verify/judge/b/x.cc": '#include "verify/judge/a/low.h"\n',
    "verify/cli/main.cc": '#include "verify/base/v.h"\n',
    "verify/oracle/w.cc": "#include <xsimd/xsimd.hpp>\n",
    "bench/b.cc": "#include <benchmark/benchmark.h>\n",
    "tests/t_test.cc": '#include "gtest/gtest.h"\n#include "optimized/o.h"\n'
                       '// #include "nowhere.h"\n',
}
PLANTED = [
    ("optimized/x.cc", '#include "reference/r.h"\n', "may not include"),
    ("reference/x.cc", '#include "optimized/o.h"\n', "may not include"),
    ("reference/contract/x.cc", '#include "reference/r.h"\n',
     "may not include"),
    ("verify/oracle/x.cc", '#include "reference/r.h"\n', "may not include"),
    ("fuzz/x.cc", '#include "optimized/o.h"\n', "may not include"),
    ("bench/x.cc", "#include <xsimd/xsimd.hpp>\n", "may not include"),
    ("verify/base/x.cc", '#include "optimized/simd/s.h"\n', "no public header"),
    ("verify/base/x.cc", '#include "optimized/work.h"\n', "no public header"),
    ("verify/base/x.cc", "#include <hwy/highway.h>\n", "may not include"),
    ("reference/x.cc", "  #  include <omp.h>\n", "may not include"),
    ("optimized/x.cc", "#include <nlohmann/json.hpp>\n", "may not include"),
    ("verify/base/x.cc", '#include "v.h"\n', "not a path"),
    ("verify/base/x.cc", '#include "../reference/r.h"\n', "not a path"),
    ("verify/base/x.cc", "#include <boost/any.hpp>\n", "not known"),
    ("verify/base/x.h", "#pragma once\n", "include guard"),
    ("verify/base/x.h", _header("verify/base/y.h", ""), "include guard"),
    ("verify/case/x.cc", '#include "verify/oracle/o.h"\n', "the room case may"),
    ("verify/base/x.cc", '#include "verify/oracle/o.h"\n',
     "the room base may"),
    ("verify/judge/x.cc", '#include "verify/oracle/o.h"\n',
     "the room judge may"),
    ("verify/attic/x.cc", '#include "verify/base/v.h"\n', "is no room"),
    ("verify/case/x.h", _header("verify/case/x.h",
                                '#include "verify/case/x.h"\n'), "a circle"),
    ("verify/judge/a/x.cc", '#include "verify/judge/b/low.h"\n', "of folders"),
]

if __name__ == "__main__":
    sources.main(check, CLEAN, PLANTED)
