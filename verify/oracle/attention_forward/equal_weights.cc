#include "verify/oracle/attention_forward/equal_weights.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "verify/oracle/kernels.h"

namespace lockstep::oracle {
namespace {

constexpr double kLeastRepeats = 1.25;
constexpr uint32_t kNoGroup = ~uint32_t{0};

}  // namespace

uint32_t EqualWeights::GroupOf(uint64_t key) {
  const size_t mask = slots_.size() - 1;
  // Multiplied by 2^64 over the golden ratio.
  size_t at = static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (slots_[at] != 0 && keys_[slots_[at] - 1] != key) at = (at + 1) & mask;
  if (slots_[at] == 0) {
    keys_.push_back(key);
    sums_.push_back(0);
    slots_[at] = static_cast<uint32_t>(keys_.size());
  }
  return slots_[at] - 1;
}

// Groups the lanes with p > 0 by their leading bits. False where that changes
// too little.
bool EqualWeights::Find(std::span<const double> p, int bits) {
  repeats_ = 1;
  keys_.clear();
  sums_.clear();
  lanes_.clear();
  ends_.clear();
  if (bits <= 0) return false;
  slots_.assign(std::bit_ceil(2 * p.size() + 2), 0);
  groups_.assign(p.size(), kNoGroup);
  double squares = 0;
  for (size_t n = 0; n < p.size(); ++n) {
    if (!(p[n] > 0)) continue;
    groups_[n] = GroupOf(std::bit_cast<uint64_t>(p[n]) >> (52 - bits));
    sums_[groups_[n]] += p[n];
    squares += p[n] * p[n];
  }
  double grouped = 0;
  for (const double sum : sums_) grouped += sum * sum;
  if (!(grouped >= kLeastRepeats * squares)) return false;
  repeats_ = grouped / squares;
  // Lanes by their group, in order: counts, then places.
  ends_.assign(sums_.size(), 0);
  uint32_t count = 0;
  for (const uint32_t group : groups_) {
    if (group == kNoGroup) continue;
    ++ends_[group];
    ++count;
  }
  lanes_.resize(count);
  uint32_t begin = 0;
  for (uint32_t& end : ends_) {
    const uint32_t size = end;
    end = begin;
    begin += size;
  }
  for (size_t n = 0; n < groups_.size(); ++n) {
    if (groups_[n] != kNoGroup) {
      lanes_[ends_[groups_[n]]++] = static_cast<uint32_t>(n);
    }
  }
  return true;
}

void EqualWeights::Add(const WeightedRow& row, size_t place,
                       AttentionTruth* truth) {
  if (!Find(row.p, row.bits)) return;
  const auto channels = static_cast<size_t>(truth->value_dim);
  const size_t padded = (row.keys + kPanel - 1) / kPanel * kPanel;
  const double* o = &truth->o[place * channels];
  // Of one group, and of all of them squared.
  std::vector<double> value(channels), apart(channels);
  std::vector<double> values(channels), aparts(channels);
  size_t at = 0;
  for (const uint32_t end : ends_) {
    for (; at < end; ++at) {
      const size_t lane = lanes_[at];
      const size_t key =
          static_cast<size_t>(row.panels[lane / kPanel]) * kPanel +
          lane % kPanel;
      const double w = row.p[lane] * row.inverse;
      const double psi = std::sqrt(row.spread[lane]) * row.inverse;
      for (size_t c = 0; c < channels; ++c) {
        const double v =
            row.v[(c / kPanel * padded + key) * kPanel + c % kPanel];
        value[c] = value[c] + w * v;
        apart[c] = apart[c] + psi * (v - o[c]);
      }
    }
    for (size_t c = 0; c < channels; ++c) {
      values[c] = values[c] + value[c] * value[c];
      aparts[c] = aparts[c] + apart[c] * apart[c];
      value[c] = apart[c] = 0;
    }
  }
  RowTruth& found = truth->rows[place];
  found.equal_weights = repeats_;
  for (size_t c = 0; c < channels; ++c) {
    double& squares = truth->square_sum[place * channels + c];
    double& spread = truth->spread_sum[place * channels + c];
    if (values[c] > found.equal_values * squares) {
      found.equal_values = values[c] / squares;
    }
    squares = std::max(squares, values[c]);
    spread = std::max(spread, aparts[c]);
  }
}

}  // namespace lockstep::oracle
