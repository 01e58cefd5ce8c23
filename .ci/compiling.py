"""What the checks that need a configured build share."""

import hashlib
import os
import pathlib
import subprocess
import sys

import batches
import sources

DEFAULT_BUILD = sources.ROOT / "build" / "release"


def build_dir():
    """The build tree named on the command line, or the release preset's."""
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    build = pathlib.Path(names[0]).resolve() if names else DEFAULT_BUILD
    if not (build / "compile_commands.json").exists():
        sys.exit(f"{sys.argv[0]}: {build} is not configured; run: "
                 "cmake --preset release")
    return build


def without_prelude(arguments):
    """The arguments without precompiled headers (cmake/prelude.h): a check sees
    what a file includes itself."""
    kept, rest = [], iter(arguments)
    for argument in rest:
        if argument == "-include":
            next(rest)
        elif argument != "-Winvalid-pch":
            kept.append(argument)
    return kept


def commands(build):
    """{path relative to the root: argument list} of the files compiled there."""
    return {os.path.relpath(path, sources.ROOT): without_prelude(arguments)
            for path, (arguments, _) in batches.commands(build).items()
            if pathlib.Path(path).is_relative_to(sources.ROOT)}


def compiler_of(arguments):
    """The compiler in a command that may start with a launcher."""
    return next(a for a in arguments[:2] if "ccache" not in a)


def include_flags(all_commands):
    """Union of the -I, -isystem, -D and -f flags, in the order first seen."""
    flags = {}
    for arguments in all_commands:
        rest = iter(arguments)
        for argument in rest:
            if argument in ("-I", "-isystem", "-D"):
                flags[(argument, next(rest))] = None
            elif argument.startswith(("-I", "-D", "-std", "-fopenmp")):
                flags[(argument,)] = None
    return [part for flag in flags for part in flag]


def run(arguments, stdin=None):
    done = subprocess.run(arguments, input=stdin, capture_output=True, text=True,
                          check=False, cwd=sources.ROOT)
    return done.returncode, done.stdout + done.stderr


def cache_folder():
    """install-deps.sh's."""
    return pathlib.Path(os.environ.get("LOCKSTEP_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lockstep"))


def mark_of(check, key):
    return cache_folder() / check / key


def key_of(command, *more, stdin=None):
    """A hash of the preprocessed text and all that judges it; None if there is
    no such text. Another checkout of the same files is the same work."""
    code, text = run([*command, "-E", "-P"], stdin=stdin)
    if code != 0:
        return None
    parts = "\0".join((text, *command, *more)).replace(str(sources.ROOT), ".")
    return hashlib.sha256(parts.encode()).hexdigest()


def passed_before(check, key):
    """Whether this text passed."""
    return key is not None and mark_of(check, key).exists()


def remember(check, key):
    if key is not None:
        mark = mark_of(check, key)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
