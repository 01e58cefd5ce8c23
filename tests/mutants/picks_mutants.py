#!/usr/bin/env python3
"""Mutants of what holds a part of inputs, or a kernel's cut, against its source."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("rows_anywhere", "AreAmong(pick_.rows, p.batch)", "true"),
    ("heads_anywhere", "AreAmong(pick_.q_heads, p.q_heads)", "true"),
    ("key_heads_anywhere", "AreAmong(pick_.kv_heads, p.kv_heads)", "!pick_.kv_heads.empty()"),
    ("broken_groups", "SizeOf(pick_.q_heads) % SizeOf(pick_.kv_heads) == 0", "true"),
    ("queries_anywhere", "queries_.LiesIn(p.q_len)", "true"),
    ("keys_anywhere", "keys_.LiesIn(p.kv_len)", "true"),
    ("stretches_wrap", "first <= length - count", "first + count <= length"),
    ("tensors_anywhere", "!AreAmong(heads, from.view.shape[1])", "false"),
    ("tokens_anywhere", "AreAmong(pick_.tokens, source.batch * source.length)", "true"),
    ("few_tokens", "std::ssize(pick_.tokens) == p.batch * p.length", "true"),
    ("scan_heads_anywhere", "AreAmong(pick_.heads, source.heads)", "true"),
    ("few_scan_heads", "std::ssize(pick_.heads) == p.heads", "true"),
    ("runs_anywhere", "AreAmong(pick_.runs, CountRuns(from_.problem, from_.inputs))", "true"),
    ("few_runs", "std::ssize(pick_.runs) >= CountRuns(case_)", "true"),
    ("parts_anywhere", "if (!AreAmong(parts, from.problem.parts, -1)) return NoSuchPart();",
     ""),
    ("cuts_of_kernels_unheld", "Status status = ValidateCase(cut);", "Status status;"),
)

if __name__ == "__main__":
    sys.exit(runner.main("picks", MUTANTS, optimize="-O0"))
