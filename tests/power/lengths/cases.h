// The cases on which known bugs are tried at real lengths: a pairwise cover of
// masks, segments, valid counts, heads, sinks, caps, shapes and arithmetic.
#ifndef LOCKSTEP_TESTS_POWER_LENGTHS_CASES_H_
#define LOCKSTEP_TESTS_POWER_LENGTHS_CASES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "verify/profile/profile.h"

namespace lockstep::verify {

struct MutantInfo;

// One row of the cover at one length.
struct LengthCase {
  std::string line;
  std::string base;  // variant of the zoo; empty: the mutant's own
  bool sink = false;
  std::string only;        // the mutant that meets it; empty: all
  bool small_cap = false;  // no key can be made to outweigh the rest
};

// Whether the bug meets the row: its own ones, and those of all, whose tensors
// are neither f16 nor fp8.
bool IsFor(const MutantInfo& info, const LengthCase& row);

// The rows of the cover for `length` keys (tokens of a scan); row n differs
// from length to length in nothing else. Few query rows: the emulator is slow.
// Behind them, what only one bug needs, for that one alone.
//   Requires: length >= 64.
std::vector<LengthCase> AttentionLengthCases(int64_t length);
// And the pattern of every mutant of scans, stretched, for that one alone.
// `op`: mamba3_scan, mamba3_step or ssd_scan.
std::vector<LengthCase> ScanLengthCases(int64_t length, std::string_view op);

// Of gradients: masks, documents, sinks and groups with few queries or few
// keys, and every mutant's pattern, made as long either way, for that one
// alone.
std::vector<LengthCase> GradientLengthCases(int64_t length);
// Kernels that scale elsewhere, in which a bug of gradients has to be seen,
// too.
std::vector<std::string> GradientPlaces(const MutantInfo& info);

// The same of a scan's gradients.
std::vector<LengthCase> ScanGradientLengthCases(int64_t length);

// Of merges: parts of 256 of the `length` keys, and every mutant's pattern with
// as many parts more, for that one alone.
std::vector<LengthCase> MergeLengthCases(int64_t length);

// A case for one correct kernel of the zoo, of `length` keys (tokens) or a few
// more and of small heads; the rest is drawn by `seed`.
std::string AttentionLineAt(uint64_t seed, int64_t length,
                            const NumericProfile& profile);
std::string GradientLineAt(uint64_t seed, int64_t length,
                           const NumericProfile& profile);
std::string ScanGradientLineAt(uint64_t seed, int64_t length,
                               const NumericProfile& profile);
std::string MergeLineAt(uint64_t seed, int64_t length,
                        const NumericProfile& profile);
std::string Mamba3ScanLineAt(uint64_t seed, int64_t length,
                             const NumericProfile& profile);
std::string SsdScanLineAt(uint64_t seed, int64_t length,
                          const NumericProfile& profile);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_LENGTHS_CASES_H_
