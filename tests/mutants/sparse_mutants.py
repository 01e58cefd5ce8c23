#!/usr/bin/env python3
"""Mutants of sparse execution: what a worker reads from a plan, and its checks."""

import sys

import runner

# name, text, replacement
MUTANTS = (
    ("block_of_queries_is_that_of_keys", "query_ / mask.block_q", "query_ / mask.block_k"),
    ("blocks_reach_beyond_the_clip",
     "Intersect( clip, {column * mask.block_k, (column + alike) * mask.block_k})",
     "Range{column * mask.block_k, (column + alike) * mask.block_k}"),
    ("seen_among_eight_unseen", "word != 0) break;", "word == 1) break;"),
    ("unseen_among_eight_seen", "seen ? zeros != 0", "seen ? false"),
    ("visits_not_merged", "if (lists > 1) MergeVisits(lists);", ""),
    ("full_if_any_list_says_so", "full == lists", "full > 0"),
    ("last_query_tile_missed", "row <= last; ++row", "row < last; ++row"),
    ("tiles_of_all_parts", "at != end && *at < tiles.end; ++at", "at != end; ++at"),
    ("tiles_before_the_part", "std::lower_bound(begin, end, tiles.begin)", "begin"),
    ("every_tile_visited", "if (lists > 1) MergeVisits(lists);",
     "visits_.clear(); for (int64_t t = 0; t < plan().grid.cols(); ++t) "
     "visits_.push_back({t, TileClass::kPartial});"),
    ("blocks_of_the_first_query", "query % grid.tile_q * pool", "0 * query * pool"),
    ("stored_full_tile_empty", "SetBits({0, keys}, words);", ""),
    ("seen_of_the_first_range", "Range{seen.begin, keys.end}", "seen"),
    ("seen_to_the_end_of_a_word", "* 64 - std::countl_zero(*last)", "* 64"),
    ("bits_of_a_word_between", "ones = ~uint64_t{0})", "ones = 0)"),
    ("stored_seen_behind_the_tile", "return Seen(words);", "return Seen(row);"),
    ("bits_to_the_end_of_a_word", "& ~uint64_t{0} >> (63 - (last - 1) % 64)", ""),
    ("row_bits_of_one_range", "SetBits(keys, words); }", "SetBits(keys, words); break; }"),
    ("bits_shifted_out", "words[to + 1] |= word >> (64 - shift);", ""),
    ("ids_not_accounted_for", "if (problem.segments && !tiles.options.segments) {",
     "if (false) {"),
    ("lists_not_compared", "!NamesTheSameTiles(pattern)", "false"),
    ("lists_compared_by_length", "key.inner[static_cast<size_t>(at)] != o", "false"),
    ("indices_not_checked", "list.inner[at] >= inner) return false;", "false) return false;"),
)

if __name__ == "__main__":
    sys.exit(runner.main("sparse", MUTANTS, optimize="-O0"))
