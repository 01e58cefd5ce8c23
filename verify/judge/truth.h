// The reference's answer to a trial, on all rows or on a sample of them.
#ifndef LOCKSTEP_VERIFY_JUDGE_TRUTH_H_
#define LOCKSTEP_VERIFY_JUDGE_TRUTH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/base/compare.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Cost, in multiply-adds, up to which the reference computes every row. It does
// some 2e8 of them a second and thread: about one second at the border.
inline constexpr int64_t kFullReferenceCost = int64_t{1} << 27;
// Above it: as many sampled rows as this pays for, at least kMinSampledRows, or
// kMinLargeRows where one row alone costs more.
inline constexpr int64_t kSampledReferenceCost = int64_t{1} << 26;
inline constexpr int64_t kMinSampledRows = 24;
inline constexpr int64_t kMinLargeRows = 2;

struct Truth {
  bool sampled = false;
  std::vector<int64_t> rows;  // ascending
  // Per output, the bits of those rows one after the other, and where each
  // begins; one more entry than rows.
  std::vector<std::vector<uint32_t>> bits;
  std::vector<std::vector<size_t>> begin;
  double seconds = 0;

  std::span<const uint32_t> Row(size_t output, size_t n) const {
    const auto& at = begin[output];
    return std::span(bits[output]).subspan(at[n], at[n + 1] - at[n]);
  }
};

// Which rows are compared: all of them where that is cheap. Otherwise the
// trial's telling rows come first, then rows drawn by a fixed generator, half
// each. A pure function of the trial's shape.
std::vector<int64_t> RowsToCompare(const Trial& trial, bool all_rows);

// Those rows, on `threads` threads (0: one per core).
Truth ComputeTruth(const Trial& trial, bool all_rows, int threads);

// The poison an element holds before each of the two runs that are compared.
struct PoisonBits {
  uint32_t f32 = 0;
  uint32_t narrow = 0;  // of lanes of 16 bits
  uint32_t of(Lane lane) const { return LaneBytes(lane) == 4 ? f32 : narrow; }
};
inline constexpr PoisonBits kFirstPoison = {kPoisonF32, kPoison16};
// A finite number: what an overlooked NaN rule would hide, this shows.
inline constexpr PoisonBits kSecondPoison = {0x5a5a5a5au, 0x5a5au};

// Poisons memory, guard zones excepted, with the first poison and the elements
// with `poison`.
void PoisonOutputs(const OutputSet& outputs, PoisonBits poison);

// Produced outputs against the truth, one comparison per output. `again`, from
// a second run with the second poison, may be null: an element that holds its
// poison in both was never stored to.
std::vector<Comparison> CompareWithTruth(const Trial& trial, const Truth& truth,
                                         const OutputSet& produced,
                                         const OutputSet* again);

// Elements, of all rows, never stored to; one comparison per output in which
// every pair is unwritten or equal.
std::vector<Comparison> FindUnwritten(const Trial& trial,
                                      const OutputSet& first,
                                      const OutputSet& second);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_TRUTH_H_
