"""pytest: one item for each case of a kernel.

    @lockstep.parametrize("data/cases/foreign-attention-f32.cases", profile="cpu-f32")
    def attend(q, k, v, *, call): ...

-k, --lf, xdist and JUnit know the items as any other; --lockstep-budget 30s adds a
fuzzing item for each kernel, claims=["batch"] one for each claim. A skipped or untrusted
case, and a claim of which nothing was compared, is a skip with its reason.
"""
import argparse
import json
import os
import tempfile

import pytest

import lockstep
from lockstep import judge
from lockstep.kernels import words_of
from lockstep.report import UNPROVED, Report


class _Asked:
    """What a kernel is judged on, and how."""

    def __init__(self, cases, words, claims):
        self.cases, self.words, self.claims = cases, words, claims


def parametrize(*cases, profile=None, isolate=None, claims=(), **facts):
    """Marks a kernel: one pytest item for each case. `cases` are case lines,
    lockstep.Case, or case files, looked for beside the test's file, too. `claims`: one
    more item for each of these names, `batch` or `chunk` say, that tries it on all of
    the cases (lockstep.invariance). The rest is as in lockstep.verify."""
    if not cases:
        raise lockstep.UsageError("parametrize wants case lines or case files")

    def mark(kernel):
        kernel.__lockstep_cases__ = _Asked(
            cases, {"profile": profile, "isolate": isolate, **facts},
            words_of("claims", claims, ","))
        return kernel

    return mark


def _lines(cases, folder):
    """Every case as its line, in order; again the same gets a number."""
    lines = []
    for case in cases:
        text = str(case)
        beside = os.path.join(folder, text)
        if judge.is_line(text) or isinstance(case, lockstep.Case):
            lines.append(text)
        else:
            path = beside if os.path.exists(beside) else text
            lines += [str(c) for c in lockstep.cases(path)]
    return lines


class _Item(pytest.Item):
    def __init__(self, *, name, parent, kernel, words, **kwargs):
        # As text: a newer pytest tells a name from its brackets, and --lf finds an
        # item by what it reads.
        super().__init__(name=name, parent=parent, nodeid=f"{parent.nodeid}::{name}", **kwargs)
        self.kernel, self.words = kernel, words

    def judged(self):
        raise NotImplementedError

    def runtest(self):
        report = self.judged()
        for finding in report.findings:
            self.user_properties.append(("lockstep_replay", finding.replay))
        _settle(report, self.config.getoption("lockstep_strict"))

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, lockstep.LockstepError):
            return str(excinfo.value).strip()
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, None, self.name


def _settle(report, strict):
    """Raises what pytest makes a failure or a skip of."""
    undecided = report.exit == UNPROVED and (
        report.summary.get("untrusted", 0) > 0 or isinstance(report, lockstep.InvarianceReport))
    if not strict and (report.skipped or undecided):
        pytest.skip(report.why() or "nothing was proved")
    if report.skipped:
        raise lockstep.Failed(f"skipped: {report.why() or 'nothing ran'}", report)
    report.check()


class CaseItem(_Item):
    def __init__(self, *, line, **kwargs):
        super().__init__(**kwargs)
        self.line = line

    def judged(self) -> Report:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "receipt.json")
            report = lockstep.verify(self.kernel, self.line, receipt=path, **self.words)
            self.user_properties.append(("lockstep_case", self.line))
            with open(path, encoding="utf-8") as file:
                self.user_properties.append(
                    ("lockstep_receipt", json.dumps(json.load(file))))
        return report


class ClaimItem(_Item):
    def __init__(self, *, claim, lines, **kwargs):
        super().__init__(**kwargs)
        self.claim, self.lines = claim, lines

    def judged(self) -> Report:
        return lockstep.invariance(self.kernel, self.lines, claims=self.claim, **self.words)


class FuzzItem(_Item):
    def judged(self) -> Report:
        return lockstep.fuzz(self.kernel, **self.words,
                             budget=self.config.getoption("lockstep_budget"))


def pytest_addoption(parser):
    group = parser.getgroup("lockstep", "kernels before the judge")
    group.addoption("--lockstep-budget", metavar="BUDGET",
                    help="add a fuzzing item for each kernel: 30s, 1000cases")
    group.addoption("--lockstep-shard", metavar="i/N", type=_shard,
                    help="only items n of kernels with n mod N = i")
    group.addoption("--lockstep-strict", action="store_true",
                    help="skipped and untrusted cases fail")


def _shard(text):
    index, _, count = text.partition("/")
    if index.isdigit() and count.isdigit() and int(index) < int(count):
        return int(index), int(count)
    raise argparse.ArgumentTypeError("want i/N with 0 <= i < N, such as 0/4")


def pytest_pycollect_makeitem(collector, name, obj):
    asked = getattr(obj, "__lockstep_cases__", None)
    if not isinstance(asked, _Asked):
        return None
    common = {"parent": collector, "kernel": obj, "words": asked.words}
    items, seen = [], {}
    lines = _lines(asked.cases, os.path.dirname(str(collector.path)))
    for line in lines:
        again = seen[line] = seen.get(line, -1) + 1
        title = f"{name}[{line}]" if not again else f"{name}[{line}#{again}]"
        items.append(CaseItem.from_parent(name=title, line=line, **common))
    for claim in asked.claims:
        items.append(ClaimItem.from_parent(name=f"{name}[claim {claim}]", claim=claim,
                                           lines=lines, **common))
    if collector.config.getoption("lockstep_budget"):
        items.append(FuzzItem.from_parent(name=f"{name}[fuzz]", **common))
    return items


def pytest_collection_modifyitems(config, items):
    shard = config.getoption("lockstep_shard")
    if not shard:
        return
    index, count = shard
    ours = [item for item in items if isinstance(item, _Item)]
    left_out = {id(item) for n, item in enumerate(ours) if n % count != index}
    config.hook.pytest_deselected(items=[i for i in items if id(i) in left_out])
    items[:] = [item for item in items if id(item) not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """`lockstep.verify(...).check()` in an ordinary test: a skip, too."""
    try:
        return (yield)
    except lockstep.Skipped as error:
        if item.config.getoption("lockstep_strict"):
            raise
        pytest.skip(str(error))
