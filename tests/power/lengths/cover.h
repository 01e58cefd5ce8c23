// Pairwise covering arrays: few rows in which every two factors meet in all
// pairs of their levels. Most faults need one or two circumstances together
// (Kuhn, Wallace, Gallo, IEEE TSE 30, 2004).
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_COVER_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_COVER_H_

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep::verify {

// One level of every factor, counted from 0.
using CoverRow = std::vector<size_t>;

// Rows such that every pair of levels of two factors is in one of them: the
// greedy construction that starts each row from a pair not yet covered. Always
// the same rows for the same levels. Requires: two factors at least, every
// factor with a level.
std::vector<CoverRow> PairwiseCover(std::span<const size_t> levels);

// Pairs of levels of two factors that no row has.
size_t MissingPairs(std::span<const size_t> levels,
                    std::span<const CoverRow> rows);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_COVER_H_
