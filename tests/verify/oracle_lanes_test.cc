// The primitives of the oracle's lanes: the start-up check passes where they
// are right and names the one that is not; and the loops for eight lanes give
// the scalar bits also where no CPU with such registers is at hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "verify/oracle/kernels_impl.h"
#include "verify/oracle/lane_check.h"
#include "verify/oracle/lane_loops.h"

namespace lockstep::oracle {

// Eight lanes in plain C++, shaped as the 512-bit batch: the same generic code
// with the same register tiles. kFused = false is what xsimd 8 gives there.
template <bool kFused>
struct EightLanes {
  static constexpr size_t size = 8;
  double x[size] = {};
  EightLanes() = default;
  EightLanes(double value) {  // NOLINT: a broadcast, as in xsimd
    for (double& lane : x) lane = value;
  }
  static EightLanes load_unaligned(const double* from) {
    EightLanes result;
    for (size_t i = 0; i < size; ++i) result.x[i] = from[i];
    return result;
  }
};
struct EightBools {
  bool x[8] = {};
};

template <bool kFused, typename Function>
EightLanes<kFused> Each(Function function) {
  EightLanes<kFused> result;
  for (size_t i = 0; i < 8; ++i) result.x[i] = function(i);
  return result;
}
template <bool F>
EightLanes<F> operator+(EightLanes<F> a, EightLanes<F> b) {
  return Each<F>([&](size_t i) { return a.x[i] + b.x[i]; });
}
template <bool F>
EightLanes<F> operator-(EightLanes<F> a, EightLanes<F> b) {
  return Each<F>([&](size_t i) { return a.x[i] - b.x[i]; });
}
template <bool F>
EightLanes<F> operator*(EightLanes<F> a, EightLanes<F> b) {
  return Each<F>([&](size_t i) { return a.x[i] * b.x[i]; });
}
template <bool F>
EightLanes<F> operator/(EightLanes<F> a, EightLanes<F> b) {
  return Each<F>([&](size_t i) { return a.x[i] / b.x[i]; });
}
template <bool F>
EightBools operator<(EightLanes<F> a, EightLanes<F> b) {
  EightBools result;
  for (size_t i = 0; i < 8; ++i) result.x[i] = a.x[i] < b.x[i];
  return result;
}
template <bool F>
EightLanes<F> Fma(EightLanes<F> a, EightLanes<F> b, EightLanes<F> c) {
  return Each<F>([&](size_t i) {
    return F ? std::fma(a.x[i], b.x[i], c.x[i]) : a.x[i] * b.x[i] + c.x[i];
  });
}
template <bool F>
EightLanes<F> Abs(EightLanes<F> a) {
  return Each<F>([&](size_t i) { return std::fabs(a.x[i]); });
}
template <bool F>
EightLanes<F> Round(EightLanes<F> a) {
  return Each<F>([&](size_t i) { return std::nearbyint(a.x[i]); });
}
template <bool F>
EightLanes<F> Select(EightBools mask, EightLanes<F> a, EightLanes<F> b) {
  return Each<F>([&](size_t i) { return mask.x[i] ? a.x[i] : b.x[i]; });
}
template <bool F>
EightLanes<F> PowerOfTwo(EightLanes<F> n) {
  return Each<F>(
      [&](size_t i) { return PowerOfTwo(ScalarLane(n.x[i])).value; });
}
template <bool F>
void Store(EightLanes<F> a, double* to) {
  for (size_t i = 0; i < 8; ++i) to[i] = a.x[i];
}

namespace {

using ::testing::HasSubstr;
using Wide = EightLanes<true>;
using WideUnfused = EightLanes<false>;

TEST(OracleLanes, EveryTargetOfThisCpuIsRight) {
  const Status status = CheckTargets();
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
}

// One test per instruction set, so that a run says which it did not look at.
class OracleTarget : public testing::TestWithParam<Target> {};

TEST_P(OracleTarget, PrimitivesAreBinary64) {
  if (!IsSupported(GetParam())) {
    GTEST_SKIP() << "not run: the oracle's " << TargetName(GetParam())
                 << " (this CPU)";
  }
  const Status status =
      CheckLanes(TargetName(GetParam()), KernelsOf(GetParam()).lanes);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.message());
}

INSTANTIATE_TEST_SUITE_P(All, OracleTarget,
                         testing::ValuesIn(CompiledTargets()),
                         [](const auto& info) {
                           return std::string(TargetName(info.param));
                         });

TEST(OracleLanes, TheFallbackOfALibraryWithoutFmaIsNoticed) {
  EXPECT_TRUE(CheckLanes("wide", MakeLaneLoops<Wide>()).ok());
  const Status status = CheckLanes("wide", MakeLaneLoops<WideUnfused>());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("'fma' on wide gives "));
}

