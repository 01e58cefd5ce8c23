#!/usr/bin/env python3
"""Every file that knows an op is found by the op's name: check_ops.py [--selftest].

`git ls-files '*mamba3_scan*' '*mamba3_step*' '*ssd_scan*'` lists what knows the
recurrence of these three ops, and so for the other ops. A file knows an op that names it, or a type of its own, outside of
comments. The exceptions stand below, each with its reason; one that no file needs any
more is a finding, too.
"""

import fnmatch
import pathlib
import re

import sources
from sources import Finding

SUFFIXES = (".cc", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt")

# Names of files that find an op; what names it in code.
OPS = {
    "attention": (("attention_forward", "attention_backward"),
                  r"attention_(?:for|back)ward|Attention(?:For|Back)ward"),
    "mamba3_scan": (("mamba3_scan", "mamba3_step", "ssd_scan"),
                    r"mamba3_(?:scan|step)|Mamba3(?:Scan|Step)|ssd_scan|SsdScan"),
    "block_plan": (("block_plan",), r"block_plan|BlockPlan"),
}

ANY = tuple(OPS)
MASKS = ("attention",)
SCANS = ("mamba3_scan",)
TABLES = ("block_plan",)
# (files, ops, reason)
EXCEPTIONS = (
    ("tests/*", ANY, "a test names the cases that it tries"),
    ("*CMakeLists.txt", ANY, "lists of files"),
    ("cmake/LockstepOps.cmake", ANY, "the list of the ops and their rooms"),
    ("verify/registry/ops.cc", ANY, "the rows of the ops, joined"),
    ("verify/base/trade_words.cc", ANY, "what people call an op elsewhere"),
    ("verify/identify/rows.cc", ANY, "the ops whose kernels can be asked, joined"),
    ("verify/selftest/row*", ANY, "the selftest's rows, joined"),
    ("verify/emulator/mutants*", ANY, "the catalogues of known bugs, joined"),
    ("verify/candidate/*mutant*.cc", ANY, "a name in them leads to its op"),
    ("verify/host/*", ANY, "the C interface: one function and one struct an op"),
    ("verify/cli/*", ANY, "help shows commands that can be typed"),
    ("fuzz/cli/*", ANY, "the same; campaigns without --op are attention's"),
    ("fuzz/engine/*", ANY, "targets of an engine, by the op they begin with"),
    ("bench/*", ANY, "a benchmark is of a shape of an op"),
    ("examples/*", ANY, "kernels of one op, to be copied"),
    ("python/*", ANY, "one function an op, as in the C interface"),
    ("scripts/*", ANY, "runs over ops by name"),
    (".clusterfuzzlite/*", ANY, "the same"),
    ("docs/*", ANY, "scripts to be copied"),
    ("verify/selftest/lengths/*", ANY, "covers of cases, a factor a key of the op"),
    ("verify/run/self_check.cc", ANY, "the judge judges a case of each op at its start"),
    ("verify/profile/profile.h", SCANS + MASKS, "a profile holds the fields of every op"),
    ("verify/candidate/builtin.cc", ANY, "which options of our kernels each op has"),
    ("verify/report/receipt.cc", MASKS, "a receipt names the rounding of the products"),
    ("verify/report/statistics.cc", MASKS, "which instructions a lane could have used"),
    ("verify/run/fresh_data.cc", ANY, "what of a case is drawn anew"),
    ("verify/candidate/wire/candidate.cc", MASKS, "a planner's tables need the mask"),
    # Planners answer with tables: the second of the two ways to answer.
    ("verify/candidate/*", TABLES, "a planner is asked and answers in its own way"),
    ("verify/ops/op.h", TABLES, "a trial may be a planner's"),
    ("verify/ops/attention_forward/wants.cc", TABLES, "tables a kernel wants made"),
    ("verify/judge/judgement.h", TABLES, "what is said of tables"),
    ("verify/report/export.*", TABLES, "a planner's answers have a file of their own"),
    ("fuzz/corpus.cc", TABLES, "known-bad planners beside known-bad kernels"),
    ("fuzz/explain.cc", TABLES, "tables are explained in their own way"),
    ("verify/selftest/report.cc", TABLES, "planted tables beside planted kernels"),
    ("verify/case/attention_forward/line.cc", TABLES, "plans share attention's keys"),
    ("verify/domain/attention_forward/reduce.cc", TABLES, "and their reducer"),
    ("verify/report/page/*", TABLES, "a mask is drawn as its plan"),
    ("*block_plan*", MASKS, "a plan is of an attention's mask"),
    # One op that shares another's parts.
    ("verify/allowed/counts.cc", MASKS, "what of an envelope is counted"),
    ("verify/allowed/mamba3_scan*", MASKS, "sums and roundings bounded as attention's"),
    ("verify/case/mamba3_scan/probe.cc", MASKS, "the message that a probe is not its own"),
    ("verify/domain/mamba3_scan.cc", MASKS, "runs are drawn as segments are"),
    ("verify/oracle/kernels.h", MASKS, "the witness's inner loops"),
    # What attention is made of: masks, their classes by tile, and plans.
    ("reference/mask.*", MASKS, "the mask's definition, which the op's row reads"),
    ("reference/attention_row.*", MASKS, "the row that both directions share"),
    ("reference/contract/attention_checks.h", MASKS, "what both directions check"),
    ("optimized/tuning.*", MASKS, "tiles, which only attention has"),
    ("optimized/attention_*", MASKS, "parts of the kernel, by their own names"),
    ("optimized/mask_*", MASKS, "the mask, read and classed by tile"),
    ("optimized/*plan*", MASKS, "plans of the kernel and of its tables"),
    ("optimized/tile_*", MASKS, "tables by tile"),
    ("optimized/row_keys.*", MASKS, "which keys a row sees"),
    ("optimized/dispatch.*", MASKS, "the choice of target, shared by all kernels"),
    ("verify/case/mask_text.*", MASKS, "the text of masks, which are attention's"),
    ("verify/case/lists.*", MASKS, "the text of segments and counts"),
    ("verify/case/views.h", MASKS, "views of a case's payload"),
    ("verify/inputs/fill.*", MASKS, "fills that follow the mask: drift, caps, low"),
    ("verify/inputs/named_tensor.h", ANY, "the overloads that name each op's inputs"),
    ("verify/tables/*", MASKS + ("block_plan",), "tables are of an attention mask"),
    # What the scan is made of.
    ("optimized/mamba3_*", SCANS, "parts of the kernel, by their own names"),
    ("reference/runs.*", SCANS, "runs of a packed sequence"),
    ("reference/mamba3_*", SCANS, "a token and a head, which both directions share"),
    ("reference/contract/mamba3_checks.h", SCANS, "what both directions check"),
)


def knows(text, suffix, pattern):
    """The first line, from 1, that names the op outside of comments; 0: none."""
    marks = r"//[^\n]*" if suffix in (".cc", ".h") else r"#[^\n]*"
    code = re.sub(marks, "", text)
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
        if name.startswith(".ci/"):
            continue
        text = path.read_text(errors="replace")
        for op, (names, pattern) in OPS.items():
            if any(n in name for n in names):
                continue
            line = knows(text, path.suffix, pattern)
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
}
PLANTED = (
    ("verify/report/junit.cc", "if (op == \"block_plan\") return;\n",
     "knows block_plan"),
    ("verify/judge/judge.h", "// Of this.\nclass Mamba3ScanTrial;\n", "knows mamba3_scan"),
    ("verify/judge/rows.h", "struct AttentionForwardCase;\n", "knows attention"),
)

if __name__ == "__main__":
    sources.main(check, CLEAN, PLANTED)
