#!/usr/bin/env python3
"""The witness on trial: right answers pass, every planted defect is caught.

Small problems, each with its mask written once more as a plain predicate of
(b, h, i, j), are computed here by scalar loops in emulated f32, written to a
directory as `lockstep export` would, and judged.  Then the same problem is
computed with one defect: the witness must refuse it.
"""

import math
import pathlib
import sys
import tempfile

import numpy as np

import attention_witness
import case_language
import safetensors_file
from fp8_tensors import Fp8Tensors
from mask_patterns import PATTERNS

F = np.float32
LOG2E = attention_witness.LOG2E


# --- The scalar candidate. ---


def fma(a, b, c):
    return F(np.float64(a) * np.float64(b) + np.float64(c))


def bf16_bits(x):
    bits = int(np.array(x, dtype=np.float32).view(np.uint32))
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF
    return 0x7FC0 if math.isnan(x) else rounded


def bf16(x):
    return F(np.array(bf16_bits(x) << 16, dtype=np.uint32).view(np.float32))


def eleven_bits(x):
    """p=f16 (N10): 11 significant bits, whatever the exponent."""
    fraction, exponent = math.frexp(x)
    return F(math.ldexp(round(fraction * 2048), exponent - 11))


LANE = {"f32": F, "bf16": bf16, "f16": lambda x: F(np.float16(x))}
WEIGHT = {**LANE, "f16": eleven_bits}


def score(case, q, k, visible, bug):
    """u in base 2, or None where the key does not exist."""
    dot = F(0)
    for a, b in zip(q, k):
        dot = fma(a, b, dot)
    if bug == "mask_before_cap" and not visible:
        return F(-case.cap * LOG2E)
    if not visible:
        return None
    scale = 1.0 if bug == "scale_forgotten" else case.scale
    if case.cap is None or bug == "cap_forgotten":
        return F(dot * F(scale * LOG2E))
    if bug == "cap_before_scale":
        return F(case.cap * math.tanh(dot / case.cap) * scale * LOG2E)
    return F(F(math.tanh(dot * F(scale / case.cap))) * F(case.cap * LOG2E))


def finish(total, top, bug):
    if total == 0:
        return math.inf if bug == "empty_lse_plus_infinity" else -math.inf
    lse = float(top) + math.log2(total)
    return lse if bug == "lse_in_log2" else lse / LOG2E


def row(case, scores, values, sink, bug):
    """One output row (o [Dv], lse) from scores in base 2 and V rows."""
    seen = [j for j, u in enumerate(scores) if u is not None]
    if bug == "last_key_dropped":
        seen = seen[:-1]
    logits = [scores[j] for j in seen]
    if sink is not None:
        logits.append(F(sink * LOG2E))
    if any(math.isnan(u) or u == math.inf for u in logits):
        return [math.nan] * case.dv, math.nan
    top = max(logits, default=F(0))
    top = F(0) if top == -math.inf else F(round(float(top)))
    p = [F(2.0 ** float(u - top)) for u in logits]
    total = F(0)
    for weight in p:
        total = F(total + weight)
    sink_value = F(bug == "sink_has_value_one")
    rounded = bf16 if bug == "p_rounded_to_bf16" else WEIGHT[case.p]
    p = [rounded(weight) for weight in p]
    o = []
    for c in range(case.dv):
        acc = F(sink_value * p[-1]) if p else F(0)
        for weight, j in zip(p, seen):
            acc = fma(weight, values[j][c], acc)
        o.append(F(acc / total) + F(0) if total > 0 else F(0))
    if bug == "lse_without_sink" and sink is not None:
        total = F(total - F(2.0 ** float(logits[-1] - top)))
    return o, finish(total, top, bug)


def compute(problem, bug):
    """o, lse of the whole problem with at most one defect."""
    case, group = problem.case, problem.case.hq // problem.case.hkv
    o = np.zeros((case.b, case.hq, case.sq, case.dv), dtype=np.float32)
    lse = np.zeros((case.b, case.hq, case.sq), dtype=np.float32)
    for b, h, i in np.ndindex(lse.shape):
        kv = h % case.hkv if bug == "heads_modulo" else h // group
        scores = [score(case, problem.q[b, h, i], problem.k[b, kv, j],
                        problem.sees(b, h, i, j, bug), bug)
                  for j in range(case.skv)]
        sink = None if problem.sink is None else float(problem.sink[h])
        if sink is not None and bug == "sink_scaled":
            sink *= case.scale
        o[b, h, i], lse[b, h, i] = row(case, scores, problem.v[b, kv], sink,
                                       bug)
    return o, lse


