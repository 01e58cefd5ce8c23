// The fp64 witness against a textbook in long double, its visibility against
// brute force, and its bits across instruction sets, threads and samples.
#include "verify/oracle/attention_forward/truth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "reference/mask.h"
#include "tests/verify/envelope_problem.h"
#include "verify/oracle/attention_forward/visibility.h"

// The textbook is in long double; promotion to it is what is wanted.
#pragma GCC diagnostic ignored "-Wdouble-promotion"

namespace lockstep::oracle {
namespace {

using verify::RandomProblem;
using verify::TestProblem;

TEST(Visibility, EqualsBruteForce) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    TestProblem t;
    RandomProblem(seed, &t);
    const Visibility visibility(t.problem, t.inputs);
    for (int64_t b = 0; b < t.problem.batch; ++b) {
      for (int64_t i = 0; i < t.problem.q_len; ++i) {
        const KeySet keys = visibility.VisibleKeys(b, 0, i);
        std::vector<bool> seen(static_cast<size_t>(t.problem.kv_len));
        for (const KeyInterval& run : keys) {
          for (int64_t j = run.begin; j < run.end; ++j) {
            ASSERT_FALSE(seen[static_cast<size_t>(j)]);
            seen[static_cast<size_t>(j)] = true;
          }
        }
        for (int64_t j = 0; j < t.problem.kv_len; ++j) {
          ASSERT_EQ(seen[static_cast<size_t>(j)],
                    reference::IsVisible(t.problem, t.inputs, b, 0, i, j))
              << "seed " << seed << " b " << b << " i " << i << " j " << j;
        }
      }
    }
  }
}

double Element(const LaneView& x, int64_t b, int64_t h, int64_t i, int64_t c) {
  return static_cast<double>(x.lane == Lane::kF32
                                 ? x.As<float>()(b, h, i, c)
                                 : ToFloat(x.As<Bf16>()(b, h, i, c)));
}

// One row as in the textbook, in long double.
struct Textbook {
  std::vector<long double> w, s, eta, psi;
  std::vector<int64_t> keys;
  long double lse = 0;
  bool sink = false;
};

Textbook TextbookRow(const TestProblem& t, const ErrorModel& m, int64_t b,
                     int64_t h, int64_t i) {
  const AttentionForwardProblem& p = t.problem;
  Textbook row;
  std::vector<long double> product, argument;
  for (int64_t j = 0; j < p.kv_len; ++j) {
    if (!reference::IsVisible(p, t.inputs, b, h, i, j)) continue;
    long double dot = 0, sum = 0;
    for (int64_t d = 0; d < p.head_dim; ++d) {
      const long double x =
          static_cast<long double>(Element(t.inputs.q, b, h, i, d)) *
          Element(t.inputs.k, b, h / p.group(), j, d);
      dot += x;
      sum += fabsl(x);
    }
    const long double z = dot * p.scale;
    long double slope = 1, s = z;
    if (p.softcap) {
      s = *p.softcap * tanhl(z / *p.softcap);
      const long double y = 2 *
                            (m.bound.product * sum * fabsl(p.scale) +
                             m.bound.argument * fabsl(z)) /
                            *p.softcap;
      const long double cosh = coshl(z / *p.softcap);
      slope = y < 1 ? std::min(1.0L, (1 + y + y * y) / (cosh * cosh)) : 1.0L;
    }
    row.keys.push_back(j);
    row.s.push_back(s);
    product.push_back(slope * sum * fabsl(p.scale));
    argument.push_back(slope * fabsl(z));
  }
  row.sink = p.sink && !row.keys.empty();
  if (row.sink) {
    row.s.push_back(t.inputs.sink(h));
    product.push_back(0);
    argument.push_back(0);
  }
  long double top = -INFINITY, l = 0, largest = 0;
  for (const long double s : row.s) {
    top = std::max(top, s);
    largest = std::max(largest, fabsl(s));
  }
  const long double r =
      std::min<int64_t>(static_cast<int64_t>(row.keys.size()), m.most_rescales);
  for (size_t n = 0; n < row.s.size(); ++n) {
    row.w.push_back(expl(row.s[n] - top));
    l += row.w.back();
    const auto eta = [&](const WeightModel& x, bool square) {
      const long double c = x.constant + r * x.rescale +
                            largest * (x.reference + r * x.reference_rescale);
      const long double parts[] = {
          c, x.product * product[n], x.argument * argument[n],
          x.score * fabsl(row.s[n]), x.distance * (top - row.s[n])};
      long double sum = 0;
      for (const long double part : parts) sum += square ? part * part : part;
      return sum;
    };
    row.eta.push_back(eta(m.bound, false));
    row.psi.push_back(eta(m.spread, true));
  }
  row.lse = top + logl(l);
  for (long double& w : row.w) w /= l;
  return row;
}

