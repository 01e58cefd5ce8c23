#include "verify/causes/sample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace lockstep::verify {
namespace {

// Multiply-adds of a sample, if the rows are that short.
constexpr int64_t kFirstWork = int64_t{1} << 18;
constexpr int64_t kSecondWork = int64_t{1} << 21;

// Up to `most` of them, both ends first, then where the golden ratio falls: no
// power of two of a kernel's tiles is in step with it.
std::vector<int64_t> Spread(const std::vector<int64_t>& from, int64_t most) {
  if (std::ssize(from) <= most) return from;
  constexpr double kGolden = 0.6180339887498949;
  std::set<size_t> at;
  if (most > 0) at.insert(0);
  if (most > 1) at.insert(from.size() - 1);
  for (double n = 1; std::ssize(at) < most; ++n) {
    const double part = n * kGolden - std::floor(n * kGolden);
    at.insert(static_cast<size_t>(part * static_cast<double>(from.size())));
  }
  std::vector<int64_t> chosen;
  for (const size_t n : at) chosen.push_back(from[n]);
  return chosen;
}

// The rows of each head of each batch row.
class ByHead {
 public:
  ByHead(const Trial& trial, std::span<const RowError> errors,
         const LookedAt& without)
      : length_(trial.outputs()[0].shape[2]) {
    double worst = 0;
    for (const RowError& one : errors) worst = std::max(worst, one.size);
    // Where nothing is plainly wrong, whatever differs is.
    const double right = worst > 1 ? 1 : 0;
    double seen = 0;
    for (const RowError& one : errors) {
      if (std::binary_search(without.begin(), without.end(), one.row)) continue;
      const int64_t head = one.row / length_;
      if (one.size > right) {
        wrong_[head].push_back(one.row);
        if (one.size > seen) worst_ = one.row;
        seen = std::max(seen, one.size);
      } else {
        right_[head].push_back(one.row);
      }
    }
  }

  LookedAt Choose(const SampleSize& size) const {
    std::set<int64_t> chosen;
    std::vector<int64_t> heads = Heads(size.heads);
    if (heads.empty()) return {};
    if (worst_ >= 0) chosen.insert(worst_);
    const int64_t each = std::ssize(heads);
    const int64_t few = std::max<int64_t>(size.rows / (4 * each), 1);
    const int64_t many = std::max<int64_t>(size.rows * 3 / (4 * each), 1);
    for (const int64_t head : heads) {
      const auto wrong = wrong_.find(head);
      const auto right = right_.find(head);
      if (wrong != wrong_.end()) {
        for (const int64_t row : Spread(wrong->second, many)) {
          chosen.insert(row);
        }
      }
      if (right == right_.end()) continue;
      for (const int64_t row : Spread(right->second, few)) chosen.insert(row);
    }
    return {chosen.begin(), chosen.end()};
  }

 private:
  // Heads with wrong rows, the worst row's among them, and one without.
  std::vector<int64_t> Heads(int64_t most) const {
    std::vector<int64_t> wrong, right;
    for (const auto& [head, rows] : wrong_) wrong.push_back(head);
    for (const auto& [head, rows] : right_) {
      if (!wrong_.contains(head)) right.push_back(head);
    }
    const int64_t without = right.empty() || most < 2 ? 0 : 1;
    std::vector<int64_t> heads = Spread(wrong, most - without);
    const int64_t worst = worst_ / length_;
    if (worst_ >= 0 && std::count(heads.begin(), heads.end(), worst) == 0) {
      heads.back() = worst;
    }
    if (without > 0) heads.push_back(right[right.size() / 2]);
    return heads;
  }

  int64_t length_;
  int64_t worst_ = -1;
  std::map<int64_t, std::vector<int64_t>> wrong_, right_;
};

int64_t RowsFor(int64_t work, const Trial& trial, int64_t least, int64_t most) {
  return std::clamp(work / std::max<int64_t>(trial.RowCost(), 1), least, most);
}

}  // namespace

SampleSize FirstSampleOf(const Trial& trial) {
  // To read the keys and values of a head costs as much as a row or two.
  return {RowsFor(kFirstWork, trial, 4, 32),
          trial.RowCost() > kFirstWork / 4 ? 2 : 4};
}

SampleSize SampleOfTwin() { return {8, 4}; }

SampleSize SecondSampleOf(const Trial& trial) {
  return {RowsFor(kSecondWork, trial, 8, 256), 8};
}

LookedAt SampleRows(const Trial& trial, std::span<const RowError> errors,
                    const SampleSize& size, const LookedAt& without) {
  return ByHead(trial, errors, without).Choose(size);
}

}  // namespace lockstep::verify
