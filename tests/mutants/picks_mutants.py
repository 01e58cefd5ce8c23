#!/usr/bin/env python3
"""Mutants of what holds a part of inputs, or a kernel's cut, against its source."""

import sys

import runner

A = "verify/inputs/attention_forward/pick.cc"
C = "verify/candidate/shards/mutant_shards.cc"
M = "verify/inputs/attention_merge.cc"
S = "verify/inputs/mamba3_scan_pick.cc"

# name, source, text, replacement
MUTANTS = (
    ("rows_anywhere", A, "AreAmong(pick_.rows, p.batch)", "true"),
    ("heads_anywhere", A, "AreAmong(pick_.q_heads, p.q_heads)", "true"),
    ("key_heads_anywhere", A, "AreAmong(pick_.kv_heads, p.kv_heads)", "!pick_.kv_heads.empty()"),
    ("broken_groups", A, "SizeOf(pick_.q_heads) % SizeOf(pick_.kv_heads) == 0", "true"),
    ("queries_anywhere", A, "queries_.LiesIn(p.q_len)", "true"),
    ("keys_anywhere", A, "keys_.LiesIn(p.kv_len)", "true"),
    ("stretches_wrap", A, "first <= length - count", "first + count <= length"),
    ("tensors_anywhere", A, "!AreAmong(heads, from.view.shape[1])", "false"),
    ("tokens_anywhere", S, "AreAmong(pick_.tokens, source.batch * source.length)", "true"),
    ("few_tokens", S, "std::ssize(pick_.tokens) == p.batch * p.length", "true"),
    ("scan_heads_anywhere", S, "AreAmong(pick_.heads, source.heads)", "true"),
    ("few_scan_heads", S, "std::ssize(pick_.heads) == p.heads", "true"),
    ("runs_anywhere", S, "AreAmong(pick_.runs, CountRuns(from_.problem, from_.inputs))", "true"),
    ("few_runs", S, "std::ssize(pick_.runs) >= CountRuns(case_)", "true"),
    ("parts_anywhere", M, "if (!AreAmong(parts, from.problem.parts, -1)) return NoSuchPart();",
     ""),
    ("cuts_of_kernels_unheld", C, "Status status = ValidateCase(cut);", "Status status;"),
)

if __name__ == "__main__":
    sys.exit(runner.main("picks", MUTANTS, optimize="-O0"))
