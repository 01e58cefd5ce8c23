#!/usr/bin/env python3
"""Mutants of the fast path of the scan's gradients, before the tests that hold
it to the definition."""

import sys

import runner

C = "optimized/mamba3_scan_backward.cc"
K = "optimized/mamba3_scan_backward-inl.h"
O = "optimized/mamba3_reverse_output-inl.h"
A = "optimized/mamba3_reverse_carry-inl.h"
M = "optimized/mamba3_reverse-inl.h"
P = "optimized/mamba3_piece-inl.h"
W = "optimized/mamba3_reverse_work.h"

# name, source, text, replacement
MUTANTS = (
    ("one_vector_for_two", M, "at + VectorLanes() < count;",
     "at + 2 * VectorLanes() < count;"),
    ("state_of_rank_zero", M, "const auto x_now = hn::Set(d, of_rank[f.x_stride]);",
     "const auto x_now = rows[t + 1];"),
    ("later_after_now", M,
     "h[v] = hn::MulAdd(hn::Load(d, later + n), x_before, h[v]);\n"
     "          h[v] = hn::MulAdd(hn::Load(d, now + n), x_now, h[v]);",
     "h[v] = hn::MulAdd(hn::Load(d, now + n), x_now, h[v]);\n"
     "        h[v] = hn::MulAdd(hn::Load(d, later + n), x_before, h[v]);"),
    ("not_decayed", M,
     "for (int v = 0; v < kVectors; ++v) value[v] = hn::Mul(decay, value[v]);",
     "(void)decay;"),
    ("other_ranks_not_read_back", M, "for (int64_t r = 0; r < ranks; ++r) {",
     "for (int64_t r = 0; r < 1; ++r) {"),
    ("every_rank_reads_back", M, "if (makes) {\n        ReadBack<kVectors>"
     "(decay[t], RanksOf<kOneRank>(p), q", "if (true) {\n        ReadBack<kVectors>"
     "(decay[t], RanksOf<kOneRank>(p), q"),
    ("other_ranks_leave_no_state", M,
     "for (int64_t r = 1; r < RanksOf<kOneRank>(p); ++r) {",
     "for (int64_t r = 2; r < RanksOf<kOneRank>(p); ++r) {"),
    ("state_of_the_run_before", P, "  TurnState<false>(p, f, KeptBefore(s, 0));\n", ""),
    ("read_out_of_the_run_before", P,
     "if (reads) TurnState<true>(p, f, s.before_piece);", ""),
    ("block_from_the_piece", M,
     "return s.before_blocks + (block - 1) * p.head_dim * s.row;",
     "return s.before_piece;"),
    ("piece_from_the_first", P, "s.before_piece = KeptBefore(s, piece);",
     "s.before_piece = KeptBefore(s, 0);"),
    ("state_after_in_da", M, "hn::Load(d, h[t + 1] + lane)", "hn::Load(d, h[t] + lane)"),
    ("x_of_token_before", M, "k = s.k + (i + 1) * f.k_stride + r * f.n_pad;",
     "k = s.k + i * f.k_stride + r * f.n_pad;"),
    ("decay_of_this_token", K, "s.decay[i - first] = s.decay_behind;",
     "s.decay[i - first] = s.alpha[i];"),
    ("decay_of_block_start", K, "s.decay_behind = s.alpha[i];",
     "s.decay_behind = s.alpha[first];"),
    ("carry_k_overwritten_first", K,
     "hn::Store(hn::Add(own, hn::Load(d, carry)), d, s.d_k + at);",
     "hn::Store(own, d, s.d_k + at);"),
    ("stripes_run_over_the_end", K,
     "of_now.AddProducts(x + row, s.of_x + from, p.head_dim);",
     "of_now.AddProducts(x + row, s.of_x + from, f.p_pad);"),
    ("one_rank_in_scalars", K, "s.of_x_before + from, p.head_dim);",
     "s.of_x_before + j * f.x_stride, p.head_dim);"),
    ("angles_of_k_before", K,
     "const float* k = s.k + (i + 1) * f.k_stride;",
     "const float* k = s.k + i * f.k_stride;"),
    ("all_lanes_turn", K, "const auto new_u = hn::IfThenElse(inside, u, old.u);",
     "const auto new_u = u;"),
    ("w_not_turned", K, "for (const bool second : {false, true}) {",
     "for (const bool second : {false}) {"),
    ("finished_by_first_head", K, "if (place + 1 < p.group()) continue;",
     "if (place > 0) continue;"),
    ("sums_of_last_run", A, "std::fill_n(s.sum_memory, HeadSums::Size(f), 0.0f);",
     ""),
    ("theta_of_last_run", A, "std::fill_n(s.theta, f.a_stride, 0.0f);", ""),
    ("decay_of_last_run", A, "  s.decay_behind = 1.0f;\n", ""),
    ("cotangent_of_run_zero", A, "LoadRow(RowAt(carry.h, run, h, c)",
     "LoadRow(RowAt(carry.h, 0, h, c)"),
    ("carry_not_decayed", A, "s.decay_behind * s.mt", "s.mt"),
    ("skip_of_first_channel", K, "skip.Add(s.sums.d, head.p.head_dim);",
     "skip.Add(s.sums.d, 1);"),
    ("pieces_from_the_first", K, "const int64_t t = task.first + piece *",
     "const int64_t t = task.first + 0 * piece *"),
    ("gate_of_gated", O, "const auto d_u = hn::Mul(hn::Mul(e, y), slope);",
     "const auto d_u = hn::Mul(hn::Mul(e, slope), y);"),
    ("dz_of_last_token", O, "std::fill_n(s.d_z, s.head.p_pad, 0.0f);", ""),
    ("dy_of_first_rank", O, "if (r == 0 || !p.reduce)", "if (r == 0)"),
    ("norm_mean_is_a_sum", O,
     "products.Fold() / static_cast<float>(p.head_dim)", "products.Fold()"),
    ("lambda_of_last_piece", P,
     "hn::Store(Sigmoid(d, hn::Load(d, s.lambda + i)), d, s.lambda + i);", ""),
    ("k_before_scaled_by_gamma", P, "Scale(s.beta[i], k_before,",
     "Scale(s.gamma[i], k_before,"),
    ("turns_of_first_token", P, "const int64_t turns = block * f.a_stride;",
     "const int64_t turns = 0 * block;"),
    ("angle_not_kept", P, "{f.theta, f.a_stride}};", "{s.rate, f.a_stride}};"),
    ("v_not_moved_on", P, "std::copy_n(s.v + count * f.p_pad, f.p_pad, s.v);",
     ""),
    ("skip_missing_behind_norm", P, "p.skip && reads && i < count",
     "p.skip && p.gate && i < count"),
    ("sums_overlap", W, "sums.phi = sums.zeta + s.x_stride;",
     "sums.phi = sums.zeta;"),
    ("negative_checkpoint", C, "if (caps.checkpoint < 0) {", "if (false) {"),
)

if __name__ == "__main__":
    sys.exit(runner.main("scan_reverse", MUTANTS, dict.fromkeys((K, O, A, M, P, W), C),
                         also=("optimized/plan.cc", "optimized/mamba3_tasks.cc"),
                         optimize="-O0"))
