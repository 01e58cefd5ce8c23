#!/usr/bin/env python3
"""Mutants of attention's laws, before laws_test."""

import sys

import runner

A = "verify/ops/attention_forward/laws.cc"
C = "verify/inputs/attention_forward_clone.cc"
I = "verify/case/segments/segment_ids.cc"
L = "verify/judge/laws.cc"
O = "verify/ops/attention_forward/laws_order.cc"
N = "verify/inputs/attention_forward/plain_numbers.cc"
P = "verify/ops/attention_forward/laws_pages.cc"
S = "verify/ops/attention_forward/laws_scale.cc"

# name, source, text, replacement
MUTANTS = (
    ("own_head_changes", A, "return b != row || h != head;", "return true;"),
    ("neighbours_stay", A, "return b != row || h != head;", "return false;"),
    ("rows_that_see_are_kept", A, "if (!sees(b, h, i)) kept", "kept"),
    ("all_keys_change", A, "return j >= first && j < end;", "return true;"),
    ("no_key_changes", A, "return j >= first && j < end;", "return false;"),
    ("valid_keys_change", A, "return j >= in.ValidKv(p, b);", "return j >= 1;"),
    ("padding_stays", A, "return j >= in.ValidKv(p, b);", "return false;"),
    ("names_stay", A, "const auto renamed = [&](int32_t id) {",
     "const auto renamed = [&](int32_t id) { return id;"),
    ("one_name", I, "INT32_MAX / (count + 1)) * (rank + 1);", "INT32_MAX / (count + 1));"),
    ("narrow_names", I, "int64_t{1} << 16", "int64_t{3}"),
    ("scale_not_expected", S, "law.exponents = {exponent, 0};",
     "law.exponents = {0, 0};"),
    ("scale_unguarded", S, "if (!ScalesExactly(exponent))", "if (false)"),
    ("counts_stay", O, "= own[static_cast<size_t>(row(static_cast<int64_t>(b)))];",
     "= own[b];"),
    ("ids_stay", O, "from.inputs.q_seg(row(b), i);", "from.inputs.q_seg(b, i);"),
    ("prefixes_stay", O, "from[static_cast<size_t>(row(b))];",
     "from[static_cast<size_t>(b)];"),
    ("masks_stay", O, "source.shape[1] == 1 ? 0 : head(at[1]);",
     "source.shape[1] == 1 ? 0 : at[1];"),
    ("head_masks_stay", O, "p.masks[static_cast<size_t>(head(h))];",
     "p.masks[static_cast<size_t>(h)];"),
    ("sinks_stay", O, "sinks[h] = from.inputs.sink(head(h));",
     "sinks[h] = from.inputs.sink(h);"),
    ("fp8_stays", P, "if (plain) RETURN_IF_ERROR(TakePlainNumbers(&data));", ""),
    ("plain_values_lack_their_scale", N, "Take(from.v, p.lane,",
     "Take(data->inputs.v, p.lane,"),
    ("exceptions_refuse_nothing", L, "if (may_be_refused && raised)",
     "if (may_be_refused && raised && run.outcome.message.empty())"),
    ("views_of_the_first", C, "to->view.data = to->buffer.data();", ""),
    ("no_difference_counts", L, "if (comparison.Passed()) continue;",
     "continue;"),
)

if __name__ == "__main__":
    sys.exit(runner.main("laws", MUTANTS, optimize="-O0"))
