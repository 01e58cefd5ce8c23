#include "verify/oracle/attention_merge/truth.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "verify/oracle/elementary.h"
#include "verify/oracle/lanes.h"

namespace lockstep::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kNaturalUnit = 0x1.62e42fefa39efp-1;  // ln 2

// A row whose answer its parts do not decide.
MergeTruth Without(MergeTruth truth, MergeKind kind, size_t channels) {
  truth.kind = kind;
  const bool nan = kind == MergeKind::kNaN;
  truth.lse = nan ? kNaN : -kInfinity;
  truth.o.assign(channels, nan ? kNaN : 0.0);
  return truth;
}

}  // namespace

double PartElement(const AttentionMergeInputs& inputs, int64_t s, int64_t head,
                   int64_t row, int64_t c) {
  return double{inputs.o.Float(s, head, row, c)};
}

MergeTruth ComputeMerge(const AttentionMergeProblem& problem,
                        const AttentionMergeInputs& inputs, int64_t head,
                        int64_t row, bool posinf_is_empty) {
  const double unit = problem.base == LseBase::kTwo ? kNaturalUnit : 1.0;
  const auto channels = static_cast<size_t>(problem.value_dim);
  MergeTruth truth;
  bool nan = false;
  truth.max = -kInfinity;
  for (int64_t s = 0; s < problem.parts; ++s) {
    const double given = double{inputs.lse(s, head, row)};
    if (given == -kInfinity || (posinf_is_empty && given == kInfinity)) {
      truth.unread.push_back(s);
      continue;
    }
    nan = nan || !(given < kInfinity);
    truth.parts.push_back({.s = s, .lse = given * unit});
    truth.max = std::max(truth.max, given * unit);
  }
  if (nan) return Without(std::move(truth), MergeKind::kNaN, channels);
  if (truth.parts.empty()) {
    return Without(std::move(truth), MergeKind::kEmpty, channels);
  }
  truth.kind = MergeKind::kOrdinary;
  double sum = 0;
  for (MergePart& part : truth.parts) {
    part.distance = truth.max - part.lse;
    part.share = Exp(ScalarLane(-part.distance)).value;
    sum += part.share;
  }
  truth.log_sum = Log(sum);
  truth.lse = truth.max + truth.log_sum;
  truth.o.assign(channels, 0.0);
  for (MergePart& part : truth.parts) {
    part.share /= sum;
    for (size_t c = 0; c < channels; ++c) {
      truth.o[c] += part.share * PartElement(inputs, part.s, head, row,
                                             static_cast<int64_t>(c));
    }
  }
  return truth;
}

}  // namespace lockstep::oracle
