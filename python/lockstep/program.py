"""The program `lockstep`, which judges: where it is, and how it is started."""
import errno
import os
import shutil
import subprocess
import sys

from lockstep.errors import LockstepError, UsageError


def path():
    """The program of $LOCKSTEP_PROGRAM, of this package, or of PATH, in this
    order."""
    named = os.environ.get("LOCKSTEP_PROGRAM")
    if named:
        return named
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "lockstep")
    found = own if os.access(own, os.X_OK) else shutil.which("lockstep")
    if not found:
        raise LockstepError("the program lockstep was not found: install the package "
                            "with pip, or name it in LOCKSTEP_PROGRAM")
    return found


def options(given, more=()):
    """{"--seed": 7} as words, without what is None, and `more` behind them. Each option
    is one word with its value, which is never an option itself."""
    if not isinstance(more, (list, tuple)) or not all(isinstance(word, str) for word in more):
        raise UsageError(f"options: want a list of words, such as [\"--no-probes\"]; not {more!r}")
    return [f"{name}={value}" for name, value in given.items() if value is not None] + [*more]


def environment():
    """Of the program: hosts of `py:` candidates run in this Python and import
    what it can import."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [p for p in sys.path if p and not p.endswith(".zip")]
    if here not in paths:
        paths.insert(0, here)
    return {**os.environ, "LOCKSTEP_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


# Runs a program that ends with the process that started it, which may be killed.
_TIED = """import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)  # it is gone already
os.execv(sys.argv[2], sys.argv[2:])
"""


def start_tied(words, **pipes):
    """The same as start; a kill of the calling process kills it, too."""
    return _popen([sys.executable, "-ISc", _TIED, str(os.getpid()), path(), *words],
                  environment(), pipes)


def start(words, more=None, **pipes):
    """A subprocess.Popen of the program, `more` in its environment."""
    return _popen([path(), *words], {**environment(), **(more or {})}, pipes)


def _popen(words, variables, pipes):
    try:
        return subprocess.Popen(words, env=variables, stdin=subprocess.DEVNULL, **pipes)
    except ValueError as error:  # NUL, half of a surrogate pair
        raise UsageError(f"no program can be given that: {error}") from None
    except OSError as error:
        if error.errno == errno.E2BIG:
            raise UsageError("that is longer than a program's arguments may be; want a "
                             "case file, or a profile in a file") from None
        raise LockstepError(f"{words[0]} cannot be started: {error.strerror}") from None
