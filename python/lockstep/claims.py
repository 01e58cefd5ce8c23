"""invariance: which claims a kernel keeps, such as the same bits whatever the batch."""
import dataclasses
import html
import re

from lockstep import judge, program, slips
from lockstep.kernels import words_of
from lockstep.report import PASSED, UNPROVED, Report


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim over all cases: a row of the table.

    name     "batch" (docs/invariance.md)
    claimed  by claims= or by the profile
    state    "kept", "broken", "not applicable", "not run"
    pairs    of calls that were compared; broken: those of them that differ
    differing, elements  elements that differ, of those compared, over all pairs
    max_ulp  the largest distance of two finite numbers
    begins   the smallest sizes at which a pair differs, such as {"batch rows": 5,
             "keys": 257}; up_to: the largest that were tried
    first    the first element that differs of the smallest pair, as a dict:
             case, pair, element, one, other, differs, replay; empty where kept
    untried  why pairs were not tried: {reason: cases}
    """
    name: str
    claimed: bool
    state: str
    pairs: int
    broken: int
    differing: int
    elements: int
    max_ulp: int
    begins: dict
    up_to: dict
    first: dict
    untried: dict

    @classmethod
    def of(cls, row):
        return cls(row["claim"], row["claimed"], row["state"], row["pairs"], row["broken"],
                   row["differing"], row["elements"], row["max_ulp"],
                   _sizes(row.get("begins")), _sizes(row["up_to"]), row.get("first", {}),
                   {one["why"]: one["cases"] for one in row["untried"]})

    @property
    def kept(self):
        return self.state == "kept"

    @property
    def replay(self):
        """The command that shows the difference again; empty where there is none."""
        return self.first.get("replay", "")

    def __str__(self):
        if not self.first:
            why = next(iter(self.untried), "")
            return f"{self.name}: {self.state}" + (f", {why}" if why and not self.kept else "")
        return (f"{self.name}: broken from {_words(self.begins)}\n{self.first['pair']}\n"
                f"{self.first['element']} {self.first['one']} against "
                f"{self.first['other']}; {self.first['differs']}\nreplay: {self.replay}")


class InvarianceReport(Report):
    """Of invariance: a Report, and

    claims  a Claim each, in the order of the table
    kept, broken, untried  names of claims: no pair differs, one does, none was compared
    """

    def __init__(self, exit_code, events, text, isolation="process"):
        super().__init__(exit_code, events, text, isolation)
        rows = next((e["claims"] for e in events if e["kind"] == "claims"), [])
        self.claims = [Claim.of(row) for row in rows]

    def __getitem__(self, name):
        """The claim of that name."""
        return next(claim for claim in self.claims if claim.name == name)

    @property
    def kept(self):
        return [claim.name for claim in self.claims if claim.kept]

    @property
    def broken(self):
        return [claim.name for claim in self.claims if claim.state == "broken"]

    @property
    def untried(self):
        return [claim.name for claim in self.claims if not claim.pairs]

    @property
    def unproved(self):
        """Nothing that is claimed is broken, and of some of it no pair was compared."""
        return self.exit == UNPROVED

    def why(self):
        """Of claimed claims, why no pair was compared; else as of a Report."""
        reasons = [f"{claim.name}: {why}" for claim in self.claims
                   if claim.claimed and not claim.pairs for why in claim.untried]
        return "\n".join(dict.fromkeys(reasons)) or super().why()

    def __repr__(self):
        words = [f"{word} {', '.join(names)}" for word, names in (
            ("keeps", self.kept), ("breaks", self.broken), ("not tried", self.untried)) if names]
        return (f"<lockstep.InvarianceReport: {'; '.join(words) or 'nothing ran'}; "
                f"exit {self.exit}>")

    def _repr_html_(self):
        colour = "#1a7f37" if self.exit == PASSED else "#9a6700" if self.unproved else "#cf222e"
        head = "".join(f"<th>{word}</th>" for word in (
            "claim", "claimed", "state", "pairs", "broken", "differs", "max ulp",
            "begins at", "first difference"))
        rows = "".join(f"<tr>{_row(claim)}</tr>" for claim in self.claims)
        shown = "".join(f"<details><summary>{html.escape(claim.name)}</summary>"
                        f"<pre>{html.escape(str(claim))}</pre></details>"
                        for claim in self.claims if claim.first)
        return (f'<p><b style="color:{colour}">{html.escape(repr(self)[1:-1])}</b></p>'
                f"<table><tr>{head}</tr>{rows}</table>{shown}"
                f"<details><summary>report</summary><pre>{html.escape(self.text)}"
                "</pre></details>")


def _sizes(sizes):
    """{"batch rows": 5, "keys": 257}, without what is 0."""
    if not sizes:
        return {}
    pairs = ((sizes["unit"], sizes["width"]), (sizes["length_unit"], sizes["length"]))
    return {unit: size for unit, size in pairs if size}


def _words(sizes):
    return ", ".join(f"{size} {_singular(unit) if size == 1 else unit}"
                     for unit, size in sizes.items())


def _singular(units):
    """positions of padding -> position of padding, queries -> query."""
    return re.sub(r"(ie)?s(?= |$)", lambda found: "y" if found[1] else "", units, count=1)


def _row(claim):
    first = claim.first
    shown = f"{first['element']} {first['one']} against {first['other']}" if first else ""
    differs = f"{claim.differing} of {claim.elements}" if claim.differing else ""
    return "".join(f"<td>{html.escape(str(cell))}</td>" for cell in (
        claim.name, "yes" if claim.claimed else "no", claim.state, claim.pairs, claim.broken,
        differs, claim.max_ulp or "", _words(claim.begins), shown))


def invariance(kernel, cases=None, *, claims="all", profile=None, isolate=None, budget=None,
               seed=None, threads=None, call_timeout=None, junit=None, receipt=None,
               options=(), **facts):
    """Tries which claims a kernel keeps: pairs of its calls must have the same bits.
    It needs no reference. Returns an InvarianceReport.

    kernel   a function (lockstep.kernel), or a candidate's spec
    cases    as in verify; absent: those of data/cases/invariance.cases for the
             kernel's op
    claims   "all": every claim is tried, and the kernel claims those of its profile.
             Names, such as "batch" or ["batch", "chunk"]: only these are tried, and the
             kernel claims them
    profile  as in verify; absent: the kernel's own, or none, since bits alone count

    The report passes if the kernel breaks none of its claims, and pairs were compared for
    each. The rest is as in verify. Raises UsageError if nothing could be judged.
    """
    files, lines, op = [], [], None
    if cases is not None:
        slips.check_cases(kernel, cases)
        files, lines = judge.case_words(cases)
        op = judge.op_of(cases)
    words = program.options({
        "--claims": ",".join(words_of("claims", claims, ",")),
        "--budget": budget, "--seed": seed, "--threads": threads,
        "--call-timeout": call_timeout, "--junit": junit, "--receipt": receipt}, options)
    report = judge.judge("invariance", kernel, profile, isolate, [*files, *words], lines,
                         facts, op)
    return InvarianceReport(report.exit, report.events, report.text, report.isolation)