# --- Problems. ---


class Problem:
    def __init__(self, line, sees, bugs, extra=None, change=None):
        self.line = "attention_forward " + line
        self.case = case = case_language.parse_case(self.line)
        self.sees, self.bugs = sees, bugs
        rng = np.random.default_rng(7)

        def normal(*shape):
            x = rng.standard_normal(shape).astype(np.float32)
            return np.vectorize(LANE[case.lane], otypes=[F])(x)

        self.q = normal(case.b, case.hq, case.sq, case.d) * F(2)
        self.k = normal(case.b, case.hkv, case.skv, case.d)
        self.v = normal(case.b, case.hkv, case.skv, case.dv)
        self.sink = (rng.standard_normal(case.hq).astype(np.float32)
                     if case.sink else None)
        self.extra = extra or {}
        if change:
            change(self)

    def inputs(self):
        lane = self.case.lane.upper()
        out = {n: (lane, self.words(getattr(self, n))) for n in "qkv"}
        if self.sink is not None:
            out["sink"] = ("F32", self.sink)
        for name in ("q_seg", "kv_seg"):
            rows = getattr(self.case, name)
            if rows is not None:
                out[name] = ("I32", np.array(rows, dtype="<i4"))
        return {**out, **self.extra}

    def words(self, x):
        if self.case.lane == "bf16":
            return np.vectorize(bf16_bits)(x).astype("<u2")
        if self.case.lane == "f16":
            return x.astype("<f2").view("<u2")
        bits = np.ascontiguousarray(x, dtype="<f4").view("<u4").copy()
        bits[np.isnan(x)] = 0x7FC00000
        return bits


class Fp8Problem(Fp8Tensors, Problem):
    def __init__(self, line):
        super().__init__(line, lambda b, h, i, j, bug: True, self.BUGS)
        self.draw()


def run(problem, bug, folder, change=None):
    """Writes the export directory and judges it."""
    if isinstance(problem, Fp8Problem):
        problem.read(bug)
    o, lse = compute(problem, bug)
    o_words = problem.words(o)
    lse_words = np.ascontiguousarray(lse).view("<u4").copy()
    lse_words[np.isnan(lse)] = 0x7FC00000
    if change:
        change(o_words, lse_words)
    safetensors_file.write(folder / "inputs.safetensors", problem.inputs(),
                           {"case": problem.line})
    safetensors_file.write(
        folder / "expected.safetensors",
        {"o": (problem.case.lane.upper(), o_words),
         "lse": ("F32", lse_words)}, {})
    tally, _ = attention_witness.judge_directory(folder)
    return tally


def poison_masked(problem):
    """NaN in a key and an infinity in a value that nobody may see."""
    problem.k[0, 0, 6] = math.nan
    problem.v[0, 0, 7] = math.inf


def nan_key(problem):
    problem.k[0, 0, 2, 1] = math.nan


def infinite_value(problem):
    problem.v[0, 0, 1, 0] = math.inf


def near_ties(problem):
    """Large scores that differ little: rounding of the logits dominates."""
    problem.k[:] = problem.k[:, :, :1] * F(4) + problem.k * F(0.01)


RUN5 = (0, 0, 0, 0, 0, 1, 1, 1, 1)  # runs:5,4
FULL = ("scale_forgotten", "lse_in_log2", "last_key_dropped",
        "p_rounded_to_bf16")


def chosen(bug, name, wrong, right):
    return wrong if bug == name else right


