#include "verify/judge/evidence/power.h"
#include "verify/ops/faults.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace lockstep::verify {
namespace {

// Row n of the compared rows, given by a null, beside the truth.
Comparison RowComparison(const Trial& trial, const Truth& truth, size_t n,
                         const std::vector<uint32_t>& row) {
  const OutputSpec& spec = trial.outputs()[0];
  Comparer comparer(spec.name, spec.lane, spec.shape,
                    static_cast<int64_t>(row.size()));
  const std::vector<int64_t> lines = trial.Lines(0, truth.rows[n]);
  const auto channels = static_cast<size_t>(spec.shape[3]);
  const std::span<const uint32_t> expected = truth.Row(0, n);
  for (size_t i = 0; i < row.size();) {
    auto at = LineIndex(spec, lines[i / channels], 0);
    for (at[3] = 0; at[3] < spec.shape[3] && i < row.size(); ++at[3], ++i) {
      comparer.Add(at, expected[i], row[i]);
    }
  }
  return comparer.comparison();
}

// Another result, not only another rounding: a class differs, or a number by
// more than kTellingUlp places of the row's largest.
bool TellsApart(const Trial& trial, const Truth& truth, size_t n,
                const Comparison& row) {
  const int64_t alike =
      row.count(PairClass::kEqual) + row.count(PairClass::kSameNaN) +
      row.count(PairClass::kZeroSign) + row.count(PairClass::kFinite);
  if (alike != row.Compared()) return true;
  const OutputSpec& spec = trial.outputs()[0];
  double largest = 0;
  for (const uint32_t bits : truth.Row(0, n)) {
    const double x = std::fabs(ElementValue(spec.lane, bits));
    if (std::isfinite(x)) largest = std::max(largest, x);
  }
  const double unit = 2 * LaneRowOf(spec.lane).roundoff;
  return row.max_abs > kTellingUlp * unit * largest;
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

// One null before the judge of the case.
class NullTrial {
 public:
  NullTrial(const Trial& trial, const Truth& truth,
            const AllowedResults* allowed, std::string name)
      : trial_(trial), truth_(truth), allowed_(allowed) {
    power_ = {std::move(name), false, true};
  }

  // True where nothing more needs to be looked at.
  bool Look(size_t n, const std::vector<uint32_t>& row) {
    if (row.empty()) return false;
    const Comparison comparison = RowComparison(trial_, truth_, n, row);
    if (allowed_ == nullptr) {
      power_.rejected = !comparison.Passed();
    } else {
      // Where nothing is claimed, nothing has to be told apart.
      const bool apart =
          TellsApart(trial_, truth_, n, comparison) && allowed_->Bounds(n);
      power_.same = power_.same && !apart;
      power_.rejected = !allowed_->Allows(n, {row});
    }
    if (power_.rejected) power_.same = false;
    return power_.rejected;
  }
  const Power& power() const { return power_; }

 private:
  const Trial& trial_;
  const Truth& truth_;
  const AllowedResults* allowed_;
  Power power_;
};

// Zeros cost nothing and decide trust: all rows.
size_t MostRows(const std::string& null, size_t rows) {
  return null == "zeros" ? rows : size_t{kPowerRows};
}

Power Previous(const Trial& trial, const Truth& truth,
               const AllowedResults* allowed, const PreviousTruth& previous) {
  NullTrial null(trial, truth, allowed, "previous_output");
  for (size_t n = 0; n < truth.rows.size(); ++n) {
    const std::span<const uint32_t> row = previous.truth.Row(0, n);
    if (null.Look(n, {row.begin(), row.end()})) break;
  }
  return null.power();
}

}  // namespace

std::vector<Power> MeasurePower(const Trial& trial, const Truth& truth,
                                const AllowedResults* allowed) {
  std::vector<Power> power;
  const size_t rows = truth.rows.size();
  if (rows == 0) return power;
  for (const NullCandidate& null : trial.faults().Nulls()) {
    NullTrial trying(trial, truth, allowed, null.name);
    RowBits bits;
    for (const size_t n : LookOrder(rows, MostRows(null.name, rows))) {
      null.row(truth.rows[n], &bits);
      if (trying.Look(n, bits[0])) break;
    }
    power.push_back(trying.power());
  }
  return power;
}

void AddPreviousPower(const Trial& trial, const Truth& truth,
                      const PreviousTruth& previous,
                      const AllowedResults* allowed,
                      std::vector<Power>* power) {
  const OutputSpec& spec = trial.outputs()[0];
  if (truth.rows.empty() || previous.shape != spec.shape ||
      previous.lane != spec.lane || previous.truth.rows != truth.rows ||
      previous.truth.begin[0] != truth.begin[0]) {
    return;
  }
  power->push_back(Previous(trial, truth, allowed, previous));
}

PreviousTruth FirstOutputOf(const Trial& trial, const Truth& truth,
                            std::string inputs, std::string line) {
  const OutputSpec& spec = trial.outputs()[0];
  Truth first;
  first.rows = truth.rows;
  first.bits = {truth.bits[0]};
  first.begin = {truth.begin[0]};
  return {spec.shape, spec.lane, std::move(inputs), std::move(first),
          std::move(line)};
}

void RejectMore(const Trial& trial, const AllowedResults& allowed, bool whole,
                std::vector<Power>* power) {
  const std::vector<int64_t>& rows = allowed.rows();
  for (const NullCandidate& null : trial.faults().Nulls()) {
    const auto entry =
        std::find_if(power->begin(), power->end(), [&](const Power& known) {
          return known.null == null.name && !known.rejected && !known.same;
        });
    if (entry == power->end()) continue;
    RowBits bits;
    for (const size_t n :
         LookOrder(rows.size(), MostRows(null.name, rows.size()))) {
      null.row(rows[n], &bits);
      if (!whole) bits = {bits[0]};
      entry->rejected = !allowed.Allows(n, bits);
      if (entry->rejected) break;
    }
  }
}

std::string WhyUntrusted(const Truth& truth, const std::vector<Power>& power,
                         bool own_probe) {
  if (truth.rows.empty()) return "nothing was compared";
  const auto rejected = [](const Power& null) { return null.rejected; };
  if (own_probe && std::any_of(power.begin(), power.end(), rejected)) return "";
  for (const Power& null : power) {
    if (null.null == "zeros" && !null.rejected && null.same) {
      return "the expected output is zero everywhere: a kernel that does "
             "nothing would pass";
    }
    if (!null.rejected && !null.same) {
      return "a kernel that answers '" + null.null +
             "' would pass: the profile allows too much here";
    }
  }
  return "";
}

}  // namespace lockstep::verify
