// Validate() refuses every scan without a meaning, in one line that names the
// field.
#include "reference/contract/mamba3_scan.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/mamba3_problem.h"

namespace lockstep {
namespace {

using Problem = Mamba3ScanProblem;
using Inputs = Mamba3ScanInputs;
using Outputs = Mamba3ScanOutputs;
using test::Mamba3Instance;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void ExpectRefusal(const Status& status, const std::string& part) {
  ASSERT_FALSE(status.ok()) << part;
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find('\n'), std::string::npos);
}

// The message, empty if there is none.
std::string Refused(const Problem& problem, const Inputs& in,
                    const Outputs& out) {
  const Status status = Validate(problem, in, out);
  return status.ok() ? "" : status.message();
}

// H=4, G=2, N=6, P=3, S=3, everything on.
Mamba3Instance Everything(Problem::Variant variant) {
  Mamba3Instance t;
  Problem& p = t.problem;
  p.variant = variant;
  p.batch = 2;
  p.length = 5;
  p.heads = 4;
  p.groups = 2;
  p.state_dim = 6;
  p.head_dim = 3;
  p.angles = 3;
  p.bias = p.skip = p.gate = p.carry_in = true;
  p.norm_epsilon = 1e-5;
  if (p.mimo()) {
    p.ranks = 2;
    p.reduce = true;
  }
  std::mt19937 rng(1);
  t.Fill(rng, test::Regime::kTypical);
  return t;
}

struct Refusal {
  const char* part;  // of the message
  std::function<void(Problem&)> spoil;
};

void ExpectRefusals(Problem::Variant variant,
                    const std::vector<Refusal>& refusals) {
  const Problem whole = Everything(variant).problem;
  ASSERT_TRUE(Validate(whole).ok()) << Validate(whole).message();
  for (const Refusal& refusal : refusals) {
    Problem problem = whole;
    refusal.spoil(problem);
    ExpectRefusal(Validate(problem), refusal.part);
  }
}

TEST(ValidateMamba3Problem, NamesExtents) {
  ExpectRefusals(
      Problem::Variant::kSiso,
      {
          {"b=0", [](Problem& p) { p.batch = 0; }},
          {"t=0", [](Problem& p) { p.length = 0; }},
          {"t=67108865", [](Problem& p) { p.length = kMaxLength + 1; }},
          {"h=-4", [](Problem& p) { p.heads = -4; }},
          {"g=0", [](Problem& p) { p.groups = 0; }},
          {"r=0", [](Problem& p) { p.ranks = 0; }},
          {"n=0", [](Problem& p) { p.state_dim = 0; }},
          {"p=16385", [](Problem& p) { p.head_dim = kMaxChannels + 1; }},
          {"s=-1", [](Problem& p) { p.angles = -1; }},
          {"q of shape",
           [](Problem& p) {
             p.length = kMaxLength, p.groups = 4, p.batch = 65536;
           }},
          {"v of shape",
           [](Problem& p) {
             p.length = kMaxLength, p.head_dim = 16384, p.batch = 1 << 10;
           }},
          {"state of shape",
           [](Problem& p) {
             p.heads = 1 << 16;
             p.batch = 1 << 8;
             p.head_dim = p.state_dim = kMaxChannels;
             p.length = 1;
           }},
      });
}

TEST(ValidateMamba3Problem, NamesRelations) {
  const std::vector<Refusal> both = {
      {"h=3 is not a multiple of g=2", [](Problem& p) { p.heads = 3; }},
      {"n=6 allows at most s=3", [](Problem& p) { p.angles = 4; }},
      {"n=5 allows at most s=2", [](Problem& p) { p.state_dim = 5; }},
      {"norm epsilon 0", [](Problem& p) { p.norm_epsilon = 0.0; }},
      {"norm epsilon -1", [](Problem& p) { p.norm_epsilon = -1.0; }},
      {"norm epsilon 1e+39", [](Problem& p) { p.norm_epsilon = 1e39; }},
      {"norm epsilon 1e-50", [](Problem& p) { p.norm_epsilon = 1e-50; }},
      {"norm epsilon nan",
       [](Problem& p) {
         p.norm_epsilon = std::numeric_limits<double>::quiet_NaN();
       }},
      {"b=2 with cu_seqlens",
       [](Problem& p) { p.runs = Problem::Runs::kCuSeqlens; }},
  };
  ExpectRefusals(Problem::Variant::kSiso, both);
  ExpectRefusals(Problem::Variant::kMimo, both);
  ExpectRefusals(Problem::Variant::kSiso,
                 {
                     {"r=2 needs mimo", [](Problem& p) { p.ranks = 2; }},
                     {"reduce needs mimo", [](Problem& p) { p.reduce = true; }},
                 });
  ExpectRefusals(Problem::Variant::kMimo, {{"n=5 is odd", [](Problem& p) {
                                              p.state_dim = 5;
                                              p.angles = 2;
                                            }}});
}

TEST(ValidateMamba3Problem, AnOddStateTurnsAllButOneInSiso) {
  Problem p = Everything(Problem::Variant::kSiso).problem;
  p.state_dim = 7;
  EXPECT_TRUE(Validate(p).ok());
}

using Spoil = std::function<void(Problem&, Inputs&, Outputs&)>;

void ExpectRefused(Problem::Variant variant, const char* part,
                   const Spoil& spoil) {
  Mamba3Instance t = Everything(variant);
  test::Mamba3Outputs outputs(t.problem, t.CountRuns());
  Problem problem = t.problem;
  Inputs in = t.Inputs();
  Outputs out = outputs.View();
  ASSERT_TRUE(Validate(problem, in, out).ok())
      << Validate(problem, in, out).message();
  spoil(problem, in, out);
  ExpectRefusal(Validate(problem, in, out), part);
}

TEST(ValidateMamba3Tensors, NamesTensorAndShape) {
  const std::pair<const char*, Spoil> refusals[] = {
      {"b=0", [](Problem& p, Inputs&, Outputs&) { p.batch = 0; }},
      {"q is missing",
       [](Problem&, Inputs& in, Outputs&) { in.q.data = nullptr; }},
      {"k has shape [2,4,2,2,6]; want [2,5,2,2,6]",
       [](Problem&, Inputs& in, Outputs&) { in.k.shape[1] = 4; }},
      {"v has lane bf16; want f32",
       [](Problem&, Inputs& in, Outputs&) { in.v.lane = Lane::kBf16; }},
      {"tau has strides",
       [](Problem&, Inputs& in, Outputs&) { in.tau.strides[0] = -1; }},
      // Time second instead of last, as most tensors have it.
      {"a has shape [2,5,4]; want [2,4,5]",
       [](Problem&, Inputs& in, Outputs&) { in.a.shape = {2, 5, 4}; }},
      {"dt is missing",
       [](Problem&, Inputs& in, Outputs&) { in.dt.data = nullptr; }},
      {"vartheta is missing",
       [](Problem&, Inputs& in, Outputs&) { in.vartheta.data = nullptr; }},
      {"z is missing",
       [](Problem&, Inputs& in, Outputs&) { in.z.data = nullptr; }},
      {"bq is missing",
       [](Problem&, Inputs& in, Outputs&) { in.bq.data = nullptr; }},
      {"bk given without bias",
       [](Problem& p, Inputs& in, Outputs&) {
         p.bias = false;
         in.bq.data = nullptr;
       }},
      {"d given without skip",
       [](Problem& p, Inputs&, Outputs&) { p.skip = false; }},
      {"z given without gate",
       [](Problem& p, Inputs&, Outputs&) { p.gate = false; }},
      {"vartheta given without angles",
       [](Problem& p, Inputs&, Outputs&) { p.angles = 0; }},
      {"psi is missing",
       [](Problem&, Inputs& in, Outputs&) { in.psi.data = nullptr; }},
      {"zeta is missing",
       [](Problem&, Inputs& in, Outputs&) { in.zeta.data = nullptr; }},
      {"phi given without reduce",
       [](Problem& p, Inputs&, Outputs&) { p.reduce = false; }},
      {"norm_weight given without",
       [](Problem& p, Inputs&, Outputs&) { p.norm_epsilon.reset(); }},
      {"y is missing",
       [](Problem&, Inputs&, Outputs& out) { out.y.data = nullptr; }},
      {"y has shape [2,5,2,4,3]; want [2,5,1,4,3]",
       [](Problem&, Inputs&, Outputs& out) { out.y.shape[2] = 2; }},
      {"y overlaps itself",
       [](Problem&, Inputs&, Outputs& out) { out.y.strides[1] = 0; }},
  };
  for (const auto& [part, spoil] : refusals) {
    ExpectRefused(Problem::Variant::kMimo, part, spoil);
  }
}

TEST(ValidateMamba3Tensors, ACarryIsWholeOrAbsent) {
  const std::pair<const char*, Spoil> refusals[] = {
      {"carry is partial: theta missing, h given, k given, v given",
       [](Problem&, Inputs& in, Outputs&) { in.carry.theta.data = nullptr; }},
      {"carry is partial: theta given, h missing",
       [](Problem&, Inputs& in, Outputs&) { in.carry.h.data = nullptr; }},
      {"carry is partial: theta given, h given, k missing",
       [](Problem&, Inputs& in, Outputs&) { in.carry.k.data = nullptr; }},
      {"k given, v missing",
       [](Problem&, Inputs& in, Outputs&) { in.carry.v.data = nullptr; }},
      {"exported carry is partial",
       [](Problem&, Inputs&, Outputs& out) { out.carry.k.data = nullptr; }},
      {"carry is missing",
       [](Problem&, Inputs& in, Outputs&) { in.carry = {}; }},
      {"carry given without carry_in",
       [](Problem& p, Inputs&, Outputs&) { p.carry_in = false; }},
      {"carry h has shape [1,4,3,6]; want [2,4,3,6]",
       [](Problem&, Inputs& in, Outputs&) { in.carry.h.shape[0] = 1; }},
      {"exported carry v has shape",
       [](Problem&, Inputs&, Outputs& out) { out.carry.v.shape[2] = 4; }},
      {"exported carry theta overlaps itself",
       [](Problem&, Inputs&, Outputs& out) { out.carry.theta.strides[0] = 0; }},
  };
  for (const auto& [part, spoil] : refusals) {
    ExpectRefused(Problem::Variant::kSiso, part, spoil);
  }
}

TEST(ValidateMamba3Tensors, RunsCoverTheRow) {
  static const int32_t kIds[10] = {};
  const auto packed = [](std::vector<int64_t> cu_seqlens) {
    return [cu_seqlens](Problem& p, Inputs& in, Outputs&) {
      p.batch = 1;
      for (auto* shape : {&in.q.shape, &in.k.shape}) (*shape)[0] = 1;
      for (auto* shape : {&in.v.shape, &in.z.shape, &in.vartheta.shape}) {
        (*shape)[0] = 1;
      }
      for (auto* shape : {&in.a.shape, &in.dt.shape, &in.tau.shape}) {
        (*shape)[0] = 1;
      }
      p.runs = Problem::Runs::kCuSeqlens;
      in.cu_seqlens = cu_seqlens;
    };
  };
  const std::pair<const char*, Spoil> refusals[] = {
      {"cu_seqlens has 0 entries", packed({})},
      {"cu_seqlens has 1 entries", packed({0})},
      {"cu_seqlens covers tokens 1..5; want 0..5", packed({1, 5})},
      {"cu_seqlens covers tokens 0..4; want 0..5", packed({0, 2, 4})},
      {"cu_seqlens covers tokens 0..6; want 0..5", packed({0, 6})},
      {"cu_seqlens descends from 3 to 2 at entry 2", packed({0, 3, 2, 5})},
      {"cu_seqlens descends from 9 to 5", packed({0, 9, 5})},
      {"carry h has shape [2,4,3,6]; want [3,4,3,6]", packed({0, 2, 2, 5})},
      {"cu_seqlens given without",
       [](Problem&, Inputs& in, Outputs&) { in.cu_seqlens = {0, 5}; }},
      {"segments is missing",
       [](Problem& p, Inputs&, Outputs&) {
         p.runs = Problem::Runs::kSegments;
       }},
      {"segments given without",
       [](Problem&, Inputs& in, Outputs&) {
         in.segments = {kIds, {2, 5}, {5, 1}};
       }},
      {"segments has shape [5,2]; want [2,5]",
       [](Problem& p, Inputs& in, Outputs&) {
         p.runs = Problem::Runs::kSegments;
         in.segments = {kIds, {5, 2}, {2, 1}};
       }},
  };
  for (const auto& [part, spoil] : refusals) {
    ExpectRefused(Problem::Variant::kSiso, part, spoil);
  }
}

TEST(ValidateMamba3Values, DecayAndStepSize) {
  const struct {
    const char* part;
    bool step;
    float value;
  } refusals[] = {
      {"a[b=1,h=2,t=3]=0.5; want finite and <= 0", false, 0.5f},
      {"a[b=1,h=2,t=3]=nan", false, kNaN},
      {"a[b=1,h=2,t=3]=-inf", false, -kInfinity},
      {"dt[b=1,h=2,t=3]=-0.125; want finite and >= 0", true, -0.125f},
      {"dt[b=1,h=2,t=3]=nan", true, kNaN},
      {"dt[b=1,h=2,t=3]=inf", true, kInfinity},
  };
  for (const auto& refusal : refusals) {
    Mamba3Instance t = Everything(Problem::Variant::kSiso);
    (refusal.step ? t.dt : t.a)[(1 * 4 + 2) * 5 + 3] = refusal.value;
    test::Mamba3Outputs outputs(t.problem, t.CountRuns());
    ExpectRefusal(Validate(t.problem, t.Inputs(), outputs.View()),
                  refusal.part);
  }
}

TEST(ValidateMamba3Values, ZerosAndNonFiniteActivationsAreLegal) {
  Mamba3Instance t = Everything(Problem::Variant::kSiso);
  t.a[0] = -0.0f;
  t.dt[0] = 0.0f;
  t.q[1] = t.k[2] = t.v[3] = t.z[4] = kNaN;
  t.tau[0] = kInfinity;
  test::Mamba3Outputs outputs(t.problem, t.CountRuns());
  EXPECT_TRUE(Validate(t.problem, t.Inputs(), outputs.View()).ok());
}

TEST(ValidateMamba3Tensors, NoAnglesNoThetaNoExport) {
  Mamba3Instance t = Everything(Problem::Variant::kSiso);
  t.problem.angles = 0;
  test::Mamba3Outputs outputs(t.problem, t.CountRuns());
  Inputs in = t.Inputs();
  in.carry.theta.data = nullptr;
  Outputs out = outputs.View();
  EXPECT_EQ(Refused(t.problem, in, out), "");
  out.carry = {};
  EXPECT_EQ(Refused(t.problem, in, out), "");
}

TEST(CountRuns, ComparesIdsWithTheLeftNeighbour) {
  Problem p;
  p.batch = 2;
  p.length = 4;
  const int32_t ids[] = {0, 1, 1, 0, 0, 0, -7, -7};
  Inputs in;
  in.segments = {ids, {2, 4}, {4, 1}};
  EXPECT_EQ(CountRuns(p, in), 2);
  p.runs = Problem::Runs::kSegments;
  EXPECT_EQ(CountRuns(p, in), 3 + 2);
  p.runs = Problem::Runs::kCuSeqlens;
  in.cu_seqlens = {0, 0, 3, 3, 4};
  EXPECT_EQ(CountRuns(p, in), 4);
}

}  // namespace
}  // namespace lockstep
