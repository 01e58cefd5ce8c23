#include "verify/identify/models.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "verify/base/format.h"
#include "verify/base/mixing.h"
#include "verify/emulator/matrix_unit.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using Kind = Accumulator::Kind;

constexpr RoundingModel kRoundings[] = {
    {NumberType::kF32, Rounding::kNearest, true, "f32", "f32"},
    {NumberType::kTf32, Rounding::kNearest, true, "tf32", "tf32, to nearest"},
    {NumberType::kTf32, Rounding::kTruncate, true, "tf32", "tf32, cut"},
    {NumberType::kF16, Rounding::kNearest, true, "f16", "f16, to nearest"},
    {NumberType::kBf16, Rounding::kNearest, true, "bf16", "bf16, to nearest"},
    {NumberType::kF16, Rounding::kTruncate, false, "f16", "f16, cut"},
    {NumberType::kBf16, Rounding::kTruncate, false, "bf16", "bf16, cut"},
};

constexpr SumModel kSums[] = {
    {{Kind::kTrunc32, 0, 0}, true, "trunc32"},
    {{Kind::kMma, 4, 2}, true, "mma:4,2"},
    {{Kind::kMma, 8, 2}, true, "mma:8,2"},
    {{Kind::kMma, 16, 2}, true, "mma:16,2"},
    {{Kind::kMma, 32, 2}, true, "mma:32,2"},
    {{Kind::kMma, 4, 1}, true, "mma:4,1"},
    {{Kind::kMma, 8, 1}, true, "mma:8,1"},
    {{Kind::kMma, 16, 1}, true, "mma:16,1"},
    {{Kind::kMma, 4, 0}, true, "mma:4,0"},
    {{Kind::kMma, 8, 0}, true, "mma:8,0"},
    {{Kind::kMma, 16, 0}, true, "mma:16,0"},
    {{Kind::kMma, 16, -10}, false, "mma:16,-10"},
    {{Kind::kMma, 32, -10}, false, "mma:32,-10"},
    {{Kind::kF16, 0, 0}, false, "f16"},
    {{Kind::kBf16, 0, 0}, false, "bf16"},
};

// One of the orders: ascending, descending, the second half first.
std::vector<float> InOrder(const std::vector<float>& terms, int order) {
  std::vector<float> other = terms;
  if (order == 1) std::reverse(other.begin(), other.end());
  if (order == 2) {
    std::rotate(other.begin(),
                other.begin() + static_cast<std::ptrdiff_t>(other.size() / 2),
                other.end());
  }
  return other;
}

// A matrix unit that keeps the same bits, as docs/gpu-units.md has it.
UnitRules UnitOf(const Accumulator& acc) {
  UnitRules rules;
  rules.step.products = acc.width;
  rules.step.fraction = 23 + acc.guard_bits;
  rules.step.zero = -133;
  if (acc.guard_bits < 0) rules.step.keeps = 23 + acc.guard_bits;
  return rules;
}

}  // namespace

std::span<const RoundingModel> RoundingModels() { return kRoundings; }

std::vector<const RoundingModel*> ModelsBeside(Lane lane) {
  std::vector<const RoundingModel*> models, last;
  for (const RoundingModel& model : kRoundings) {
    const bool tf32 = model.type == NumberType::kTf32;
    if (tf32 && lane == Lane::kBf16) continue;
    (tf32 && lane == Lane::kF16 ? last : models).push_back(&model);
  }
  models.insert(models.end(), last.begin(), last.end());
  return models;
}

bool IsOfLane(NumberType type, Lane lane) {
  if (type == NumberType::kF32) return true;
  return lane == Lane::kBf16 ||
         (lane == Lane::kF16 && type != NumberType::kBf16);
}

NumberType NarrowTypeOf(Lane lane) {
  return lane == Lane::kF16 ? NumberType::kF16 : NumberType::kBf16;
}

std::span<const SumModel> SumModels() { return kSums; }

float RoundedBy(const RoundingModel& model, float x) {
  return model.how == Rounding::kTruncate ? TruncateTo(x, model.type)
                                          : RoundTo(x, model.type);
}

bool NearBorder(const RoundingModel& model, double x, double margin) {
  if (model.type == NumberType::kF32) return false;
  const auto low = static_cast<float>(x * (1 - margin));
  const auto high = static_cast<float>(x * (1 + margin));
  return RoundedBy(model, low) != RoundedBy(model, high);
}

