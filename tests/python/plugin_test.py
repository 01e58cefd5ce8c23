"""The pytest plugin, by pytest's own pytester."""
import os
import pathlib
import xml.etree.ElementTree

import pytest

SOURCE = pathlib.Path(os.environ["LOCKSTEP_SOURCE"])

HEAD = f"""
import sys
sys.path.insert(0, {str(SOURCE / "python/examples")!r})
import lockstep, numpy as np
from numpy_attention import PROFILE, attend as right
facts = dict(profile={str(SOURCE / "tests/python/numpy.profile")!r}, wants=["mask.dense"],
             lanes=["f32"])
"""
CASES = """
# three cases, the last of another lane
attention_forward sq=5 skv=9 d=8 mask=causal
attention_forward hq=2 sq=6 skv=7 d=8 cap=30
attention_forward sq=5 skv=9 d=8 lane=bf16 p=bf16
"""
RIGHT = """
@lockstep.parametrize("three.cases", **facts)
def attend(q, k, v, *, call):
    return right(q, k, v, call=call)
"""
WRONG = """
@lockstep.parametrize("three.cases", **facts)
def window_off_by_one(q, k, v, *, call):
    seen = np.array(call.mask_dense)
    if call.softcap:
        seen[..., :, -1] = 0
    call.inputs["mask.dense"] = seen
    return right(q, k, v, call=call)
"""


@pytest.fixture
def kernels(pytester):
    pytester.makefile(".cases", three=CASES)

    def write(*parts):
        pytester.makepyfile(test_kernels=HEAD + "".join(parts))
        return pytester

    return write


def outcomes(result, **wanted):
    found = result.parseoutcomes()
    found = {k: n for k, n in found.items() if k in (
        "passed", "failed", "skipped", "deselected", "errors")}
    assert found == wanted, result.stdout.str()


def test_an_item_each_case(kernels):
    pytester = kernels(RIGHT)
    result = pytester.runpytest_subprocess("-rs")
    outcomes(result, passed=2, skipped=1)
    result.stdout.fnmatch_lines(["*does not cover lane=bf16*"])
    result = pytester.runpytest_subprocess("--collect-only", "-q")
    result.stdout.fnmatch_lines(
        ["*test_kernels.py::attend[[]attention_forward hq=2 sq=6 skv=7 d=8 cap=30[]]"])


def test_strict(kernels):
    result = kernels(RIGHT).runpytest_subprocess("--lockstep-strict")
    outcomes(result, passed=2, failed=1)
    result.stdout.fnmatch_lines(["skipped: *does not cover lane=bf16*"])


def test_select(kernels):
    outcomes(kernels(RIGHT).runpytest_subprocess("-k", "cap"), passed=1, deselected=2)


def test_failure_says_it_all_and_runs_again(kernels):
    pytester = kernels(RIGHT, WRONG)
    result = pytester.runpytest_subprocess()
    outcomes(result, passed=3, failed=1, skipped=2)
    result.stdout.fnmatch_lines([
        "FAIL  attention_forward hq=2 sq=6 skv=7 d=8 cap=30",
        "*envelope (o): o at*", "*other rules: *",
        "*replay: lockstep verify '*' --candidate 'py:test_kernels.py:window_off_by_one,*"])
    outcomes(pytester.runpytest_subprocess("--lf"), failed=1)


def test_xdist(kernels):
    outcomes(kernels(RIGHT, WRONG).runpytest_subprocess("-n", "2"), passed=3, failed=1,
             skipped=2)


def test_shards_are_a_partition(kernels):
    pytester = kernels(RIGHT, "\ndef test_other():\n    pass\n")
    names = []
    for shard in ("0/2", "1/2"):
        result = pytester.runpytest_subprocess("--collect-only", "-q", "--lockstep-shard", shard)
        names.append([line for line in result.outlines if "::" in line])
    ours = [[name for name in part if "attend" in name] for part in names]
    assert sorted(map(len, ours)) == [1, 2] and not set(ours[0]) & set(ours[1])
    assert all("test_other" in " ".join(part) for part in names)
    result = pytester.runpytest_subprocess("--lockstep-shard", "2/2")
    result.stderr.fnmatch_lines(["*want i/N with 0 <= i < N*"])


def test_budget_adds_a_fuzzing_item(kernels):
    result = kernels(RIGHT, WRONG).runpytest_subprocess("--lockstep-budget", "60cases", "-k",
                                                        "fuzz")
    outcomes(result, passed=1, failed=1, deselected=6)
    result.stdout.fnmatch_lines(["FOUND *", "*shrunk: *", "*replay: lockstep verify*"])


def test_junit_has_receipt_and_replay(kernels):
    pytester = kernels(WRONG)
    pytester.runpytest_subprocess("--junit-xml=report.xml", "-k", "cap")
    case, = xml.etree.ElementTree.parse(pytester.path / "report.xml").iter("testcase")
    found = {p.get("name"): p.get("value") for p in case.iter("property")}
    assert found["lockstep_replay"].startswith("lockstep verify '")
    assert found["lockstep_case"] == "attention_forward hq=2 sq=6 skv=7 d=8 cap=30"
    assert '"cases"' in found["lockstep_receipt"]


def test_in_process_kernels_see_closures(kernels):
    pytester = kernels("""
def make(factor):
    @lockstep.parametrize("attention_forward sq=5 skv=9 d=8", isolate=False, **facts)
    def scaled(q, k, v, *, call):
        o, lse = right(q, k, v, call=call)
        return o * np.float32(factor), lse
    return scaled

one, two = make(1), make(2)
""")
    outcomes(pytester.runpytest_subprocess(), passed=1, failed=1)


def test_check_in_an_ordinary_test_skips(kernels):
    pytester = kernels("""
def test_it():
    @lockstep.kernel(**{**facts, "profile": PROFILE})
    def refuses(q, k, v, *, call):
        raise lockstep.Unsupported("everything")
    lockstep.verify(refuses, "attention_forward sq=5 skv=9 d=8", isolate=False).check()
""")
    result = pytester.runpytest_subprocess("-rs")
    outcomes(result, skipped=1)
    result.stdout.fnmatch_lines(["*everything*"])


def test_a_bad_case_file_is_one_line(kernels):
    pytester = kernels(RIGHT)
    pytester.makefile(".cases", three="attention_forward sq=5 skv=9 dd=8\n")
    result = pytester.runpytest_subprocess()
    result.stdout.fnmatch_lines(["*three.cases:1: *nearest is 'd'*"])


def test_an_item_each_claim(kernels):
    pytester = kernels("""
sys.path.insert(0, HERE)
import split_kernels
claimed = lockstep.parametrize("attention_forward hq=2 sq=5 skv=33 d=8 mask=causal align=br",
                               profile=PROFILE, claims=["batch", "heads", "split"])

@claimed
@lockstep.kernel(wants=["mask.dense"], lanes=["f32"])
def by_batch(q, k, v, *, call):
    return split_kernels.by_batch(q, k, v, call=call)
""".replace("HERE", repr(str(SOURCE / "tests/python"))))
    result = pytester.runpytest_subprocess("-rsf")
    outcomes(result, passed=2, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*FAILED *by_batch[[]claim batch[]]*"])
    result.stdout.fnmatch_lines(["*replay: lockstep invariance '*--claims batch*"])
    result.stdout.fnmatch_lines(["*SKIPPED*split: *"])
    outcomes(pytester.runpytest_subprocess("--lockstep-strict", "-k", "split"), failed=1,
             deselected=3)
