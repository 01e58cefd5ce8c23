#!/usr/bin/env python3
"""Files of a batch share no file-local name: check_batches.py [BUILD_DIR] | --selftest.

In a batch (LOCKSTEP_UNITY in cmake/LockstepTargets.cmake) the unnamed namespaces of
several files are one. Two definitions of a name do not compile there; two functions
with different parameters do, and a call may then reach the other file's.
"""

import collections
import pathlib
import re
import sys
import tempfile

import batches
import compiling
import sources

# In column 0, as .clang-format lays them out.
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?) (?:alignas\(\w+\) )?(\w+)")
CONSTANT = re.compile(r"(?:inline |static |const |constexpr |thread_local )+"
                      r"[\w:<>,* &]*?\b(\w+)(?:\[[^\]]*\])*(?: = |\{|;| =$)")
FUNCTION = re.compile(r"[A-Za-z][\w:<>,*& \[\]]*?[ *&](\w+)\(")
SKIPPED = ("using ", "namespace", "template", "return", "public", "private", "TEST",
           "static_assert", "HWY_", "extern")


def local_names(text):
    """Names that the text defines in unnamed namespaces."""
    names, inside = set(), False
    for line in text.splitlines():
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside and line[:1].isalpha() and not line.startswith(SKIPPED):
            match = (TYPE.match(line) or CONSTANT.match(line) or
                     FUNCTION.match(line))
            if match:
                names.add(match[1])
    return names


def shared(root, files):
    """Messages about names that two of the files define."""
    owners = collections.defaultdict(list)
    for path in files:
        for name in local_names((root / path).read_text(encoding="utf-8")):
            owners[name].append(path)
    return [f"{paths[1]}: {name} is local to {paths[0]}, too: one name for both, or "
            "one definition in a header" for name, paths in sorted(owners.items())
            if len(paths) > 1]


def lists_of(build):
    """The files of every batch."""
    for unit in batches.units(build):
        yield [pathlib.Path(path).relative_to(sources.ROOT).as_posix()
               for path in batches.files_of(unit)]


def selftest():
    root = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-selftest-"))
    body = {"a.cc": "constexpr int kOne = 1;\nint F(int x) { return x; }\n",
            "b.cc": "struct Own {\n  int kOne;\n};\ndouble F(double x) {\n  return x;\n}\n",
            "c.cc": "const char* const kOne[] = {\n    \"\"};\nint G() { return F(1); }\n",
            "d.cc": "class Own;\nstd::vector<int> Other(int F) { return {F}; }\n"}
    for name, text in body.items():
        (root / name).write_text(f"namespace n {{\nnamespace {{\n\n{text}\n"
                                 "}  // namespace\nint Seen(int x);\n}\n")
    found = shared(root, list(body))
    words = [message.split()[1] for message in found]
    ok = words == ["F", "Own", "kOne"]
    print("selftest:", "ok" if ok else f"expected F, Own and kOne, got {found}")
    return 0 if ok else 1


def main():
    if sys.argv[1:] == ["--selftest"]:
        sys.exit(selftest())
    lists = [files for files in lists_of(compiling.build_dir()) if files]
    found = [message for files in lists for message in shared(sources.ROOT, files)]
    for message in found:
        print(message)
    print(f"check_batches.py: {len(lists)} batches, {len(found)} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
