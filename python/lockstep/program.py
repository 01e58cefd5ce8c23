"""The program `lockstep`, which judges: where it is, and how it is started."""
import os
import shutil
import subprocess
import sys

from lockstep.errors import LockstepError


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
    return subprocess.Popen([sys.executable, "-ISc", _TIED, str(os.getpid()), path(), *words],
                            env=environment(), stdin=subprocess.DEVNULL, **pipes)


def start(words, more=None, **pipes):
    """A subprocess.Popen of the program, `more` in its environment."""
    return subprocess.Popen([path(), *words], env={**environment(), **(more or {})},
                            stdin=subprocess.DEVNULL, **pipes)