// Slightly wrong in the way libraries are: an alternative for each primitive.
ScalarLane Wrong(size_t primitive, ScalarLane a, ScalarLane b, ScalarLane c) {
  const double x = a.value, y = b.value, z = c.value;
  switch (primitive) {
    case kLaneAdd:  // subnormal results flushed
      return std::fabs(x + y) < 0x1p-1022 ? 0.0 : x + y;
    case kLaneSubtract:  // -0 - 0 loses its sign
      return x - y == 0 ? 0.0 : x - y;
    case kLaneMultiply:
      return std::fabs(x * y) < 0x1p-1022 ? 0.0 : x * y;
    case kLaneDivide:  // by the reciprocal
      return x * (1 / y);
    case kLaneMultiplyAdd:  // contracted
      return std::fma(x, y, z);
    case kLaneFma:
      return x * y + z;
    case kLaneAbs:
      return x < 0 ? -x : x;  // -0 stays
    case kLaneRound:          // halves away from zero
      return std::round(x);
    case kLaneLess:  // a NaN is less
      return !(y <= x) ? 1.0 : 0.0;
    case kLaneSelect:  // the other branch on NaN
      return !(y <= x) ? y : z;
    case kLaneMax:  // a, not b, where b is NaN
      return std::fmax(x, y);
    case kLaneMin:
      return std::fmin(x, y);
    case kLanePowerOfTwo:  // the smallest exponent is lost
      return x == -1022 ? 0.0 : std::ldexp(1, static_cast<int>(x));
    case kLaneExp:
      return std::exp(x);
    case kLaneExpMinusOne:
      return std::expm1(x);
    case kLaneTanh:
      return std::tanh(x);
    default:
      return 1 - std::tanh(x) * std::tanh(x);
  }
}

template <size_t kPrimitive>
void RunWrong(const LaneArrays& x) {
  for (size_t i = 0; i < x.count; ++i) {
    x.out[i] = Wrong(kPrimitive, x.a[i], x.b[i], x.c[i]).value;
  }
}

template <size_t... kIndex>
LaneLoops MakeWrongLoops(std::index_sequence<kIndex...>) {
  return {&RunWrong<kIndex>...};
}

TEST(OracleLanes, EveryBrokenPrimitiveIsNoticed) {
  const LaneLoops wrong =
      MakeWrongLoops(std::make_index_sequence<kPrimitives>());
  const LaneLoops right = MakeLaneLoops<ScalarLane>();
  for (size_t p = 0; p < kPrimitives; ++p) {
    LaneLoops loops = right;
    EXPECT_TRUE(CheckLanes("planted", loops).ok());
    loops[p] = wrong[p];
    const Status status = CheckLanes("planted", loops);
    ASSERT_FALSE(status.ok()) << "primitive " << p;
    EXPECT_THAT(status.message(), HasSubstr(" on planted gives "));
  }
}

// The kernels on random panels, in any lane type: all that they write.
struct KernelRun {
  static constexpr size_t kPanels = 3, kKeys = kPanels * kPanel, kDim = 11;
  std::mt19937_64 random;
  std::vector<int64_t> panels = {2, 0, 1};
  std::vector<double> out;

  explicit KernelRun(uint64_t seed) : random(seed) {}

  std::vector<double> Draw(size_t count, double low, double high) {
    std::uniform_real_distribution<double> uniform(low, high);
    std::vector<double> x(count);
    for (double& value : x) value = uniform(random);
    return x;
  }
  void Keep(const std::vector<double>& x) {
    out.insert(out.end(), x.begin(), x.end());
  }

