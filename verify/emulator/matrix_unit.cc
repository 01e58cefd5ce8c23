#include "verify/emulator/matrix_unit.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/contract/with_fma.h"

namespace lockstep::verify {
namespace {

// Of 2^e, for e in -1022 .. 1023.
LOCKSTEP_IN_BOTH inline double PowerOfTwo(int e) {
  return std::bit_cast<double>(static_cast<uint64_t>(e + 1023) << 52);
}

// The largest e with 2^e <= |x|, x not 0 and not subnormal in binary64.
LOCKSTEP_IN_BOTH inline int ExponentOf(double x) {
  return static_cast<int>(std::bit_cast<uint64_t>(x) >> 52 & 0x7ff) - 1023;
}

LOCKSTEP_IN_BOTH inline int ExponentOf(float x, int least) {
  return std::max(ExponentOf(double{x}), least);
}

// x to `bits` behind its leading one, or behind 2^least if that is larger.
LOCKSTEP_IN_BOTH inline double KeptBits(double x, int bits, int least,
                                        bool nearest) {
  if (x == 0) return 0;
  const double last = PowerOfTwo(std::max(ExponentOf(x), least) - bits);
  return (nearest ? std::nearbyint(x / last) : std::trunc(x / last)) * last;
}

LOCKSTEP_IN_BOTH inline float Step(const UnitRules& rules, const Chain& chain,
                                   float acc) {
  const UnitStep& step = rules.step;
  const float apart = acc;
  if (rules.sum_apart) acc = 0;
  // Sums of the products themselves tell infinities and NaN.
  double plain = double{acc};
  int top = acc == 0 ? step.zero : ExponentOf(acc, rules.sum_least);
  const auto a = [&](int64_t i)
                     LOCKSTEP_IN_BOTH { return chain.a[i * chain.a_stride]; };
  const auto b = [&](int64_t i)
                     LOCKSTEP_IN_BOTH { return chain.b[i * chain.b_stride]; };
  for (int64_t i = 0; i < chain.n; ++i) {
    const double product = double{a(i)} * double{b(i)};
    plain += product;
    if (product == 0) continue;  // e0, as the accumulator at least
    const int exponent = rules.normalised_first
                             ? ExponentOf(product)
                             : ExponentOf(a(i), rules.operand_least) +
                                   ExponentOf(b(i), rules.operand_least);
    top = std::max(top, exponent);
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  const double to_units = PowerOfTwo(step.fraction - top);
  const auto term = [&](double x) LOCKSTEP_IN_BOTH {
    x *= to_units;
    return rules.terms_nearest ? std::nearbyint(x) : std::trunc(x);
  };
  double total = term(double{acc});
  for (int64_t i = 0; i < chain.n; ++i) {
    total += term(double{a(i)} * double{b(i)});
  }
  total = KeptBits(total * PowerOfTwo(top - step.fraction), step.keeps,
                   rules.sum_least, step.nearest != rules.sums_nearest);
  // The first power of two that the accumulator cannot hold.
  if (std::fabs(total) >= PowerOfTwo(2 - rules.sum_least)) {
    total = std::copysign(HUGE_VAL, total);
  }
  const auto left = static_cast<float>(total + 0.0);
  return rules.sum_apart ? apart + left : left;
}

}  // namespace

float AddStep(const UnitRules& rules, const Chain& chain, float acc) {
  return WithFma([&]() LOCKSTEP_IN_BOTH { return Step(rules, chain, acc); });
}

float AddSteps(const UnitRules& rules, const Chain& chain, float acc) {
  for (int64_t i = 0; i < chain.n; i += rules.step.products) {
    Chain part = chain;
    part.a += i * chain.a_stride;
    part.b += i * chain.b_stride;
    part.n = std::min<int64_t>(rules.step.products, chain.n - i);
    acc = AddStep(rules, part, acc);
  }
  return acc;
}

float AddByF16(const UnitRules& rules, int k, const Chain& chain, float acc) {
  for (int64_t begin = 0; begin < chain.n; begin += k) {
    float left = 0;
    for (const int64_t first : {0, 2}) {
      std::vector<float> a, b;
      for (int64_t i = begin; i < begin + k; ++i) {
        if ((i - begin) % 4 / 2 * 2 != first) continue;
        a.push_back(chain.a[i * chain.a_stride]);
        b.push_back(chain.b[i * chain.b_stride]);
      }
      const auto n = static_cast<int64_t>(a.size());
      left = AddSteps(rules, {a.data(), 1, b.data(), 1, n}, left);
    }
    const bool f16 = rules.sum_least > -126;
    acc = f16 ? RoundTo(acc + left, NumberType::kF16) : acc + left;
  }
  return acc;
}

void StepSum::Add(int64_t index, float a, float b) {
  const int64_t step = index / rules_.step.products;
  if (step != step_) sum_ = Result();
  step_ = step;
  a_.push_back(a);
  b_.push_back(b);
}

float StepSum::Result() {
  if (a_.empty()) return sum_;
  const auto n = static_cast<int64_t>(a_.size());
  sum_ = AddStep(rules_, {a_.data(), 1, b_.data(), 1, n}, sum_);
  a_.clear();
  b_.clear();
  return sum_;
}

}  // namespace lockstep::verify