def problems():
    yield Problem("sq=5 skv=9 d=8 dv=6", lambda b, h, i, j, bug: True, FULL)
    yield Problem(
        "hq=4 hkv=2 sq=4 skv=7 d=8 cap=0.5 mask=causal align=2",
        lambda b, h, i, j, bug: i + 2 - j >= 0,
        ("mask_before_cap", "cap_forgotten", "cap_before_scale",
         "last_key_dropped", "heads_modulo", "lse_in_log2"))
    yield Problem(
        "sq=3 skv=6 d=8 cap=30 mask=causal align=br",
        lambda b, h, i, j, bug: i + chosen(bug, "align_top_left", 0, 3) >= j,
        ("align_top_left", "last_key_dropped"))
    yield Problem(
        "sq=6 skv=3 d=4 mask=causal align=br",
        lambda b, h, i, j, bug: i + chosen(bug, "align_top_left", 0, -3) >= j,
        ("align_top_left", "empty_lse_plus_infinity"))
    yield Problem(
        "sq=8 skv=8 d=8 cap=2 mask=window:2,1",
        lambda b, h, i, j, bug:
        i - j <= chosen(bug, "window_wider_left", 3, 2)
        and j - i <= chosen(bug, "window_wider_right", 2, 1)
        and not (bug == "window_counts_self" and i - j == 2),
        ("window_wider_left", "window_wider_right", "window_counts_self"))
    yield Problem(
        "sq=6 skv=8 d=8 mask=chunked:3 align=1",
        lambda b, h, i, j, bug: i + 1 >= j and
        (i + chosen(bug, "chunk_ignores_offset", 0, 1)) // 3 == j // 3,
        ("chunk_ignores_offset",))
    yield Problem(
        "b=2 sq=5 skv=7 d=8 mask=prefix:2,4",
        lambda b, h, i, j, bug: i >= j
        or j < (2, 4)[chosen(bug, "prefix_of_row_0", 0, b)]
        and bug != "prefix_forgotten",
        ("prefix_of_row_0", "prefix_forgotten"))
    yield Problem(
        "sq=9 skv=9 d=8 mask=causal&(window:1,0|sink:2) "
        "q_seg=runs:5,4 kv_seg=runs:5,4",
        lambda b, h, i, j, bug: i >= j
        and (i - j <= 1 or (j if bug == "sink_tokens_of_row"
                            else j - 5 * RUN5[j]) < 2)
        and (RUN5[i] == RUN5[j] or bug == "segments_ignored"),
        ("sink_tokens_of_row", "segments_ignored"))
    yield Problem(
        "sq=6 skv=6 d=8 mask=window:0,0|causal&chunked:2",
        lambda b, h, i, j, bug: (i == j or i >= j) and i // 2 == j // 2
        if bug == "or_binds_tighter"
        else i == j or (i >= j and i // 2 == j // 2),
        ())
    yield Problem(
        "sq=6 skv=6 d=8 mask=full|causal&chunked:2",
        lambda b, h, i, j, bug: bug != "or_binds_tighter"
        or (i >= j and i // 2 == j // 2), ("or_binds_tighter",))
    yield Problem(
        "b=2 sq=4 skv=6 d=8 valid_q=4,2 valid_kv=5,3 mask=causal align=br",
        lambda b, h, i, j, bug: i < (4, 2)[b]
        and j < (5, 3)[b]
        and i + (chosen(bug, "br_of_physical_lengths", 2, 1)) >= j,
        ("br_of_physical_lengths",))
    yield Problem(
        "b=2 sq=3 skv=6 d=8 valid_q=3,1 valid_kv=5",
        lambda b, h, i, j, bug: (i < (3, 1)[b] or bug == "valid_q_ignored")
        and (j < 5 or bug == "valid_kv_ignored"),
        ("valid_kv_ignored", "valid_q_ignored"))
    yield Problem(
        "hq=3 hkv=1 sq=4 skv=5 d=8 cap=2 mask=full mask.h1=causal "
        "sinklogit=normal:1",
        lambda b, h, i, j, bug: h != 1 or i >= j or bug == "head_mask_lost",
        ("head_mask_lost", "lse_without_sink", "sink_has_value_one",
         "sink_scaled"))
    stored = np.arange(2 * 5 * 6).reshape(1, 2, 5, 6) % 7 % 2
    yield Problem(
        "hq=2 sq=5 skv=6 d=8 mask=causal|random:0.5",
        lambda b, h, i, j, bug: i >= j or stored[
            0, chosen(bug, "stored_mask_of_head_0", 0, h), i, j] == 1,
        ("stored_mask_of_head_0",),
        extra={"dense_mask_0": ("U8", stored.astype(np.uint8))})
    blocks = np.array([[1, 0], [0, 1], [1, 1]], np.uint8)
    yield Problem(
        "sq=5 skv=7 d=8 mask=blocks:2x4:file:m",
        lambda b, h, i, j, bug: blocks[
            min(i // chosen(bug, "block_sizes_swapped", 4, 2), 2),
            min(j // chosen(bug, "block_sizes_swapped", 2, 4), 1)] == 1,
        ("block_sizes_swapped",),
        extra={"dense_mask_0": ("U8", blocks.reshape(1, 1, 3, 2))})
    yield Problem("sq=3 skv=6 d=16 lane=bf16 p=bf16 cap=50",
                  lambda b, h, i, j, bug: True,
                  ("scale_forgotten", "last_key_dropped", "lse_in_log2"))
    yield Problem("sq=3 skv=6 d=16 lane=f16 p=f16 cap=50",
                  lambda b, h, i, j, bug: True, FULL)
    yield Fp8Problem("b=2 hq=2 hkv=1 sq=3 skv=6 d=8 cap=2 kvlane=e4m3 qlane=e5m2 "
                     "qscale=head:uniform:0.5,2 kscale=token:uniform:0.5,2 "
                     "vscale=token:uniform:0.5,2")
    yield Problem("sq=8 skv=6 d=64", lambda b, h, i, j, bug: True,
                  ("last_key_dropped", "lse_in_log2"), change=near_ties)
    yield Problem("sq=6 skv=8 d=8 mask=causal", lambda b, h, i, j, bug: i >= j,
                  (), change=poison_masked)
    yield Problem("sq=4 skv=4 d=8 cap=2 mask=causal",
                  lambda b, h, i, j, bug: i >= j, (), change=nan_key)
    yield Problem("sq=4 skv=4 d=8 mask=causal",
                  lambda b, h, i, j, bug: i >= j, (), change=infinite_value)


def word_defects():
    """Defects of single output words: (name, line, problem change, edit)."""
    def edit_o(index, word):
        def edit(o, lse):
            o[index] = word
        return edit

    def edit_lse(index, word):
        def edit(o, lse):
            lse[index] = word
        return edit

    causal = "sq=4 skv=4 d=8 cap=2 mask=causal"
    empty = "sq=4 skv=4 d=8 mask=causal align=-1"
    last = (0, 0, 3, 0)
    first = (0, 0, 0, 0)
    yield "NaN where a number is due", causal, None, edit_o(last, 0x7FC00000)
    yield "infinity where a number is due", causal, None, \
        edit_o(last, 0x7F800000)
    yield "number where NaN is due", causal, nan_key, edit_o(last, 0x3F800000)
    yield "NaN of other bits", causal, nan_key, edit_o(last, 0xFFC00000)
    yield "infinity of the other sign", causal, infinite_value, \
        edit_o(last, 0xFF800000)
    yield "empty row not zero", empty, None, edit_o(first, 0x00000001)
    yield "empty row minus zero", empty, None, edit_o(first, 0x80000000)
    yield "empty row's lse NaN", empty, None, edit_lse((0, 0, 0), 0x7FC00000)
    yield "lse one unit of 2^-15 off", causal, None, \
        lambda o, lse: lse.view(np.float32).__setitem__(
            last[:3], lse.view(np.float32)[last[:3]] + F(2.0 ** -15))


def pattern(line):
    case = case_language.parse_case("attention_forward d=1 " + line)
    mask = case_language.visibility(case, 0, 0, {})
    return " ".join("".join(".x"[int(x)] for x in r) for r in mask)


def main():
    counts = {True: 0, False: 0}

    def note(ok, text):
        counts[bool(ok)] += 1
        print(f"{'ok   ' if ok else 'FAIL '} {text}")

    for line, drawn in PATTERNS:
        note(pattern(line) == drawn, f"pattern {line}: {pattern(line)}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for problem in problems():
            tally = run(problem, None, folder)
            note(attention_witness.passes(tally), f"right answer passes: "
                 f"{problem.line} ({attention_witness.summary(tally)})"
                 + "".join("\n      " + m for m in tally.messages))
            for bug in problem.bugs:
                tally = run(problem, bug, folder)
                note(tally.failed > 0, f"caught {bug}: {problem.line} "
                     f"({tally.failed} elements)")
        for text, line, change, edit in word_defects():
            problem = Problem(line, lambda b, h, i, j, bug:
                              i + int(problem.case.align.replace("tl", "0"))
                              >= j, (), change=change)
            note(run(problem, None, folder).failed == 0, f"clean: {line}")
            note(run(problem, None, folder, edit).failed == 1,
                 f"caught {text}")
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 0 if counts[False] == 0 and counts[True] > 40 else 1


if __name__ == "__main__":
    sys.exit(main())
