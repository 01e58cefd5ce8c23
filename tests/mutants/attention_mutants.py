#!/usr/bin/env python3
"""Mutants of the guards of attention's fast paths, before the tests that trip
each of them."""

import sys

import runner

A = "optimized/attention_panels.cc"
W = "optimized/attention_weights-inl.h"
B = "optimized/attention_block-inl.h"
D = "optimized/attention_direct-inl.h"
N = "optimized/attention_direct_rows-inl.h"
V = "optimized/attention_direct_values-inl.h"
F = "optimized/attention_forward-inl.h"
S = "optimized/attention_finish-inl.h"
P = "optimized/attention_pack-inl.h"
X = "optimized/attention_tiles-inl.h"
T = "optimized/attention_tiles.cc"
I = "optimized/attention_direct.cc"

# name, source, text, replacement
MUTANTS = (
    ("quick_weights_of_far_scores", W, "kLargest = 0x1p20f", "kLargest = 0x1p30f"),
    ("quick_weights_below_zero", W,
     "n_min - m + kWeightShift >= kMinExponent;",
     "n_min - m + kWeightShift >= kMinExponent - 1;"),
    ("one_factor_for_a_steep_rescale", W,
     "hn::Mul(hn::Mul(hn::Load(df, x + i), a), b)",
     "hn::Mul(hn::Load(df, x + i), a)"),
    ("sums_keep_the_old_maximum", B,
     "    ScaleDown(df, row.m - n.max, slice.stripes, kStripes);\n", ""),
    ("minimum_of_one_tile", B, "row.n_min = std::min(row.n_min, n.min);",
     "row.n_min = n.min;"),
    ("last_bit_unguarded", F,
     "return spread >= kMinExponent && scaled >= kMinExponent &&\n"
     "         scaled >= least - static_cast<float>(last_bit);",
     "return spread >= kMinExponent;"),
    ("spread_unguarded", F,
     "return spread >= kMinExponent && scaled >= kMinExponent &&\n",
     "return\n"),
    ("sums_that_the_dot_instruction_flushes_unguarded", F,
     "const float least = flushes ? kMinNormalExponent : kMinBitExponent;",
     "const float least = kMinBitExponent;"),
    ("large_sink_on_the_fixed_path", F,
     "if (row.fixed && n <= kFixedPathBound) continue;",
     "if (row.fixed) continue;"),
    ("ragged_tile_is_full", F,
     "(keys.end - keys.begin) % job.key_step() == 0;", "true;"),
    ("kept_tiles_of_another_head", T,
     "const int64_t number = head * job.plan->key_tiles + key_tile;",
     "const int64_t number = key_tile;"),
    ("kept_tiles_of_other_keys", T, "if (kept.number == number) {",
     "if (kept.number / job.plan->key_tiles == head) {"),
    ("kept_tiles_never_found", T, "    kept.number = number;\n", ""),
    ("one_slot_for_all", T, "key_tile % slots", "0"),
    ("one_head_keeps_for_all", A,
     "if (!HeadKeepsTiles(job, b, h, pieces, slots)) return false;",
     "if (HeadKeepsTiles(job, b, h, pieces, slots)) return true;"),
    ("pieces_find_kept_tiles", A, "std::fill(slots.begin(), slots.end(), -1);", ""),
    ("packing_again_is_free", A, "packed += slot != tile;", ""),
    ("infinite_sums_stand", S, "AllFinite(df, acc, values)", "true"),
    ("exponents_of_vectors_forgotten", P,
     "    least.Add(hn::BitCast(du, x));\n", ""),
    ("exponents_of_first_vectors_forgotten", P,
     "    least.Add(hn::BitCast(du, a));\n", ""),
    ("exponents_of_second_vectors_forgotten", P,
     "    least.Add(hn::BitCast(du, b));\n", ""),
    ("sums_of_earlier_tiles_unguarded", T,
     "NativeFixedIsExact(worker.v_seen, job.scale.bound)",
     "NativeFixedIsExact(tile.v_seen, job.scale.bound)"),
    ("sums_of_earlier_rows_guarded", F, "  worker.v_seen = Magnitudes();\n", ""),
    ("subnormal_values_by_the_dot_instruction", T, ": !tile.v_seen.subnormal());",
     ": true);"),
    ("scores_by_the_dot_instruction_unguarded", T,
     "job.plan->native_dot && NativeDotIsExact(worker.q_seen, tile.k_seen);",
     "job.plan->native_dot;"),
    ("half_panel_where_rows_see_more", X, "block.end - key > panel / 2",
     "block.end - key > panel"),
    ("in_place_exponents_forgotten", I,
     "return fixed ? PackedTile().v_exponent : ValueExponent<T>(job, rows, keys);",
     "return PackedTile().v_exponent;"),
    ("in_place_pair_of_one_key", N, "r + 1 < count ? rows.Next() : a",
     "r + 1 < count ? (rows.Next(), a) : a"),
    ("in_place_pairs_of_one_row", D,
     "StoreTransposedPairs(from, from + lanes,", "StoreTransposedPairs(from, from,"),
    ("in_place_last_channels_of_others", V, "last(v.From(static_cast<int64_t>(whole)),",
     "last(v,"),
    ("in_place_last_vector_forgotten", V, "if (c < whole) panel",
     "if (false) panel"),
    ("in_place_values_of_one_row", V, "const auto next = static_cast<size_t>(v.next);",
     "const auto next = size_t{0};"),
)

if __name__ == "__main__":
    R = "optimized/attention_forward.cc"
    units = (dict.fromkeys((F, S), R) | dict.fromkeys((W, B, P, X), T)
             | dict.fromkeys((D, N, V), I))
    sys.exit(runner.main("attention", MUTANTS, units, also=("optimized/plan.cc", R),
                         optimize="-O0"))
