#!/usr/bin/env python3
"""Mutants of the guards of attention's fast paths, before the tests that trip
each of them."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("quick_weights_of_far_scores", "kLargest = 0x1p20f", "kLargest = 0x1p30f"),
    ("quick_weights_below_zero", "n_min - m + kWeightShift >= kMinExponent;",
     "n_min - m + kWeightShift >= kMinExponent - 1;"),
    ("one_factor_for_a_steep_rescale", "hn::Mul(hn::Mul(hn::Load(df, x + i), a), b)",
     "hn::Mul(hn::Load(df, x + i), a)"),
    ("sums_keep_the_old_maximum", "ScaleDown(df, row.m - n.max, slice.stripes, kStripes);",
     ""),
    ("minimum_of_one_tile", "row.n_min = std::min(row.n_min, n.min);", "row.n_min = n.min;"),
    ("last_bit_unguarded",
     "return spread >= kMinExponent && scaled >= kMinExponent && scaled >= least - "
     "static_cast<float>(last_bit);", "return spread >= kMinExponent;"),
    ("spread_unguarded", "return spread >= kMinExponent && scaled >= kMinExponent &&",
     "return"),
    ("sums_that_the_dot_instruction_flushes_unguarded",
     "const float least = flushes ? kMinNormalExponent : kMinBitExponent;",
     "const float least = kMinBitExponent;"),
    ("large_sink_on_the_fixed_path", "if (row.fixed && n <= kFixedPathBound) continue;",
     "if (row.fixed) continue;"),
    ("ragged_tile_is_full", "(keys.end - keys.begin) % job.key_step() == 0;", "true;"),
    ("kept_tiles_of_another_head",
     "const int64_t number = head * job.plan->key_tiles + key_tile;",
     "const int64_t number = key_tile;"),
    ("kept_tiles_of_other_keys", "if (kept.number == number) {",
     "if (kept.number / job.plan->key_tiles == head) {"),
    ("kept_tiles_never_found", "kept.number = number;", ""),
    ("one_slot_for_all", "key_tile % slots", "0"),
    ("one_head_keeps_for_all", "if (!HeadKeepsTiles(job, b, h, pieces, slots)) return false;",
     "if (HeadKeepsTiles(job, b, h, pieces, slots)) return true;"),
    ("pieces_find_kept_tiles", "std::fill(slots.begin(), slots.end(), -1);", ""),
    ("packing_again_is_free", "packed += slot != tile;", ""),
    ("infinite_sums_stand", "AllFinite(df, acc, values)", "true", "attention_finish-inl.h"),
    ("exponents_of_vectors_forgotten", "least.Add(hn::BitCast(du, x));", ""),
    ("exponents_of_first_vectors_forgotten", "least.Add(hn::BitCast(du, a));", ""),
    ("exponents_of_second_vectors_forgotten", "least.Add(hn::BitCast(du, b));", ""),
    ("sums_of_earlier_tiles_unguarded", "NativeFixedIsExact(worker.v_seen, job.scale.bound)",
     "NativeFixedIsExact(tile.v_seen, job.scale.bound)"),
    ("sums_of_earlier_rows_guarded", "worker.v_seen = Magnitudes();", ""),
    ("subnormal_values_by_the_dot_instruction", ": !tile.v_seen.subnormal());", ": true);"),
    ("scores_by_the_dot_instruction_unguarded",
     "job.plan->native_dot && NativeDotIsExact(worker.q_seen, tile.k_seen);",
     "job.plan->native_dot;"),
    ("half_panel_where_rows_see_more", "block.end - key > panel / 2",
     "block.end - key > panel"),
    ("in_place_exponents_forgotten",
     "return fixed ? PackedTile().v_exponent : ValueExponent<T>(job, rows, keys);",
     "return PackedTile().v_exponent;"),
    ("in_place_pair_of_one_key", "r + 1 < count ? rows.Next() : a",
     "r + 1 < count ? (rows.Next(), a) : a"),
    ("in_place_pairs_of_one_row", "StoreTransposedPairs(from, from + lanes,",
     "StoreTransposedPairs(from, from,"),
    ("in_place_last_channels_of_others", "last(v.From(static_cast<int64_t>(whole)),",
     "last(v,"),
    ("in_place_last_vector_forgotten", "if (c < whole) panel", "if (false) panel"),
    ("in_place_values_of_one_row", "const auto next = static_cast<size_t>(v.next);",
     "const auto next = size_t{0};"),
)

if __name__ == "__main__":
    sys.exit(runner.main("attention", MUTANTS,
                         units=("optimized/attention_tiles.cc", "optimized/attention_forward.cc", "optimized/attention_direct.cc"),
                         also=("optimized/plan.cc", "optimized/attention_forward.cc"),
                         optimize="-O0"))
