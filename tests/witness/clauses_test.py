#!/usr/bin/env python3
"""The bits of exported cases against contract_bits.py, which has them from the text.

  clauses_test.py LOCKSTEP CASES...

Exits 0 only if every line's outputs have the text's bits, if every misreading of
MISREADINGS changes a bit of some line, and if the lines have every kind of mask: a
clause that no line could show is a failure. The masks here are those that the
specification draws (mask_patterns.py).
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import case_language
import contract_bits
import gradient_bits
import safetensors_file
import scan_bits
from mask_patterns import PATTERNS

MISREADINGS = ("f16_weights_of_binary16", "fixed_path_with_scales",
               "shared_scales_in_f32", "scales_after_rounding", "sum_takes_rounded_weights",
               "stripes_of_visible_keys", "no_second_computation", "no_sink_in_l",
               "weights_to_126", "delta_of_rows_without_keys", "subnormal_ds",
               "light_parts_are_left_out", "beta_without_decay", "sums_from_the_end", "steps_keep_a_bit_less",
               "blocks_of_16", "parts_of_any_length")
MASK_KINDS = {"full", "causal", "window", "chunked", "prefix", "sink", "random", "blocks",
              "index"}


def read_cases(paths):
    lines = [line.strip() for path in paths
             for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def kinds(tree):
    """Names of the kinds of mask in one expression."""
    if tree[0] in ("and", "or"):
        return kinds(tree[1]) | kinds(tree[2])
    return {tree[2] if tree[0] == "stored" else tree[0]}


def drawn_otherwise():
    """Lines of PATTERNS whose mask here is not the drawn one."""
    for line, drawn in PATTERNS:
        case = case_language.parse_case(f"attention_forward d=1 {line}")
        rows = case_language.visibility(case, 0, 0, {})
        if " ".join("".join("x" if x else "." for x in row) for row in rows) != drawn:
            yield line


def scales_of(case, tensors, name, b, head, heads, length):
    """(the scale that all share, one of each position): N25."""
    ones = np.ones(length, np.float32)
    if name not in case.scales:
        return np.float32(1), ones
    spread = case_language.spread_scales(case.scales[name],
                                         tensors[name + "_scale"].values, heads, length)
    row = np.float32(spread[b if spread.shape[0] > 1 else 0, head])
    shared = case.scales[name].startswith(("tensor", "head"))
    return (row[0], ones) if shared else (np.float32(1), row)


class Exported:
    """One case with its tensors."""

    case = None  # of attention

    def __init__(self, folder):
        self.tensors, metadata = safetensors_file.read(folder / "inputs.safetensors")
        self.expected, _ = safetensors_file.read(folder / "expected.safetensors")
        line = self.parse(metadata["case"])
        if line is None:
            return
        self.case = case_language.parse_case(line)
        self.split = int(case_language.split_keys(line).get("split", 1))
        case_language.check_inputs(self.case, self.tensors)
        self.stored = case_language.stored_masks(self.case, self.tensors)

    def parse(self, line):
        """The line of attention_forward that has its problem; None: there is none."""
        return line

    def results(self, misread=()):
        """Every output by the text: o [b, hq, sq, dv] and lse [b, hq, sq]."""
        case, t = self.case, self.tensors
        problem = contract_bits.Problem(case, self.split, misread)
        o = np.zeros((case.b, case.hq, case.sq, case.dv), np.float32)
        lse = np.zeros(o.shape[:3], np.float32)
        for b, h in np.ndindex(case.b, case.hq):
            g = h // (case.hq // case.hkv)
            k_scale = scales_of(case, t, "k", b, g, case.hkv, case.skv)
            v_scale = scales_of(case, t, "v", b, g, case.hkv, case.skv)
            q_scale = scales_of(case, t, "q", b, h, case.hq, case.sq)
            mask = case_language.visibility(case, b, h, self.stored)
            sink = None
            if case.sink:
                sink = np.float32(t["sink"].values[h]) * np.float32(contract_bits.LOG2E)
            for i in range(case.sq):
                keys = np.flatnonzero(mask[i])
                u = contract_bits.scores(
                    problem, t["q"].values[b, h, i], t["k"].values[b, g][keys],
                    (k_scale[0], k_scale[1][keys]), (q_scale[0], q_scale[1][i]))
                row = (keys, u, t["v"].values[b, g][keys], v_scale[1][keys], sink)
                o[b, h, i], lse[b, h, i] = contract_bits.attention_row(
                    problem, row, v_scale[0], case.dv)
        return {"o": o, "lse": lse}

    def differing(self, misread=()):
        """How many elements have other bits than the expected ones."""
        count = 0
        for name, ours in self.results(misread).items():
            theirs = np.float32(self.expected[name].values)
            same = (ours.view(np.uint32) == theirs.view(np.uint32)) | (
                np.isnan(ours) & np.isnan(theirs))
            count += int((~same).sum())
        return count


class ExportedGradients(Exported):
    """The same of attention_backward."""

    OWN = ("grad", "do", "dlse")

    def parse(self, line):
        self.line = dict(word.split("=", 1) for word in line.split()[1:])
        plain = [f"{k}={v}" for k, v in self.line.items() if k not in self.OWN]
        return " ".join(["attention_forward", *plain])

    def results(self, misread=()):
        case = self.case
        mask = np.array([[case_language.visibility(case, b, h, self.stored)
                          for h in range(case.hq)] for b in range(case.b)])
        problem = contract_bits.Problem(case, 1, misread,
                                        self.line.get("grad", case.lane) == "f32")
        arrays = {name: np.float32(t.values) for name, t in self.tensors.items()}
        found = gradient_bits.gradients(problem, arrays, mask)
        return {name: found[name] for name in self.expected}


class ExportedMerge(Exported):
    """The same of attention_merge."""

    def parse(self, line):
        self.line = dict(word.split("=", 1) for word in line.split()[1:])
        return None

    def results(self, misread=()):
        parts, lse = (np.float32(self.tensors[n].values) for n in ("o_parts", "lse_parts"))
        found = {"o": np.zeros(parts.shape[1:], np.float32),
                 "lse": np.zeros(lse.shape[1:], np.float32)}
        for h, n in np.ndindex(*lse.shape[1:]):
            found["o"][h, n], found["lse"][h, n] = gradient_bits.merged_row(
                parts[:, h, n], lse[:, h, n], self.line["base"], self.line["out"], misread)
        return found


class ExportedScan(ExportedMerge):
    """The same of mamba3_scan."""

    CALL = scan_bits.Scan

    def results(self, misread=()):
        arrays = {name: np.float32(t.values) for name, t in self.tensors.items()}
        found = self.CALL(self.line, arrays, misread).results()
        return {name: found[name] for name in self.expected}


class ExportedScanGradients(ExportedScan):
    """The same of mamba3_scan_backward."""

    CALL = scan_bits.ScanGradients


OPS = {"attention_forward": Exported, "attention_backward": ExportedGradients,
       "attention_merge": ExportedMerge, "mamba3_scan": ExportedScan,
       "mamba3_scan_backward": ExportedScanGradients}


def export(lockstep, line, folder):
    subprocess.run([lockstep, "export", line, "--minimal", "--with-expected", "--out",
                    str(folder)], check=True, capture_output=True)
    return OPS[line.split()[0]](folder)


def main():
    lockstep, lines = sys.argv[1], read_cases(sys.argv[2:])
    failed, shown, covered = 0, set(), set()
    with tempfile.TemporaryDirectory() as name, np.errstate(all="ignore"):
        for number, line in enumerate(lines):
            exported = export(lockstep, line, pathlib.Path(name) / str(number))
            count = exported.differing()
            for tree in exported.case.masks.values() if exported.case else ():
                covered |= kinds(tree)
            failed += count != 0
            print(f"{'ok  ' if count == 0 else 'FAIL'} {line}"
                  + (f"\n     {count} elements have other bits than the text" if count else ""))
            for wrong in MISREADINGS:
                if wrong not in shown and exported.differing({wrong}) != count:
                    shown.add(wrong)
    lacks = [f"no line shows the misreading {x}" for x in sorted(set(MISREADINGS) - shown)]
    lacks += [f"no line has the mask {x}" for x in sorted(MASK_KINDS - covered)]
    lacks += [f"another mask is drawn for {x}" for x in drawn_otherwise()]
    for lack in lacks:
        print(f"FAIL {lack}")
    failed += len(lacks)
    print(f"{len(lines)} lines, {failed} failures")
    return 0 if lines and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
