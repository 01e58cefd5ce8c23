"""identify: a kernel is asked for its arithmetic, and a profile comes back."""
import dataclasses

from lockstep import judge, program
from lockstep.errors import LockstepError


@dataclasses.dataclass(frozen=True)
class FieldEvidence:
    """A field of an Identified, and the evidence for its value.

    field     a key of the profile: "acc_qk"
    value     its value
    word      "seen", "reported", "assumed" or "cannot tell" (docs/identify.md)
    evidence  what was asked, and what the answers were
    line      if reported: the line to add if you mean it; may be empty
    """
    field: str
    value: str
    word: str
    evidence: str
    line: str

    def __str__(self):
        word = "" if self.word == "seen" else f"{self.word}: "
        return f"{self.field} = {self.value}: {word}{self.evidence}"


class Identified:
    """What identify found out about a kernel.

    profile   the text of a profile, which profile= takes
    digest    of that text
    op        the kernel's op
    fields    a FieldEvidence for each answer
    warnings  values that a careful author would not choose
    calls     of the kernel
    """

    def __init__(self, event):
        self.profile, self.digest, self.op = event["text"], event["digest"], event["op"]
        self.fields = [FieldEvidence(**field) for field in event["fields"]]
        self.warnings, self.calls = event["warnings"], event["calls"]

    def __getitem__(self, field):
        """The FieldEvidence of a field; KeyError: it was not asked."""
        for evidence in self.fields:
            if evidence.field == field:
                return evidence
        raise KeyError(field)

    @property
    def told(self):
        """Whether a legal value explains every answer."""
        return all(field.word != "cannot tell" for field in self.fields)

    def __str__(self):
        return "\n".join([*map(str, self.fields), *(f"warning: {w}" for w in self.warnings)])

    def __repr__(self):
        words = [field.word for field in self.fields]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        return f"<lockstep.Identified: {counts}>"


def identify(kernel, *, op=None, lane=None, isolate=None, call_timeout=None, **facts):
    """Finds the arithmetic of a kernel by designed inputs; returns an Identified.

    kernel  a function (lockstep.kernel), or a candidate's spec
    op      the op that it computes; absent: the one that the kernel says
    lane    "f32", "bf16" or "f16"; absent: the first in which the kernel answers

        found = lockstep.identify(attend)
        print(found)
        lockstep.verify(attend, CASES, profile=found.profile).check()

    Read it before you keep it: conventions, and values that hide bugs, are reported and
    not adopted (docs/identify.md). The rest is as in verify. Raises UsageError if the
    kernel cannot be asked, and LockstepError if it gives no answer.
    """
    words = program.options({"--op": op, "--lane": lane, "--call-timeout": call_timeout})
    report = judge.judge("identify", kernel, None, isolate, words, [], facts, op)
    for event in report.events:
        if event["kind"] == "identified":
            return Identified(event)
    raise LockstepError(report.text.strip() or "the kernel gave no answer")
