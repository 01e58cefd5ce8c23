"""check: what a kernel computes, and whether it does so everywhere."""
import dataclasses
import subprocess

from lockstep import program
from lockstep.errors import Failed, UsageError
from lockstep.kernels import stop_if_loading, target_of
from lockstep.report import USAGE, usage_error

_VERDICTS = {"PASS": "pass", "FAIL": "fail", "CONSISTENT": "consistent", "THIN": "thin"}


@dataclasses.dataclass(frozen=True)
class Checked:
    """The result of check.

    verdict   pass; fail; consistent, which is a pass of what was seen and not stated; thin,
              where too little was judged
    exit      the program's exit code (docs/verdicts.md)
    cause     of a fail, in a sentence
    computes  what the kernel was seen to compute, in a sentence
    text      the screen
    """
    verdict: str
    exit: int
    cause: str
    computes: str
    text: str

    @property
    def passed(self):
        return self.exit == 0

    def check(self):
        """Raises Failed unless it passed; returns the result."""
        if not self.passed:
            raise Failed(self.cause or self.text, self)
        return self

    def __str__(self):
        return self.text


def check(kernel, states=None, *, budget=None, options=()):
    """Tells what a kernel of q, k and v, or a scan of x, dt, A, B and C, computes, and judges
    whether it does so everywhere; returns a Checked.

    kernel   a function that another process can import, or what the program takes:
             "attention.py:attend", "./kernel.so"
    states   what it should compute, such as "causal window=128 softcap=50"; anything else is a
             fail. Absent: the verdict is "consistent" at most
    budget   "60s", "200cases"

    Raises UsageError where the kernel cannot be called, or computes nothing that check knows.
    """
    stop_if_loading()
    if not isinstance(kernel, str):
        if not callable(kernel):
            raise UsageError(f"want a function, or a kernel's file, not {kernel!r}")
        try:
            kernel = "py:" + target_of(kernel)
        except UsageError:
            raise UsageError(f"check imports a kernel in a process of its own, and {kernel!r} has no name "
                             "there; want a function at the top of a file") from None
    words = program.options({"--is": states, "--budget": budget}, options)
    judge = program.start(["check", *words, "--", kernel], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    out, err = (pipe.decode(errors="replace") for pipe in judge.communicate())
    if judge.returncode == USAGE:
        raise usage_error(err)
    said = {}
    for line in out.splitlines():
        label, _, text = line.partition(" ")
        said.setdefault(label, text.strip())
    verdict = next((_VERDICTS[label] for label in said if label in _VERDICTS), "broken")
    return Checked(verdict, judge.returncode, said.get("FAIL", ""),
                   said.get("computes", said.get("nearest", "")), out + err)
