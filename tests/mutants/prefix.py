"""What the mutants of a table include and no mutant breaks, parsed once.

Two thirds of what compiling a mutant took was parsing headers that all others have, too
(optimized/attention_backward.cc, unoptimized: 0.8 s of a processor instead of 2.4). So
they are precompiled, once for all files of a table that are of one room and have the same
flags: a file may have a name to itself that a header of another room has. A file that the
table breaks, and whatever includes one, is left out: each mutant sees its own.
"""

import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.ci"))
import compiling  # noqa: E402

# Highway's, for the one target of mutants, once it is known which that is.
TARGETS = "optimized/simd/targets.h"
HIGHWAY = ("hwy/foreach_target.h", "hwy/highway.h")


def flags_of(command):
    """The compiler and its flags, of a command that compiles one file."""
    words = compiling.without_prelude(command["ccache" in command[0]:])
    at = words.index("-o")
    del words[at:at + 2]
    return tuple(words[:words.index("-c")] + words[words.index("-c") + 2:])


class Includes:
    """The project's headers that sources include, but for what has to be left out."""

    def __init__(self, root, broken):
        self.root = root
        self.broken = set(broken)  # paths below the root
        self.shared = {}  # path: whether it can be precompiled; in the order to include

    def visit(self, path):
        """Whether neither the file nor anything that it includes is left out."""
        if path in self.shared:
            return self.shared[path]
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            names = re.findall(r'^ *# *include "(.*)"', file.read(), re.MULTILINE)
        here = os.path.join(self.root, os.path.dirname(path))
        kept = path not in self.broken
        for name in names:
            for folder in (self.root, here):
                other = os.path.relpath(os.path.join(folder, name), self.root)
                if os.path.exists(os.path.join(folder, name)):
                    kept = self.visit(other) and kept
                    break
        self.shared[path] = kept
        return kept

    def text(self):
        first = [TARGETS, *HIGHWAY] if self.shared.get(TARGETS) else []
        shared = [path for path, kept in self.shared.items()
                  if kept and path.endswith(".h") and path not in first]
        return "".join(f'#include "{path}"\n'
                       for path in ("cmake/prelude.h", *first, *shared))


class Prefixes:
    """The precompiled headers of one table."""

    def __init__(self, root, work, more):
        self.root = root
        self.work = os.path.join(work, "prefix")
        self.more = more  # flags of all that the table compiles
        self.files = {}  # (room, flags): the arguments that name the header

    def group(self, command):
        """The room of the file that the command compiles, and its flags."""
        source = os.path.relpath(command[command.index("-c") + 1], self.root)
        room = os.path.dirname(source).split(os.sep)[:2]
        return "/".join(room), flags_of(command)

    def add(self, commands, sources, broken):
        """For the `sources`, paths that `commands` knows; `broken`, names below the
        root, is what may not be shared."""
        groups = {}
        for path in sorted(sources & commands.keys()):
            groups.setdefault(self.group(commands[path][0]), []).append(path)
        os.makedirs(self.work, exist_ok=True)
        for (room, flags), paths in groups.items():
            if "clang" not in flags[0]:
                continue
            includes = Includes(self.root, broken)
            for path in paths:
                includes.visit(os.path.relpath(path, self.root))
            header = os.path.join(self.work, f"{len(self.files)}.h")
            with open(header, "w", encoding="utf-8") as file:
                file.write(includes.text())
            done = subprocess.run(
                [*flags, *self.more, "-w", "-fpch-instantiate-templates", "-Xclang",
                 "-fno-pch-timestamp", "-x", "c++-header", header, "-o",
                 header + ".pch"],
                capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"the headers of a table do not compile: {done.stderr[:400]}")
            self.files[room, flags] = ["-include-pch", header + ".pch"]

    def of(self, command):
        return self.files.get(self.group(command), [])
