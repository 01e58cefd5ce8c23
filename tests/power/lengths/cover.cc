#include "tests/power/lengths/cover.h"

namespace lockstep::verify {
namespace {

// Which pairs of levels of two factors have been seen.
class Pairs {
 public:
  explicit Pairs(std::span<const size_t> levels) {
    for (const size_t n : levels) {
      first_.push_back(total_);
      total_ += n;
    }
    seen_.resize(total_ * total_);
    for (size_t f = 0; f < levels.size(); ++f) {
      for (size_t g = f + 1; g < levels.size(); ++g) {
        missing_ += levels[f] * levels[g];
      }
    }
  }

  size_t missing() const { return missing_; }
  bool Seen(size_t f, size_t a, size_t g, size_t b) const {
    return seen_[At(f, a, g, b)];
  }
  void See(const CoverRow& row) {
    for (size_t f = 0; f < row.size(); ++f) {
      for (size_t g = f + 1; g < row.size(); ++g) {
        if (Seen(f, row[f], g, row[g])) continue;
        seen_[At(f, row[f], g, row[g])] = true;
        --missing_;
      }
    }
  }

 private:
  size_t At(size_t f, size_t a, size_t g, size_t b) const {
    if (f > g) return At(g, b, f, a);
    return (first_[f] + a) * total_ + first_[g] + b;
  }

  std::vector<size_t> first_;
  size_t total_ = 0;
  size_t missing_ = 0;
  std::vector<bool> seen_;
};

// The first missing pair opens a row; every other factor takes the level that
// meets most missing pairs, at a tie the one used least.
CoverRow NextRow(std::span<const size_t> levels, const Pairs& pairs,
                 const std::vector<std::vector<size_t>>& used) {
  const size_t kOpen = static_cast<size_t>(-1);
  CoverRow row(levels.size(), kOpen);
  for (size_t f = 0; f < levels.size() && row[f] == kOpen; ++f) {
    for (size_t g = f + 1; g < levels.size() && row[f] == kOpen; ++g) {
      for (size_t n = 0; n < levels[f] * levels[g]; ++n) {
        if (pairs.Seen(f, n / levels[g], g, n % levels[g])) continue;
        row[f] = n / levels[g];
        row[g] = n % levels[g];
        break;
      }
    }
    if (row[f] != kOpen) break;
  }
  for (size_t f = 0; f < levels.size(); ++f) {
    if (row[f] != kOpen) continue;
    size_t best = 0, most = 0;
    for (size_t a = 0; a < levels[f]; ++a) {
      size_t fresh = 0;
      for (size_t g = 0; g < levels.size(); ++g) {
        if (row[g] != kOpen) fresh += !pairs.Seen(f, a, g, row[g]);
      }
      if (a == 0 || fresh > most ||
          (fresh == most && used[f][a] < used[f][best])) {
        best = a;
        most = fresh;
      }
    }
    row[f] = best;
  }
  return row;
}

}  // namespace

std::vector<CoverRow> PairwiseCover(std::span<const size_t> levels) {
  Pairs pairs(levels);
  std::vector<std::vector<size_t>> used;
  for (const size_t n : levels) used.emplace_back(n);
  std::vector<CoverRow> rows;
  while (pairs.missing() > 0) {
    rows.push_back(NextRow(levels, pairs, used));
    pairs.See(rows.back());
    for (size_t f = 0; f < levels.size(); ++f) ++used[f][rows.back()[f]];
  }
  return rows;
}

size_t MissingPairs(std::span<const size_t> levels,
                    std::span<const CoverRow> rows) {
  Pairs pairs(levels);
  for (const CoverRow& row : rows) pairs.See(row);
  return pairs.missing();
}

}  // namespace lockstep::verify
