// The chunked form: bits of a scalar twin on every target, for any number of
// threads; within an a-priori bound of the form's real value, which is
// evaluated in double from all pairs of tokens, and of the reference's
// recurrence.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/mamba3_scan.h"
#include "optimized/plan.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "reference/runs.h"
#include "tests/support/mamba3_chunk_form.h"
#include "tests/support/mamba3_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::kRegimes;
using test::Mamba3Instance;
using test::Mamba3Outputs;
using Problem = Mamba3ScanProblem;

constexpr int64_t kChunks[] = {1, 3, 4, 16, 64, 256};

Mamba3ScanCaps Chunked(int64_t chunk) {
  Mamba3ScanCaps caps;
  caps.algorithm = Mamba3Algorithm::kChunked;
  caps.chunk = chunk;
  return caps;
}

test::Mamba3Result RunChunked(Mamba3Instance& t, const Mamba3ScanCaps& caps) {
  Mamba3Outputs outputs(t.problem, t.CountRuns());
  const Mamba3ScanInputs in = t.Inputs();
  EXPECT_TRUE(Validate(t.problem, in, outputs.View()).ok());
  const Status status =
      Mamba3Scan(t.problem, in, caps, outputs.View(), nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs.Result();
}

// SISO and MIMO, packed runs, carries; what stands behind the read-out is the
// exact path's code and only sometimes there.
Mamba3Instance RandomProblem(std::mt19937& rng, test::Regime regime) {
  Mamba3Instance t = test::RandomMamba3(rng, regime);
  Problem& p = t.problem;
  p.norm_epsilon.reset();
  p.gate = p.reduce = false;
  p.batch = 1;
  p.length = std::uniform_int_distribution<int64_t>(1, 90)(rng);
  p.runs = Problem::Runs::kCuSeqlens;
  t.cu_seqlens = {0};
  while (t.cu_seqlens.back() < p.length) {
    const int64_t step = rng() % 3 == 0 ? rng() % 3 : rng() % 40;
    t.cu_seqlens.push_back(
        std::min<int64_t>(p.length, t.cu_seqlens.back() + step));
  }
  t.Fill(rng, regime);
  return t;
}

LOCKSTEP_NAME_TARGETS_NOT_RUN();

void ExpectTwinBits(Mamba3Instance& t, int64_t chunk) {
  const std::vector<uint32_t> expected = test::ChunkTwin(t, chunk).Bits();
  for (const std::string& target : test::RunnableTargets()) {
    for (const int threads : {1, 3}) {
      Mamba3ScanCaps caps = Chunked(chunk);
      caps.target = target;
      caps.threads = threads;
      ASSERT_EQ(RunChunked(t, caps).Bits(), expected)
          << target << " chunk " << chunk << " n " << t.problem.state_dim
          << " p " << t.problem.head_dim << " r " << t.problem.ranks;
    }
  }
}

// |got - value| <= bound, elementwise; says where it is not.
void ExpectWithin(const std::vector<float>& got, const test::Bounded& exact,
                  double slack, const std::string& what) {
  ASSERT_EQ(got.size(), exact.value.size());
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - exact.value[i]);
    ASSERT_LE(error, slack * exact.bound[i])
        << what << " " << i << ": " << got[i] << ", right " << exact.value[i];
  }
}

void ExpectWithinBound(Mamba3Instance& t, int64_t chunk) {
  const test::Mamba3Result got = RunChunked(t, Chunked(chunk));
  const test::ChunkForm form = test::EvaluateForm(t, chunk);
  ExpectWithin(got.y, form.y, 1, "y");
  ExpectWithin(got.carry.h, form.h, 1, "h");
  // The recurrence has fewer roundings to an element than the bound counts.
  const test::Mamba3Result reference = t.RunReference();
  ExpectWithin(reference.y, form.y, 1, "reference's y");
  ExpectWithin(reference.carry.h, form.h, 1, "reference's h");
  EXPECT_EQ(got.carry.theta, reference.carry.theta);
  EXPECT_EQ(got.carry.k, reference.carry.k);
  EXPECT_EQ(got.carry.v, reference.carry.v);
}

