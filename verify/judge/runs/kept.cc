#include "verify/judge/runs/kept.h"

#include <array>
#include <cmath>
#include <set>

#include "verify/base/elements.h"
#include "verify/ops/envelopes.h"

namespace lockstep::verify {
namespace {

struct Pair {
  std::array<int64_t, 4> at;
  uint32_t expected, produced;
};

// Of an output, the lines of a trial of which the profile says nothing.
std::set<int64_t> OpenLines(const NumericProfile* profile, const Trial& trial,
                            size_t t) {
  if (profile == nullptr) return {};
  const auto open = trial.envelopes().OpenLines(*profile, t);
  return {open.begin(), open.end()};
}

// The elements of an output that are held against one another.
std::vector<Pair> PairsOf(const KeptLines& lines, size_t t) {
  const OutputSpec& spec = lines.own.outputs()[t];
  const OutputSpec& there = lines.there.outputs()[t];
  const int exponent = lines.exponents.empty() ? 0 : lines.exponents[t];
  const bool zeros_alike = lines.zeros_alike != nullptr &&
                           !lines.zeros_alike->empty() &&
                           (*lines.zeros_alike)[t];
  const std::set<int64_t> own_open = OpenLines(lines.profile, lines.own, t);
  const std::set<int64_t> open = OpenLines(lines.profile, lines.there, t);
  const LaneView base = lines.base.tensors[t].const_view();
  const LaneView produced = lines.produced.tensors[t].const_view();
  std::vector<Pair> pairs;
  pairs.reserve(lines.kept[t].size() * static_cast<size_t>(spec.shape[3]));
  for (const LinePair& pair : lines.kept[t]) {
    if (own_open.contains(pair.own) || open.contains(pair.here)) continue;
    auto at = LineIndex(spec, pair.own, 0);
    auto here = LineIndex(there, pair.here, 0);
    for (int64_t c = 0; c < spec.shape[3]; ++c) {
      at[3] = here[3] = c;
      const auto expected =
          TimesPowerOfTwo(spec.lane, ElementBits(base, at), exponent);
      if (!expected) continue;
      const uint32_t bits = ElementBits(produced, here);
      const bool alike = zeros_alike && Classify(spec.lane, *expected, bits) ==
                                            PairClass::kZeroSign;
      pairs.push_back({at, alike ? bits : *expected, bits});
    }
  }
  return pairs;
}

}  // namespace

std::optional<uint32_t> TimesPowerOfTwo(Lane lane, uint32_t bits,
                                        int exponent) {
  if (exponent == 0) return bits;
  const double x = ElementValue(lane, bits);
  const double scaled = std::ldexp(x, exponent);
  const auto plain = [lane](double value) {
    const double size = std::fabs(value);
    // Rounding may have made a zero of f16, or its smallest normal number, from
    // a number where the spacing is another.
    if (value == 0) return lane != Lane::kF16;
    return size > std::ldexp(1.0, LaneRowOf(lane).min_exponent) &&
           size <= LaneRowOf(lane).largest;
  };
  if (!plain(x) || !plain(scaled)) return std::nullopt;
  return BitsOf(lane, scaled);
}

std::vector<Comparison> CompareKept(const KeptLines& lines) {
  std::vector<Comparison> all;
  for (size_t t = 0; t < lines.kept.size(); ++t) {
    const OutputSpec& spec = lines.own.outputs()[t];
    if (lines.profile != nullptr && !HasOutput(*lines.profile, spec.name)) {
      continue;
    }
    const std::vector<Pair> pairs = PairsOf(lines, t);
    if (pairs.empty()) continue;
    Comparer comparer(spec.name, spec.lane, spec.shape,
                      static_cast<int64_t>(pairs.size()));
    for (const Pair& pair : pairs) {
      comparer.Add(pair.at, pair.expected, pair.produced);
    }
    all.push_back(comparer.comparison());
  }
  return all;
}

}  // namespace lockstep::verify
