#!/usr/bin/env python3
"""Mutants of the gradients of attention (N18), definition and fast path, before
the tests that hold the two together."""

import sys

import runner

R = "reference/attention_backward.cc"
V = "reference/contract/attention_backward.cc"
K = "optimized/attention_backward-inl.h"
T = "optimized/attention_backward_tiles-inl.h"
P = "optimized/attention_backward_pack-inl.h"
C = "optimized/attention_backward.cc"

# name, source, text, replacement
# The first is the one that the unbroken code is built like.
MUTANTS = (
    ("first_head_only", K,
     "for (int64_t head = first; head < first + p.group(); ++head) {",
     "for (int64_t head = first; head < first + 1; ++head) {"),
    ("derivative_of_cap_missing", R, "ds * std::fma(-score.y, score.y, 1.0f)",
     "ds"),
    ("scale_missing", R, "FinishElement(x * scale, lane)",
     "FinishElement(x + 0 * scale, lane)"),
    ("scale_on_dv", R, "Store(dv, 1.0f,", "Store(dv, scale,"),
    ("log2e_kept", R, "Store(dk, scale,",
     "Store(dk, scale * static_cast<float>(kLog2E),"),
    ("delta_missing", R, "(Dot(row.d_o, v) - row.delta)", "Dot(row.d_o, v)"),
    ("dlse_added", R, "row.delta -= inputs", "row.delta += inputs"),
    ("sink_gradient_positive", R, "std::fma(-row.SinkWeight(u)",
     "std::fma(row.SinkWeight(u)"),
    ("weight_rounded_before_ds", R, "const float p = row.Weight(score.u);",
     "const float p = RoundToBf16Lane(row.Weight(score.u));"),
    ("ds_not_rounded", R, "RoundWeight(pair.ds, lane)", "pair.ds"),
    ("masked_rows_read", R, "if (!row.keys.empty()) {", "if (true) {"),
    ("row_of_minus_infinity_counts", R, "row.counts = lse != -kInfinity;",
     "row.counts = true;"),
    ("infinite_lse_is_no_nan", R, "row.is_nan = !(lse < kInfinity);",
     "row.is_nan = lse != lse;"),
    ("last_head_only", R, "    Sums dq = ZeroSums(p.q_len, p.head_dim);",
     "    Sums dq = ZeroSums(p.q_len, p.head_dim);\n"
     "    dv = ZeroSums(p.kv_len, p.value_dim);"),
    ("amx_accepted", V, "if (p.forward.order != ProductOrder::kChain) {",
     "if (false) {"),
    ("wider_gradients_refused", V,
     "if (p.grad_lane == Lane::kF32 || p.grad_lane == p.forward.lane) {",
     "if (p.grad_lane == p.forward.lane) {"),
    ("heads_of_a_group_backwards", K,
     "for (int64_t head = first; head < first + p.group(); ++head) {",
     "for (int64_t head = first + p.group(); head-- > first;) {"),
    ("forward_table_for_transposed", K,
     "const TileList& list = tiles.pattern(head).by_key;",
     "const TileList& list = tiles.pattern(head).by_query;"),
    ("ragged_tile_is_full", K,
     "whole ? list.classes[at] : TileClass::kPartial", "list.classes[at]"),
    ("partial_tile_is_full", K, "tile.kind != TileClass::kFull ||", ""),
    ("rows_left_out_counted", K, "if (!rows[r].counts) {", "if (false) {"),
    ("mask_of_ds_missing", K,
     "gradient = hn::IfThenElseZero(visible, gradient);", ""),
    ("mask_of_p_missing", K,
     "weight = hn::IfThenElseZero(visible, weight);", ""),
    ("slope_without_square", K, "hn::NegMulAdd(y, y, slope)",
     "hn::Sub(slope, y)"),
    ("rounded_weight_in_ds", K,
     "    auto gradient = hn::Mul(weight, hn::Sub(hn::Load(df, ds + j), delta));",
     "    if (round) weight = RoundToBf16Lane(df, weight);\n"
     "    auto gradient = hn::Mul(weight, hn::Sub(hn::Load(df, ds + j), delta));"),
    ("stale_weights_outside_what_is_seen", K,
     "std::fill(x + filled.end, x + stride, 0.0f);", ""),
    ("dq_not_carried_over", K,
     "CopyRows(dq, tile.count(), job.padded_head(), w.dq.data());",
     "std::fill(w.dq.begin(), w.dq.end(), 0.0f);"),
    ("empty_rows_read", K, "row.sees ? row.delta", "true ? row.delta"),
    ("lse_of_infinity_is_a_number", K,
     "row.l = lse < std::numeric_limits<float>::infinity()",
     "row.l = lse == lse"),
    ("products_beside_nan_by_tiles", K,
     "if (masked && !(w.q.finite && w.d_o.finite && w.k.finite)) {",
     "if (false) {"),
    ("keys_beside_nan_by_tiles", K, "&& w.k.finite", ""),
    ("queries_beside_nan_by_tiles", K, "!(w.q.finite && ", "!("),
    ("cotangents_beside_nan_by_tiles", K, "&& w.d_o.finite ", ""),
    ("infinity_counts_as_finite", P, "< 0x7f800000u", "<= 0x7f800000u"),
    ("rows_of_other_keys", T,
     "seen.begin >= key + static_cast<int64_t>(kRowBlock)", "seen.begin >= key"),
    ("keys_of_other_rows", T, "static_cast<int64_t>(j) < seen.begin",
     "static_cast<int64_t>(j) <= seen.begin"),
    ("subnormal_weights_kept", K,
     "return hn::IfThenZeroElse(below, Exp2(df, hn::IfThenZeroElse(below, x)));",
     "return Exp2(df, x);"),
    ("weights_below_one", K, "hn::IfThenZeroElse(below, Exp2(",
     "hn::IfThenElse(below, x, Exp2("),
    ("subnormal_gradients_kept", K,
     "return hn::IfThenZeroElse(hn::Lt(hn::Abs(x), least), x);", "return x;"),
    ("negative_gradients_are_subnormal", K, "hn::Lt(hn::Abs(x), least)",
     "hn::Lt(x, least)"),
    ("definition_keeps_subnormal_weights", R,
     "u - l < kLeastWeightLog2 && !is_nan", "false"),
    ("definition_keeps_subnormal_gradients", R,
     "SubnormalAsZero(ds * std::fma(", "(ds * std::fma("),
    ("infinite_lse_is_a_small_weight", R, " && !is_nan ?", " ?"),
    ("first_block_of_rows_only", T, "rows.end = first + kRowBlock;",
     "if (rows.end == 0) rows.end = first + kRowBlock;"),
    ("pairs_by_the_wrong_weight", T,
     "AddRow(df, w.p[at], w.d_o,", "AddRow(df, w.ds[at], w.d_o,"),
    ("sinks_of_the_first_batch_row", K,
     "for (int64_t b = 0; b < p.batch; ++b) {",
     "for (int64_t b = 0; b < 1; ++b) {"),
    ("forward_plans_accepted", C,
     "if (plan.native_dot || plan.fixed_m || plan.pack_ahead ||",
     "if (plan.native_dot ||"),
    ("stored_masks_ignored", C, "asked.forward = AskedOf(problem.forward, sparse);",
     ""),
)

if __name__ == "__main__":
    sys.exit(runner.main("backward", MUTANTS, dict.fromkeys((K, T, P), C),
                         also=("optimized/plan.cc", "optimized/plan_check.cc")))
