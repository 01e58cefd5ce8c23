#!/usr/bin/env python3
"""Sums of precompiled headers are one for the same headers in two checkouts, and others
where a header or a flag is another one: precompile_test.py PRECOMPILE COMPILER."""

import pathlib
import subprocess
import sys
import tempfile


def sum_of(precompile, compiler, folder, *flags, header="int One();\n"):
    """The sum that is left, or None; and the exit code."""
    place = folder / "build"
    place.mkdir(parents=True, exist_ok=True)
    (folder / "within.h").write_text(header)
    (folder / "prelude.h").write_text(f'#include "{folder}/within.h"\n')
    made = place / "prelude.h.pch"
    ran = subprocess.run(
        [sys.executable, "-B", precompile, str(folder), compiler, *flags, "-MD", "-MF",
         str(place / "prelude.d"), "-x", "c++-header", f"-I{folder}", "-o", str(made),
         "-c", str(folder / "prelude.h")], capture_output=True, check=False)
    told = made.with_name(made.name + ".sum")
    return told.read_text() if told.exists() else None, ran.returncode


def main(precompile, compiler):
    with tempfile.TemporaryDirectory(prefix="lockstep-") as place:
        folders = iter(pathlib.Path(place) / str(n) / "checkout" for n in range(10))

        def told(*flags, **what):
            return sum_of(precompile, compiler, next(folders), *flags, **what)

        first, again = told(), told()
        assert first == again and first[0] and first[1] == 0, (first, again)
        others = [told("-O1"), told(header="int Two();\n"), told("-O1", header="int Two();\n")]
        assert len({first, *others}) == 4, others
        broken = told(header="int Three()\n")
        assert broken[0] is None and broken[1] != 0, broken
    print("precompile_test.py: 2 sums that are one, 3 others, none of what is broken")


if __name__ == "__main__":
    main(*sys.argv[1:])
