#include "verify/power.h"

#include <algorithm>
#include <utility>

namespace lockstep::verify {
namespace {

// Row n of the compared rows, given by a null, before the comparator.
bool RowRejected(const Trial& trial, const Truth& truth, size_t n,
                 const std::vector<uint32_t>& row) {
  const OutputSpec& spec = trial.outputs()[0];
  Comparer comparer(spec.name, spec.lane, spec.shape, spec.shape[3]);
  for (size_t c = 0; c < row.size(); ++c) {
    comparer.Add(RowIndex(spec, truth.rows[n], static_cast<int64_t>(c)),
                 truth.bits[0][n * row.size() + c], row[c]);
  }
  return !comparer.comparison().Passed();
}

// Compared rows in an order that sees both ends early: the last, the first,
// then evenly spread ones.
std::vector<size_t> LookOrder(size_t rows, size_t most) {
  std::vector<size_t> order = {rows - 1};
  if (rows > 1) order.push_back(0);
  const size_t step = std::max<size_t>(rows / most, 1);
  for (size_t n = step; n + 1 < rows && order.size() < most; n += step) {
    order.push_back(n);
  }
  return order;
}

bool Rejected(const Trial& trial, const Truth& truth,
              const NullCandidate& null) {
  // Zeros cost nothing and decide trust: all rows.
  const size_t most =
      null.name == "zeros" ? truth.rows.size() : size_t{kPowerRows};
  RowBits bits;
  for (const size_t n : LookOrder(truth.rows.size(), most)) {
    null.row(truth.rows[n], &bits);
    if (RowRejected(trial, truth, n, bits[0])) return true;
  }
  return false;
}

bool PreviousRejected(const Trial& trial, const Truth& truth,
                      const PreviousTruth& previous) {
  const size_t channels = truth.bits[0].size() / truth.rows.size();
  for (size_t n = 0; n < truth.rows.size(); ++n) {
    const auto begin =
        previous.truth.bits[0].begin() + static_cast<int64_t>(n * channels);
    const std::vector<uint32_t> row(begin,
                                    begin + static_cast<int64_t>(channels));
    if (RowRejected(trial, truth, n, row)) return true;
  }
  return false;
}

}  // namespace

std::vector<Power> MeasurePower(const Trial& trial, const Truth& truth,
                                const PreviousTruth* previous) {
  std::vector<Power> power;
  if (truth.rows.empty()) return power;
  for (const NullCandidate& null : trial.Nulls()) {
    power.push_back({null.name, Rejected(trial, truth, null)});
  }
  const OutputSpec& spec = trial.outputs()[0];
  if (previous != nullptr && previous->shape == spec.shape &&
      previous->lane == spec.lane && previous->truth.rows == truth.rows) {
    power.push_back(
        {"previous_output", PreviousRejected(trial, truth, *previous)});
  }
  return power;
}

std::string WhyUntrusted(const Truth& truth, const std::vector<Power>& power) {
  if (truth.rows.empty()) return "nothing was compared";
  for (const Power& null : power) {
    if (null.null == "zeros" && !null.rejected) {
      return "the expected output is zero everywhere: a kernel that does "
             "nothing would pass";
    }
  }
  return "";
}

}  // namespace lockstep::verify