ErrorModel TestModel() {
  ErrorModel m;
  m.bound = {1e-5, 3e-6, 2e-6, 5e-6, 7e-6, 0, 1e-6, 1e-7, 1e-8};
  m.spread = {1e-5, 2e-6, 4e-6, 3e-6, 9e-6, 0, 0, 1e-7, 0};
  m.most_rescales = 7;
  return m;
}

void ExpectNear(long double want, double got, const char* what, uint64_t seed) {
  EXPECT_LE(fabsl(want - got), 1e-8L * fabsl(want) + 1e-13L)
      << what << " seed " << seed;
}

TEST(Oracle, AgreesWithTheTextbook) {
  const ErrorModel model = TestModel();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    TestProblem t;
    RandomProblem(seed, &t);
    const AttentionTruth truth = ComputeTruth(t.problem, t.inputs, model, {});
    const AttentionForwardProblem& p = t.problem;
    for (size_t r = 0; r < truth.rows.size(); ++r) {
      const auto flat = static_cast<int64_t>(r);
      const int64_t b = flat / p.q_len / p.q_heads;
      const int64_t h = flat / p.q_len % p.q_heads;
      const Textbook row = TextbookRow(t, model, b, h, flat % p.q_len);
      ASSERT_EQ(truth.rows[r].visible, static_cast<int64_t>(row.keys.size()));
      if (row.keys.empty()) {
        ASSERT_EQ(truth.rows[r].kind, RowKind::kEmpty);
        continue;
      }
      ExpectNear(row.lse, truth.rows[r].lse, "lse", seed);
      for (int64_t c = 0; c < p.value_dim; ++c) {
        long double o = 0, sum = 0, square = 0, phi = 0, spread = 0;
        const auto v = [&](size_t n) -> long double {
          return n < row.keys.size()
                     ? Element(t.inputs.v, b, h / p.group(), row.keys[n], c)
                     : 0.0;
        };
        for (size_t n = 0; n < row.w.size(); ++n) o += row.w[n] * v(n);
        for (size_t n = 0; n < row.w.size(); ++n) {
          const long double term = row.w[n] * v(n);
          sum += fabsl(term);
          square += term * term;
          phi += row.w[n] * expm1l(row.eta[n]) * fabsl(v(n) - o);
          spread += row.w[n] * row.w[n] * row.psi[n] * (v(n) - o) * (v(n) - o);
        }
        const size_t at =
            r * static_cast<size_t>(p.value_dim) + static_cast<size_t>(c);
        ExpectNear(o, truth.o[at], "o", seed);
        ExpectNear(sum, truth.abs_sum[at], "abs_sum", seed);
        ExpectNear(square, truth.square_sum[at], "square_sum", seed);
        ExpectNear(phi, truth.phi_sum[at], "phi_sum", seed);
        ExpectNear(spread, truth.spread_sum[at], "spread_sum", seed);
      }
    }
  }
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

// All members but the first, whose padding holds anything.
bool SameRow(const RowTruth& a, const RowTruth& b) {
  constexpr size_t kSkip = offsetof(RowTruth, visible);
  return a.kind == b.kind &&
         std::memcmp(reinterpret_cast<const char*>(&a) + kSkip,
                     reinterpret_cast<const char*>(&b) + kSkip,
                     sizeof(RowTruth) - kSkip) == 0;
}

bool SameBits(const AttentionTruth& a, const AttentionTruth& b) {
  return std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                    SameRow) &&
         SameBits(a.o, b.o) && SameBits(a.abs_sum, b.abs_sum) &&
         SameBits(a.phi_sum, b.phi_sum) &&
         SameBits(a.spread_sum, b.spread_sum) &&
         SameBits(a.square_sum, b.square_sum);
}

class OracleBits : public testing::TestWithParam<Target> {};

