// How products are summed: in the chains of a profile's accumulator, in the
// contract's blocks, or in the steps of a GPU's matrix unit.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/emulator/attention_forward/arithmetic.h"
#include "verify/emulator/block_sum.h"
#include "verify/emulator/matrix_unit.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// Channels of q and k that a faulty kernel multiplies.
constexpr int64_t kFirstChannels = 64;

float FoldPairs(std::vector<float>& x) {
  if (x.empty()) return 0.0f;
  for (size_t n = x.size(); n > 1; n = (n + 1) / 2) {
    for (size_t i = 0; i < n / 2; ++i) x[i] = x[2 * i] + x[2 * i + 1];
    if (n % 2 != 0) x[n / 2] = x[n - 1];
  }
  return x[0];
}

}  // namespace

BlockRules AttentionArithmetic::block_rules() const {
  return {.length = dial_.Is(Fault::kBlockOf16) ? 16 : 32,
          .odd_first = dial_.Is(Fault::kBlockOddFirst),
          .flushed = !dial_.Is(Fault::kBlockUnflushed),
          .from_sum = dial_.Is(Fault::kBlockFromSum)};
}

std::optional<UnitRules> AttentionArithmetic::unit_rules() const {
  UnitRules rules;
  const UnitStep* of_order = StepOf(problem_.order);
  if (contract_ && of_order != nullptr) {
    rules.step = *of_order;
  } else if (variant_.unit) {
    rules.step = *variant_.unit;
  } else {
    return std::nullopt;
  }
  if (dial_.Is(Fault::kUnitHalfStep)) rules.step.products /= 2;
  if (dial_.Is(Fault::kUnitFewerBits)) --rules.step.fraction;
  if (dial_.Is(Fault::kUnitMoreBits)) ++rules.step.fraction;
  rules.terms_nearest = dial_.Is(Fault::kUnitTermsNearest);
  rules.sums_nearest = dial_.Is(Fault::kUnitSumsNearest);
  rules.sum_apart = dial_.Is(Fault::kUnitSumApart);
  rules.normalised_first = dial_.Is(Fault::kUnitNormalisedFirst);
  return rules;
}

int64_t AttentionArithmetic::ChannelsMultiplied() const {
  const int64_t n = std::max<int64_t>(
      problem_.head_dim - (dial_.Is(Fault::kDropChannel) ? 1 : 0), 0);
  return dial_.Is(Fault::kFirstChannelsOnly) ? std::min(n, kFirstChannels) : n;
}

void AttentionArithmetic::Dots(const float* q, std::span<const float* const> k,
                               float* dots) const {
  const bool chains = !grouped() && !variant_.unit &&
                      !dial_.Is(Fault::kDotBf16) &&
                      !dial_.Is(Fault::kF16DotF16) &&
                      numeric_.acc_qk.kind == Accumulator::Kind::kRn32 &&
                      variant_.dot == DotOrder::kFma;
  if (chains) return DotRows(q, k, ChannelsMultiplied(), dots);
  for (size_t n = 0; n < k.size(); ++n) dots[n] = Dot(q, k[n]);
}

float AttentionArithmetic::Dot(const float* q, const float* k) const {
  const int64_t n = ChannelsMultiplied();
  if (blocks() && !dial_.Is(Fault::kDotBf16)) {
    BlockSum sum(block_rules());
    for (int64_t d = 0; d < n; ++d) sum.Add(d, q[d], k[d]);
    return sum.Result();
  }
  const std::optional<UnitRules> unit = unit_rules();
  const bool half = dial_.Is(Fault::kF16DotF16);
  if (unit && !half && !dial_.Is(Fault::kDotBf16)) {
    return AddSteps(*unit, {q, 1, k, 1, n}, 0);
  }
  Accumulator how = numeric_.acc_qk;
  if (dial_.Is(Fault::kDotBf16)) how = {Accumulator::Kind::kBf16, 0, 0};
  if (half) how = {Accumulator::Kind::kF16, 0, 0};
  switch (how.kind == Accumulator::Kind::kRn32 ? variant_.dot
                                               : DotOrder::kFma) {
    case DotOrder::kFma:
      break;
    case DotOrder::kMulAdd: {
      float acc = 0;
      for (int64_t d = 0; d < n; ++d) {
        const float product = q[d] * k[d];
        acc += product;
      }
      return acc;
    }
    case DotOrder::kBackward:
      return Accumulate({q + n - 1, -1, k + n - 1, -1, n}, 0, how);
    case DotOrder::kLanes8: {
      std::vector<float> lanes(8, 0.0f);
      for (int64_t d = 0; d < n; ++d) {
        float& lane = lanes[static_cast<size_t>(d % 8)];
        lane = std::fma(q[d], k[d], lane);
      }
      return FoldPairs(lanes);
    }
    case DotOrder::kPairwise: {
      std::vector<float> products(static_cast<size_t>(n));
      for (int64_t d = 0; d < n; ++d) {
        products[static_cast<size_t>(d)] = q[d] * k[d];
      }
      return FoldPairs(products);
    }
  }
  return Accumulate({q, 1, k, 1, n}, 0, how);
}

float AttentionArithmetic::AddProducts(const Chain& tile, float acc) const {
  const std::optional<UnitRules> unit = unit_rules();
  const bool narrow = dial_.Is(Fault::kPvBf16) || dial_.Is(Fault::kF16PvF16);
  if (unit && !narrow) return AddSteps(*unit, tile, acc);
  return Accumulate(tile, acc, ValueAccumulator());
}

Accumulator AttentionArithmetic::ValueAccumulator() const {
  if (dial_.Is(Fault::kPvBf16)) return {Accumulator::Kind::kBf16, 0, 0};
  if (dial_.Is(Fault::kF16PvF16)) return {Accumulator::Kind::kF16, 0, 0};
  return numeric_.acc_pv;
}

}  // namespace lockstep::verify
