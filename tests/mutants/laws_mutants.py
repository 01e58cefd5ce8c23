#!/usr/bin/env python3
"""Mutants of attention's laws, before laws_test."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("own_head_changes", "return b != row || h != head;", "return true;"),
    ("neighbours_stay", "return b != row || h != head;", "return false;"),
    ("rows_that_see_are_kept", "if (!sees(b, h, i)) kept", "kept"),
    ("all_keys_change", "return j >= first && j < end;", "return true;"),
    ("no_key_changes", "return j >= first && j < end;", "return false;"),
    ("valid_keys_change", "return j >= in.ValidKv(p, b);", "return j >= 1;"),
    ("padding_stays", "return j >= in.ValidKv(p, b);", "return false;"),
    ("names_stay", "const auto renamed = [&](int32_t id) {",
     "const auto renamed = [&](int32_t id) { return id;"),
    ("one_name", "INT32_MAX / (count + 1)) * (rank + 1);", "INT32_MAX / (count + 1));"),
    ("narrow_names", "int64_t{1} << 16", "int64_t{3}", "case/"),
    ("scale_not_expected", "law.exponents = {exponent, 0};", "law.exponents = {0, 0};",
     "attention_forward/"),
    ("scale_unguarded", "if (!ScalesExactly(exponent))", "if (false)"),
    ("counts_stay", "= own[static_cast<size_t>(row(static_cast<int64_t>(b)))];", "= own[b];"),
    ("ids_stay", "from.inputs.q_seg(row(b), i);", "from.inputs.q_seg(b, i);"),
    ("prefixes_stay", "from[static_cast<size_t>(row(b))];", "from[static_cast<size_t>(b)];"),
    ("masks_stay", "source.shape[1] == 1 ? 0 : head(at[1]);",
     "source.shape[1] == 1 ? 0 : at[1];"),
    ("head_masks_stay", "p.masks[static_cast<size_t>(head(h))];",
     "p.masks[static_cast<size_t>(h)];"),
    ("sinks_stay", "sinks[h] = from.inputs.sink(head(h));", "sinks[h] = from.inputs.sink(h);"),
    ("fp8_stays", "if (plain) RETURN_IF_ERROR(TakePlainNumbers(&data));", ""),
    ("plain_values_lack_their_scale", "Take(from.v, p.lane,", "Take(data->inputs.v, p.lane,"),
    ("exceptions_refuse_nothing", "if (may_be_refused && raised)",
     "if (may_be_refused && raised && run.outcome.message.empty())"),
    ("views_of_the_first", "to->view.data = to->buffer.data();", "",
     "attention_forward_clone.cc"),
    ("no_difference_counts", "if (comparison.Passed()) continue;", "continue;", "laws.cc"),
)

if __name__ == "__main__":
    sys.exit(runner.main("laws", MUTANTS, optimize="-O0"))