TEST(Mamba3Chunked, BitsOfTheTwin) {
  std::mt19937 rng(21);
  for (const test::Regime regime : kRegimes) {
    for (int i = 0; i < 30; ++i) {
      Mamba3Instance t = RandomProblem(rng, regime);
      ExpectTwinBits(t, kChunks[i % 6]);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Mamba3Chunked, BitsOfEveryTail) {
  std::mt19937 rng(22);
  for (const int64_t head_dim : {1, 8, 9, 16, 17, 31, 33, 64, 65, 70}) {
    for (const int64_t state_dim : {2, 6, 15, 16, 17, 34}) {
      Mamba3Instance t = RandomProblem(rng, kRegimes[head_dim % 4]);
      t.problem.head_dim = head_dim;
      t.problem.state_dim = state_dim;
      t.problem.angles = state_dim % 2 == 0 ? state_dim / 2 : 0;
      t.Fill(rng, kRegimes[head_dim % 4]);
      ExpectTwinBits(t, 16);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Mamba3Chunked, WithinTheBound) {
  std::mt19937 rng(23);
  for (const test::Regime regime : kRegimes) {
    for (int i = 0; i < 60; ++i) {
      Mamba3Instance t = RandomProblem(rng, regime);
      ExpectWithinBound(t, kChunks[i % 6]);
      if (HasFatalFailure()) return;
    }
  }
}

// A run's end at the edge of a chunk, one before and one behind it.
TEST(Mamba3Chunked, BoundariesAtTheEdge) {
  std::mt19937 rng(24);
  for (const int64_t chunk : kChunks) {
    for (const int64_t shift : {-1, 0, 1}) {
      const int64_t cut = chunk + shift;
      if (cut < 1) continue;
      Mamba3Instance t = RandomProblem(rng, kRegimes[cut % 4]);
      t.problem.length = 2 * chunk + 3;
      t.problem.carry_in = shift != 0;
      t.cu_seqlens = {0, cut, cut, t.problem.length};
      t.Fill(rng, kRegimes[cut % 4]);
      ExpectTwinBits(t, chunk);
      ExpectWithinBound(t, chunk);
      if (HasFatalFailure()) return;
    }
  }
}

// The whole output stage, and lanes of bf16.
TEST(Mamba3Chunked, NearTheReferenceBehindTheOutputStage) {
  std::mt19937 rng(25);
  for (const Lane lane : {Lane::kF32, Lane::kBf16}) {
    Mamba3Instance t = RandomProblem(rng, test::Regime::kTypical);
    Problem& p = t.problem;
    p.length = 70;
    p.lane = lane;
    p.variant = Problem::Variant::kMimo;
    p.ranks = 4;
    p.heads = p.groups = 2;
    p.state_dim = 16;
    p.angles = 4;
    p.gate = p.reduce = p.skip = true;
    p.norm_epsilon = 1e-3;
    p.runs = Problem::Runs::kRows;
    t.Fill(rng, test::Regime::kTypical);
    const test::Mamba3Result got = RunChunked(t, Chunked(16));
    const test::Mamba3Result reference = t.RunReference();
    double square = 0, error = 0;
    for (size_t i = 0; i < got.y.size(); ++i) {
      square += std::pow(reference.y[i], 2);
      error += std::pow(got.y[i] - reference.y[i], 2);
    }
    EXPECT_LE(error, square * (lane == Lane::kF32 ? 1e-10 : 1e-5));
    EXPECT_GT(square, 0);
  }
}

// NaN reaches neither another run nor an earlier token.
TEST(Mamba3Chunked, NaNStays) {
  std::mt19937 rng(26);
  for (const int64_t chunk : {4, 16, 64}) {
    Mamba3Instance t = RandomProblem(rng, test::Regime::kLongMemory);
    Problem& p = t.problem;
    p.length = 40;
    p.carry_in = false;
    t.cu_seqlens = {0, 13, 27, 40};
    t.Fill(rng, test::Regime::kLongMemory);
    const test::Mamba3Result clean = RunChunked(t, Chunked(chunk));
    const int64_t poisoned = 20;
    const auto fill = [&](std::vector<float>& x) {
      const int64_t width = static_cast<int64_t>(x.size()) / p.length;
      std::fill_n(x.begin() + poisoned * width, width,
                  std::numeric_limits<float>::quiet_NaN());
    };
    fill(t.q);
    fill(t.k);
    fill(t.v);
    const test::Mamba3Result got = RunChunked(t, Chunked(chunk));
    const int64_t width = static_cast<int64_t>(got.y.size()) / p.length;
    int64_t changed = 0;
    for (int64_t i = 0; i < static_cast<int64_t>(got.y.size()); ++i) {
      const int64_t at = i / width;
      const bool reached = at >= poisoned && at < 27;
      changed += std::isnan(got.y[i]);
      if (reached) continue;
      ASSERT_EQ(got.y[i], clean.y[i]) << "token " << at;
    }
    EXPECT_GT(changed, 0);
  }
}

TEST(Mamba3Chunked, SaysWhatRan) {
  std::mt19937 rng(27);
  Mamba3Instance t = RandomProblem(rng, test::Regime::kTypical);
  t.problem.length = 10;
  t.problem.heads = t.problem.groups = 1;
  t.cu_seqlens = {0, 3, 3, 10};
  t.Fill(rng, test::Regime::kTypical);
  Mamba3Outputs outputs(t.problem, t.CountRuns());
  Mamba3ScanExecution execution;
  ASSERT_TRUE(
      Mamba3Scan(t.problem, t.Inputs(), Chunked(4), outputs.View(), &execution)
          .ok());
  EXPECT_EQ(execution.algorithm, Mamba3Algorithm::kChunked);
  EXPECT_EQ(execution.chunk, 4);
  EXPECT_EQ(execution.pieces, 4);  // 0-3, 3-4, 4-8, 8-10
  ASSERT_TRUE(
      Mamba3Scan(t.problem, t.Inputs(), {}, outputs.View(), &execution).ok());
  EXPECT_EQ(execution.algorithm, Mamba3Algorithm::kExact);
  EXPECT_EQ(execution.chunk, 0);
  EXPECT_EQ(execution.pieces, 0);
}

TEST(Mamba3Chunked, RefusesChunks) {
  std::mt19937 rng(28);
  Mamba3Instance t = RandomProblem(rng, test::Regime::kTypical);
  Mamba3Outputs outputs(t.problem, t.CountRuns());
  const auto message = [&](const Mamba3ScanCaps& caps) {
    return Mamba3Scan(t.problem, t.Inputs(), caps, outputs.View(), nullptr)
        .message();
  };
  EXPECT_EQ(message(Chunked(4097)), "chunk 4097 is outside 1 .. 4096");
  EXPECT_EQ(message(Chunked(-1)), "chunk -1 is outside 1 .. 4096");
  Mamba3ScanCaps exact;
  exact.chunk = 16;
  EXPECT_EQ(message(exact), "chunk 16 is for the chunked algorithm only");
}

}  // namespace
}  // namespace lockstep::optimized