  void Scores(const Kernels& kernels) {
    const auto q = Draw(kTileRows * kDim, -2, 2);
    const auto k = Draw(kKeys * kDim, -2, 2);
    std::vector<double> dot(kTileRows * kKeys), product(dot);
    kernels.score_tile({q.data(), k.data(), kDim, panels.data(), kPanels,
                        dot.data(), product.data(), kKeys});
    Keep(dot);
    Keep(product);
  }

  void Row(const Kernels& kernels, double cap) {
    std::vector<double> visible(kKeys), argument(kKeys);
    for (double& one : visible) one = random() % 4 != 0 ? 1 : 0;
    auto score = Draw(kKeys, -30, 30), product = Draw(kKeys, 0, 60);
    if (random() % 2 != 0) {
      score[3] = std::numeric_limits<double>::quiet_NaN();
      score[9] = -std::numeric_limits<double>::infinity();
      product[10] = std::numeric_limits<double>::infinity();
    }
    LogitRow logits;
    logits.keys = kKeys;
    logits.visible = visible.data();
    logits.score = score.data();
    logits.product = product.data();
    logits.argument = argument.data();
    logits.scale = 0.7;
    logits.cap = cap;
    logits.bound = {.constant = 1e-7, .product = 1e-7, .argument = 2e-7};
    kernels.logit_row(&logits);
    Keep(score);
    Keep(product);
    Keep(argument);
    Keep({logits.max, logits.largest_product, logits.largest_score,
          logits.bad ? 1.0 : 0.0});
    WeightRow weights;
    weights.keys = kKeys;
    weights.max = logits.max;
    weights.score = score.data();
    weights.product = product.data();
    weights.argument = argument.data();
    weights.model.bound = logits.bound;
    weights.model.spread = logits.bound;
    kernels.weight_row(&weights);
    Keep(score);
    Keep(product);
    Keep(argument);
    Keep({weights.weight, weights.square, weights.eta, weights.phi,
          weights.floor, weights.spread, weights.least});
    Keep({std::begin(weights.parts), std::end(weights.parts)});
  }

  void Values(const Kernels& kernels) {
    const auto p = Draw(kTileRows * kKeys, 0, 1);
    const auto phi = Draw(kTileRows * kKeys, 0, 1);
    const auto v = Draw(kKeys * kPanel, -3, 3);
    std::vector<double> sums[6];
    for (auto& sum : sums) sum = Draw(kTileRows * kPanel, 0, 1);
    const ValueTile tile = {p.data(),       phi.data(),     phi.data(),
                            v.data(),       panels.data(),  kPanels,
                            kKeys,          sums[0].data(), sums[1].data(),
                            sums[2].data(), sums[3].data(), sums[4].data(),
                            sums[5].data()};
    for (const auto kernel :
         {kernels.value_means, kernels.value_sums, kernels.value_bounds,
          kernels.value_spread, kernels.size_bounds}) {
      kernel(tile);
      for (const auto& sum : sums) Keep(sum);
    }
  }
};

// Bits of everything, NaNs as one.
std::vector<uint64_t> KernelBits(const Kernels& kernels, uint64_t seed) {
  KernelRun run(seed);
  run.Scores(kernels);
  for (const double cap : {0.0, 5.0}) run.Row(kernels, cap);
  run.Values(kernels);
  std::vector<uint64_t> bits;
  for (const double x : run.out) {
    bits.push_back(std::bit_cast<uint64_t>(
        std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x));
  }
  return bits;
}

TEST(OracleLanes, EightLanesGiveTheScalarBits) {
  const Kernels wide = MakeKernels<Wide>();
  const Kernels unfused = MakeKernels<WideUnfused>();
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const auto scalar = KernelBits(KernelsOf(Target::kScalar), seed);
    EXPECT_EQ(KernelBits(wide, seed), scalar) << "seed " << seed;
    EXPECT_NE(KernelBits(unfused, seed), scalar) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lockstep::oracle