double SumBy(const SumModel& model, int way, const std::vector<float>& terms) {
  const std::vector<float> ordered = InOrder(terms, way % 3);
  const std::vector<float> ones(ordered.size(), 1.0f);
  const Chain chain = {ordered.data(), 1, ones.data(), 1,
                       static_cast<int64_t>(ordered.size())};
  const bool unit = way >= 3 && model.acc.kind == Kind::kMma;
  return double{unit ? AddSteps(UnitOf(model.acc), chain, 0)
                     : Accumulate(chain, 0, model.acc)};
}

std::vector<std::vector<float>> LosingSums(size_t lists, size_t n, size_t used,
                                           uint64_t seed) {
  uint64_t state = Mix(seed);
  const auto below = [&](uint64_t bound) {
    state = Mix(state + 1);
    return (state >> 11) % bound;
  };
  std::vector<std::vector<float>> all;
  for (size_t list = 0; list < lists; ++list) {
    std::vector<float> terms(used, 0.0f);
    if (list % 2 == 0) {
      const float sign = list % 4 == 0 ? 1.0f : -1.0f;
      terms[0] = static_cast<float>(kBigTerm);
      terms[1] = sign * static_cast<float>(kSmallTerm);
      terms[2] = static_cast<float>(-kBigTerm);
    } else {
      size_t at = 0;
      const auto drawn = [&](int low, int high) {
        const auto e =
            static_cast<int>(below(static_cast<uint64_t>(high - low) + 1));
        return std::ldexp(1.0f + 0.25f * static_cast<float>(below(4)), low + e);
      };
      for (; at + 1 < used - used / 4; at += 2) {
        terms[at] = drawn(2, 12);
        terms[at + 1] = -terms[at];
      }
      for (; at < used; ++at) {
        terms[at] = (below(2) == 0 ? 1.0f : -1.0f) * drawn(-12, -8);
      }
    }
    for (size_t i = used; i > 1; --i) std::swap(terms[i - 1], terms[below(i)]);
    terms.resize(n, 0.0f);
    all.push_back(std::move(terms));
  }
  return all;
}

std::vector<float> DrawnNumbers(size_t n, int bits, uint64_t seed) {
  std::vector<float> numbers;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t drawn = Mix(seed ^ (i + 1)) >> 40;
    const float x = 1.0f + static_cast<float>(drawn % (1u << 23)) * 0x1p-23f;
    numbers.push_back(TruncateToBits(x, bits));
  }
  return numbers;
}

bool LosesNothing(const std::vector<std::vector<float>>& lists,
                  const std::vector<double>& sums) {
  const double last = kBigTerm * 0x1p-23;
  for (size_t i = 0; i < lists.size(); i += 2) {
    const double sign = i % 4 == 0 ? 1 : -1;
    const double left = sums[i] * sign;
    const auto is = [&](double x) { return std::fabs(left - x) < x * 0x1p-7; };
    if (!is(kSmallTerm) && !is(last)) return false;
  }
  return true;
}

SumFit FitSums(const std::vector<std::vector<float>>& lists,
               const std::vector<double>& sums,
               const std::function<bool(size_t, double)>& explains) {
  SumFit fit;
  if (LosesNothing(lists, sums)) {
    fit.nearest = true;
    fit.evidence = Format(
        "%zu sums of 2^13, 7/8 of its last place and -2^13 in every "
        "order: the small term was never lost",
        (lists.size() + 1) / 2);
    return fit;
  }
  for (const SumModel& model : kSums) {
    for (int way = 0; way < kSumWays; ++way) {
      bool all = true;
      for (size_t i = 0; i < lists.size() && all; ++i) {
        all = explains(i, SumBy(model, way, lists[i]));
      }
      if (!all) continue;
      fit.model = &model;
      fit.evidence = Format(
          "%zu sums that lose bits: every answer is that of %s, and of no "
          "stricter value",
          lists.size(), model.text);
      return fit;
    }
  }
  fit.evidence = Format(
      "%zu sums that lose bits: no legal accumulator explains the answers",
      lists.size());
  return fit;
}

}  // namespace lockstep::verify
