"""What a run of the judge said: verdicts, findings, replay lines."""
import dataclasses
import html
import json

from lockstep.errors import Failed, Skipped, UsageError

# Exit codes of docs/verdicts.md.
PASSED, USAGE, UNPROVED, SKIPPED = 0, 2, 5, 77


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is wrong, with the command that shows it again."""
    verdict: str
    tier: str
    check: str
    message: str
    case: str
    replay: str
    event: dict = dataclasses.field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, event):
        signature = event.get("signature", "")
        tier, _, check = signature.partition(":")
        return cls(event.get("verdict", "fail"), event.get("tier", tier),
                   event.get("check", check), event.get("message", ""),
                   event.get("case", ""), event.get("replay", ""), event)

    @property
    def cause(self):
        """The known bug that it behaves like, in a sentence; empty: none is named."""
        causes = self.event.get("attribution", [])
        return causes[0]["sentence"] if causes else ""

    def __str__(self):
        told = f"{self.tier} ({self.check}): {self.message}\nreplay: {self.replay}"
        return f"{self.cause}\n{told}" if self.cause else told


@dataclasses.dataclass(frozen=True)
class CaseVerdict:
    """The verdict of one case: pass, fail, suspicious, untrusted, skipped or
    error, and why."""
    case: str
    verdict: str
    reason: str
    event: dict = dataclasses.field(repr=False, default_factory=dict)


class Report:
    """The result of verify or fuzz.

    passed     every case passed, and enough was proved
    exit       the program's exit code (docs/verdicts.md)
    cases      a CaseVerdict for each case; none after fuzz
    findings   a Finding for each thing that is wrong
    cause      the known bug that explains the answer, in a sentence
    summary    the counts; "draws" has those of further draws, which are not cases
    text       what the program prints
    isolation  "process", or "none" if the kernel ran in this process
    """

    def __init__(self, exit_code, events, text, isolation="process"):
        self.exit, self.events, self.text = exit_code, events, text
        self.isolation = isolation
        self.findings = [Finding.of(e) for e in events if e["kind"] == "finding"]
        self.cases = [CaseVerdict(e["case"], e["verdict"], e["reason"], e)
                      for e in events if e["kind"] == "case"]
        self.summary = next((e for e in events if e["kind"] == "summary"), {})

    @property
    def passed(self):
        return self.exit == PASSED

    @property
    def skipped(self):
        """Nothing ran."""
        ran = self.summary.get("cases", 0) - self.summary.get("skipped", 0)
        return self.exit == SKIPPED or (bool(self.cases) and ran == 0
                                        and not self.findings)

    def check(self):
        """Returns itself; raises Skipped where nothing ran, Failed on every other
        verdict but pass."""
        if self.skipped:
            raise Skipped(self.why() or "nothing ran", self)
        if not self.passed:
            raise Failed(self.cause + "\n" + self.text.rstrip(), self)
        return self

    @property
    def cause(self):
        """The known bug that the first explained finding behaves like, in a
        sentence; empty where none is named."""
        return next((f.cause for f in self.findings if f.cause), "")

    def why(self):
        """The reasons of the cases that did not pass, one per line."""
        reasons = [c.reason for c in self.cases if c.verdict != "pass" and c.reason]
        return "\n".join(dict.fromkeys(reasons))

    def to_json(self, indent=None):
        return json.dumps({"exit": self.exit, "passed": self.passed,
                           "isolation": self.isolation, "events": self.events},
                          indent=indent)

    def __str__(self):
        return self.text.rstrip()

    def __repr__(self):
        counts = [f"{self.summary[k]} {k}" for k in (
            "pass", "fail", "suspicious", "untrusted", "skipped", "error")
            if self.summary.get(k)]
        draws = self.summary.get("draws", {})
        if draws.get("fail") or draws.get("error"):
            counts.append(f"{draws['fail'] + draws['error']} of {draws['draws']} draws wrong")
        return f"<lockstep.Report: {', '.join(counts) or 'nothing ran'}; exit {self.exit}>"

    def _repr_html_(self):
        colour = "#1a7f37" if self.passed else "#9a6700" if self.skipped else "#cf222e"
        parts = [f'<p><b style="color:{colour}">{html.escape(repr(self)[1:-1])}</b></p>']
        if self.cause:
            parts.append(f"<p><b>{html.escape(self.cause)}</b></p>")
        for finding in self.findings:
            parts.append(
                f"<details open><summary>{html.escape(finding.tier)} "
                f"({html.escape(finding.check)})</summary>"
                f"<p>{html.escape(finding.message)}</p>{_places(finding.event)}"
                f"<pre>{html.escape(finding.replay)}</pre></details>")
        parts.append(f"<details><summary>report</summary><pre>{html.escape(self.text)}"
                     "</pre></details>")
        return "".join(parts)


def _places(event):
    """The first element outside, and the one furthest outside, as a table."""
    found = event.get("envelope") or event.get("comparison") or {}
    rows = []
    for name in ("first", "furthest", "worst"):
        place = found.get(name)
        if not isinstance(place, dict):
            continue
        at = " ".join(f"{k}={v}" for k, v in place.get("index", {}).items())
        allowed = place.get("allowed")
        want = (f"{_number(allowed['lo'])} .. {_number(allowed['hi'])}"
                if isinstance(allowed, dict) and "lo" in allowed
                else _number(place.get("expected", place.get("truth", ""))))
        rows.append("".join(f"<td>{html.escape(str(cell))}</td>" for cell in (
            name, at, _number(place.get("produced", "")), want)))
    if not rows:
        return ""
    head = "".join(f"<th>{h}</th>" for h in ("", "element", "produced", "allowed"))
    return (f"<table><tr>{head}</tr>" + "".join(f"<tr>{row}</tr>" for row in rows)
            + "</table>")


def _number(text):
    """Hex floats as decimal ones, for reading."""
    try:
        return f"{float.fromhex(text):.9g}"
    except (TypeError, ValueError):
        return text


def usage_error(text):
    """The program's one line as an exception."""
    lines = [line for line in text.splitlines() if line.strip()]
    line = lines[-1] if lines else "the program said nothing"
    return UsageError(line.removeprefix("lockstep: "))
