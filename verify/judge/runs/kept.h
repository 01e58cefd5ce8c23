// Lines of one call that have to have the bits of another's: what laws and
// claims compare.
#ifndef LOCKSTEP_VERIFY_JUDGE_RUNS_KEPT_H_
#define LOCKSTEP_VERIFY_JUDGE_RUNS_KEPT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/contract/tensor_view.h"
#include "verify/base/compare.h"
#include "verify/ops/laws.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// The bits of x * 2^exponent where x has these bits; none unless both are
// normal numbers or zero, as only these are rounded alike.
std::optional<uint32_t> TimesPowerOfTwo(Lane lane, uint32_t bits, int exponent);

struct KeptLines {
  const Trial& own;       // the call that the others are held against
  const OutputSet& base;  // its answer
  const Trial& there;     // the other call, and per output the lines that agree
  const std::vector<std::vector<LinePair>>& kept;
  const OutputSet& produced;  // its answer
  // Lines that it leaves open, and outputs that it lacks, are left out; null:
  // there are none.
  const NumericProfile* profile = nullptr;
  // As those of a law.
  std::span<const int> exponents{};
  const std::vector<bool>* zeros_alike = nullptr;
};

// One comparison for each output of which lines are kept.
std::vector<Comparison> CompareKept(const KeptLines& lines);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_RUNS_KEPT_H_
