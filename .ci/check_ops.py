#!/usr/bin/env python3
"""Every file that knows an op is found by the op's name: check_ops.py [--selftest].

`git ls-files '*mamba3_*' '*ssd_scan*'` lists what knows the recurrence of these ops,
and so for the other ops. A file knows an op that names it, or a type of its own, outside
of comments. Judged is the code of the rooms that are written for all ops. The
exceptions stand below, each with its reason; one that no file needs any more is a
finding, too.
"""

import fnmatch
import pathlib
import re

import sources
from sources import Finding

SUFFIXES = (".cc", ".h")

# Names of files that find an op, and what it is made of; what names it in code. A
# BlockPlanScene is what any planner is asked.
OPS = {
    "attention": (("attention_", "mask", "tile", "tables", "plan", "row_keys"),
                  r"attention_(?:forward|backward|merge)|"
                  r"Attention(?:Forward|Backward|Merge)"),
    "mamba3_scan": (("mamba3_", "ssd_scan", "runs"),
                    r"mamba3_(?:scan|step)|Mamba3(?:Scan|Step)|ssd_scan|SsdScan"),
    "block_plan": (("plan", "tables", "attention_forward"),
                   r"block_plan|BlockPlan(?!Scene)"),
}
# Where code is meant to know no op.
ROOMS = ("reference/", "optimized/", "verify/", "fuzz/")

ANY = tuple(OPS)
MASKS = ("attention",)
TABLES = ("block_plan",)
# (files, ops, reason)
EXCEPTIONS = (
    ("verify/registry/*", ANY, "the rows of the ops, joined"),
    ("verify/selftest/*", ANY, "the selftest's rows, joined, and covers of their keys"),
    ("verify/identify/[nr]o*.cc", ANY, "the ops and fields that can be asked for, joined"),
    ("verify/emulator/mutants*", ANY, "the catalogues of known bugs, joined"),
    ("verify/candidate/*mutant*", ANY, "a name in them leads to its op"),
    ("verify/candidate/builtin.cc", ANY, "which options of our kernels each op has"),
    ("verify/candidate/wire/candidate.cc", ANY, "a planner's tables need the mask"),
    ("verify/host/*", ANY, "the C interface: one function and one struct an op"),
    ("*/cli/*", ANY, "help shows commands that can be typed"),
    ("fuzz/*", ANY, "an engine's targets by their op; planners beside kernels"),
    ("verify/base/trade_words.cc", ANY, "what people call an op elsewhere"),
    ("verify/run/*", ANY, "a case of each op to judge first, and what is drawn anew"),
    ("verify/profile/profile.h", ANY, "a profile holds the fields of every op"),
    ("verify/inputs/named_tensor.h", ANY, "the overloads that name each op's inputs"),
    ("verify/inputs/fill.*", MASKS, "fills that follow the mask: drift, caps, low"),
    ("verify/case/lists.*", MASKS, "the text of segments and counts"),
    ("verify/report/[rs]*.cc", MASKS, "how products are rounded, and by what"),
    ("verify/report/page/*", TABLES, "a mask is drawn as its plan"),
    ("verify/oracle/kernels.h", MASKS, "the witness's inner loops"),
    ("*mamba3_scan*", MASKS, "sums, runs and probes that are attention's, too"),
)


def knows(text, pattern):
    """The first line, from 1, that names the op outside of comments; 0: none."""
    code = re.sub(r"//[^\n]*", "", text)
    for number, line in enumerate(code.split("\n"), 1):
        if re.search(pattern, line):
            return number
    return 0


def excused(name, op, used):
    for pattern, ops, _ in EXCEPTIONS:
        if op in ops and fnmatch.fnmatch(name, pattern):
            used.add((pattern, ops))
            return True
    return False


def check(root):
    findings = []
    used = set()
    for name in sources.files(root, SUFFIXES):
        path = pathlib.Path(root) / name
        if not name.startswith(ROOMS):
            continue
        text = path.read_text(errors="replace")
        for op, (names, pattern) in OPS.items():
            if any(n in name for n in names):
                continue
            line = knows(text, pattern)
            if line and not excused(name, op, used):
                findings.append(Finding(name, line,
                                        f"knows {op}, but neither its name nor the list "
                                        "of exceptions in .ci/check_ops.py says so"))
    if (pathlib.Path(root) / "verify/registry").exists():
        findings += [Finding(".ci/check_ops.py", 1, f"the exception {pattern} is not needed")
                     for pattern, ops, _ in EXCEPTIONS if (pattern, ops) not in used]
    return findings


CLEAN = {
    "verify/ops/block_plan/trial.cc": "class BlockPlanTrial {};\n",
    "verify/judge/judge.cc": "// mamba3_scan has no such thing.\nint x;\n",
    "tests/verify/judge_test.cc": 'Try("mamba3_scan t=4");\n',
    "verify/tables/memory.h": "struct AttentionForwardProblem;\n",
}
PLANTED = (
    ("verify/report/junit.cc", "if (op == \"block_plan\") return;\n",
     "knows block_plan"),
    ("verify/judge/judge.h", "// Of this.\nclass Mamba3ScanTrial;\n", "knows mamba3_scan"),
    ("verify/judge/rows.h", "struct AttentionForwardCase;\n", "knows attention"),
)

if __name__ == "__main__":
    sources.main(check, CLEAN, PLANTED)