TEST_P(OracleBits, DoNotDependOnTargetOrThreads) {
  const Target target = GetParam();
  if (!IsSupported(target)) {
    GTEST_SKIP() << "not run: the oracle's " << TargetName(target)
                 << " (this CPU)";
  }
  for (uint64_t seed = 0; seed < 40; ++seed) {
    TestProblem t;
    RandomProblem(seed, &t);
    const AttentionTruth first =
        ComputeTruth(t.problem, t.inputs, TestModel(),
                     {.threads = 1, .target = Target::kScalar});
    for (const int threads : {1, 2}) {
      ASSERT_TRUE(
          SameBits(first, ComputeTruth(t.problem, t.inputs, TestModel(),
                                       {.threads = threads, .target = target})))
          << TargetName(target) << " threads " << threads << " seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, OracleBits, testing::ValuesIn(CompiledTargets()),
                         [](const auto& info) {
                           return std::string(TargetName(info.param));
                         });

// Bounds do not depend on what else is asked, or on the models beside.
TEST(Oracle, TruthsTogetherAreThoseAlone) {
  ErrorModel other = TestModel();
  other.bound.constant *= 3;
  other.bound.product *= 2;
  const TruthRequest requests[] = {
      {.model = other, .likely = false}, {.model = TestModel()}, {.model = {}}};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    TestProblem t;
    RandomProblem(seed, &t);
    const auto together = ComputeTruths(t.problem, t.inputs, requests, {});
    for (size_t n = 0; n < 3; ++n) {
      const AttentionTruth alone =
          ComputeTruth(t.problem, t.inputs, requests[n].model, {});
      ASSERT_TRUE(SameBits(together[n].o, alone.o)) << seed;
      ASSERT_TRUE(SameBits(together[n].abs_sum, alone.abs_sum)) << seed;
      ASSERT_TRUE(SameBits(together[n].phi_sum, alone.phi_sum)) << seed;
      ASSERT_EQ(together[n].likely, requests[n].likely);
      if (requests[n].likely) {
        ASSERT_TRUE(SameBits(together[n], alone)) << seed;
      }
    }
  }
}

TEST(Oracle, SampledRowsAreNearlyTheFullOnes) {
  TestProblem t;
  RandomProblem(11, &t);
  const AttentionTruth all = ComputeTruth(t.problem, t.inputs, {}, {});
  std::vector<int64_t> rows;
  for (size_t r = 0; r < all.rows.size(); r += 3) {
    rows.push_back(static_cast<int64_t>(r));
  }
  const AttentionTruth some =
      ComputeTruth(t.problem, t.inputs, {}, {.rows = &rows});
  ASSERT_EQ(some.rows.size(), rows.size());
  const auto dv = static_cast<size_t>(t.problem.value_dim);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < dv; ++c) {
      const double want = all.o[static_cast<size_t>(rows[r]) * dv + c];
      EXPECT_NEAR(some.o[r * dv + c], want, 1e-13);
    }
  }
}

// One query, four keys, d = dv = 1.
TestProblem FourKeys(double q, std::vector<double> k, std::vector<double> v) {
  TestProblem t;
  t.problem.kv_len = static_cast<int64_t>(k.size());
  t.Allocate();
  t.Set(0, 0, q);
  for (size_t j = 0; j < k.size(); ++j) {
    t.Set(1, j, k[j]);
    t.Set(2, j, v[j]);
  }
  return t;
}

RowKind KindOf(const TestProblem& t) {
  return ComputeTruth(t.problem, t.inputs, {}, {}).rows[0].kind;
}
double OutputOf(const TestProblem& t) {
  return ComputeTruth(t.problem, t.inputs, {}, {}).o[0];
}

TEST(Oracle, NonFiniteNumbersFollowTheContract) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(KindOf(FourKeys(1, {0, kNaN}, {1, 2})), RowKind::kNaN);
  EXPECT_EQ(KindOf(FourKeys(1, {0, kInf}, {1, 2})), RowKind::kNaN);
  EXPECT_EQ(KindOf(FourKeys(1, {-kInf, -kInf}, {1, 2})), RowKind::kNaN);
  EXPECT_EQ(KindOf(FourKeys(1, {0, -kInf}, {1, 2})), RowKind::kOrdinary);
  EXPECT_EQ(OutputOf(FourKeys(1, {0, -kInf}, {1, 2})), 1.0);
  EXPECT_EQ(OutputOf(FourKeys(1, {0, 0}, {1, kInf})), kInf);
  EXPECT_EQ(OutputOf(FourKeys(1, {0, 0}, {-kInf, 1})), -kInf);
  EXPECT_TRUE(std::isnan(OutputOf(FourKeys(1, {0, 0}, {-kInf, kInf}))));
  EXPECT_TRUE(std::isnan(OutputOf(FourKeys(1, {0, 0}, {kNaN, 1}))));
  // A masked key does not exist (N8).
  TestProblem t = FourKeys(1, {0, kNaN}, {3, kNaN});
  t.inputs.valid_kv = {1};
  EXPECT_EQ(OutputOf(t), 3.0);
}

}  // namespace
}  // namespace lockstep::oracle
