// Forty wrong kernels that are drawn, each with one wrong constant: a scale, a
// cap, the base of the exponential or of an lse, a scale of fp8 that is
// ignored. They are written here, apart from the emulators that their numbers
// are fitted with.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/key_scales.h"
#include "reference/mask.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "tests/verify/wrong_kernel.h"
#include "verify/base/elements.h"
#include "verify/causes/questions.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/attention_merge/trial.h"

namespace lockstep::verify {
namespace {

// The first eight digits of the commit that the kernels are drawn for.
constexpr uint32_t kSeed = 0x80ae3435;
constexpr int kKernels = 40;
constexpr int kLeastNamed = 38;
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Wrong {
  std::string kind;
  double factor = 1;  // of what the kind says
  bool Is(const char* one) const { return kind == one; }
};

// exp(score), where each may be wrong.
float ScoreOf(float dot, float key_scale, const AttentionForwardProblem& p,
              const Wrong& wrong) {
  double scale = p.scale;
  if (wrong.Is("scale")) scale *= wrong.factor;
  float z = dot * static_cast<float>(scale) *
            (wrong.Is("k_scale") ? 1.0f : key_scale);
  if (p.softcap) {
    const double cap = *p.softcap * (wrong.Is("cap") ? wrong.factor : 1);
    z = static_cast<float>(cap) * std::tanh(z / static_cast<float>(cap));
  }
  return wrong.Is("exp") ? z * static_cast<float>(wrong.factor) : z;
}

// [row][channel] of one head.
std::vector<float> Load(const LaneView& x, int64_t b, int64_t h) {
  std::vector<float> all;
  for (int64_t i = 0; i < x.shape[2]; ++i) {
    for (int64_t c = 0; c < x.shape[3]; ++c) all.push_back(x.Float(b, h, i, c));
  }
  return all;
}

struct Head {
  std::vector<float> q, k, v;
};

void Row(const AttentionForwardData& data, const Wrong& wrong, const Head& head,
         int64_t b, int64_t h, int64_t i, const OutputSet& outputs) {
  const AttentionForwardProblem& p = data.problem;
  const AttentionForwardInputs& in = data.inputs;
  const int64_t kv = h / p.group();
  std::vector<float> scores(static_cast<size_t>(p.kv_len), -kInf);
  float most = -kInf;
  for (int64_t j = 0; j < p.kv_len; ++j) {
    if (!reference::IsVisible(p, in, b, h, i, j)) continue;
    const float* const q = &head.q[static_cast<size_t>(i * p.head_dim)];
    const float* const k = &head.k[static_cast<size_t>(j * p.head_dim)];
    float dot = 0;
    for (int64_t c = 0; c < p.head_dim; ++c) dot += q[c] * k[c];
    const float key_scale =
        p.k_scales.any() ? KeyScaleOf(p.k_scales, in.k_scale, b, kv, j) : 1;
    scores[static_cast<size_t>(j)] = ScoreOf(dot, key_scale, p, wrong);
    most = std::max(most, scores[static_cast<size_t>(j)]);
  }
  float sum = 0;
  std::vector<float> o(static_cast<size_t>(p.value_dim));
  for (int64_t j = 0; j < p.kv_len; ++j) {
    const float weight = std::exp(scores[static_cast<size_t>(j)] - most);
    if (!(weight > 0)) continue;
    sum += weight;
    float of_v =
        p.v_scales.any() ? KeyScaleOf(p.v_scales, in.v_scale, b, kv, j) : 1;
    if (wrong.Is("v_scale")) of_v = 1;
    const float* const v = &head.v[static_cast<size_t>(j * p.value_dim)];
    float* const to = o.data();
    for (int64_t c = 0; c < p.value_dim; ++c) to[c] += weight * v[c] * of_v;
  }
  for (int64_t c = 0; c < p.value_dim; ++c) {
    const double x = double{o[static_cast<size_t>(c)] / sum};
    SetElement(outputs.tensors[0].view, {b, h, i, c}, BitsOf(p.lane, x));
  }
  SetElement(outputs.tensors[1].view, {b, h, i, 0},
             BitsOf(Lane::kF32, double{most + std::log(sum)}));
}

// Parts whose lse is taken for one in the other base.
void Merge(const AttentionMergeData& data, const Wrong& wrong,
           const OutputSet& outputs) {
  const AttentionMergeProblem& p = data.problem;
  const auto factor = static_cast<float>(wrong.factor);
  for (int64_t h = 0; h < p.heads; ++h) {
    for (int64_t n = 0; n < p.rows; ++n) {
      float most = -kInf, sum = 0;
      std::vector<float> o(static_cast<size_t>(p.value_dim));
      for (int64_t s = 0; s < p.parts; ++s) {
        most = std::max(most, data.inputs.lse(s, h, n) * factor);
      }
      for (int64_t s = 0; s < p.parts; ++s) {
        const float weight = std::exp(data.inputs.lse(s, h, n) * factor - most);
        sum += weight;
        for (int64_t c = 0; c < p.value_dim; ++c) {
          o[static_cast<size_t>(c)] += weight * data.inputs.o.Float(s, h, n, c);
        }
      }
      for (int64_t c = 0; c < p.value_dim; ++c) {
        SetElement(outputs.tensors[0].view, {0, h, n, c},
                   BitsOf(p.out_lane, double{o[static_cast<size_t>(c)] / sum}));
      }
      SetElement(outputs.tensors[1].view, {0, h, n, 0},
                 BitsOf(Lane::kF32, double{most + std::log(sum)}));
    }
  }
}

void Attend(const AttentionForwardData& data, const Wrong& wrong,
            const OutputSet& outputs) {
  const AttentionForwardProblem& p = data.problem;
  for (int64_t h = 0; h < p.q_heads; ++h) {
    const int64_t kv = h / p.group();
    const Head head{Load(data.inputs.q, 0, h), Load(data.inputs.k, 0, kv),
                    Load(data.inputs.v, 0, kv)};
    for (int64_t i = 0; i < p.q_len; ++i) {
      Row(data, wrong, head, 0, h, i, outputs);
    }
  }
}

WrongKernel KernelWith(const Wrong& wrong) {
  return WrongKernel([wrong](const Trial& trial, const OutputSet& outputs) {
    if (const auto* merge = dynamic_cast<const AttentionMergeTrial*>(&trial)) {
      Merge(merge->data(), wrong, outputs);
      return;
    }
    Attend(dynamic_cast<const AttentionForwardTrial&>(trial).data(), wrong,
           outputs);
  });
}

struct Drawn {
  Wrong wrong;
  std::string line, lane;
  int keys = 0;
};

Drawn DrawKernel(int n, std::mt19937* random) {
  const auto of = [&](auto... choices) {
    const std::vector<std::common_type_t<decltype(choices)...>> all{choices...};
    return all[(*random)() % all.size()];
  };
  constexpr const char* kKinds[] = {"scale", "cap",     "exp",
                                    "merge", "k_scale", "v_scale"};
  const double kLn2 = std::log(2.0);
  Drawn drawn;
  Wrong& wrong = drawn.wrong;
  wrong.kind = kKinds[n % 6];
  drawn.lane = of("f32", "bf16", "f16");
  drawn.keys = of(64, 96, 128, 200, 256, 300, 384, 512, 700, 1000, 1024);
  // 0.25 to 4, and not near 1.
  const double octaves = of(-2.0, -1.5, -1.0, -0.6, -0.3, 0.3, 0.6, 1.0, 2.0);
  wrong.factor = std::exp2(octaves + (*random)() % 1000 / 1e4);
  const int dim = of(32, 48, 64);
  const double cap = of(1.5, 3.0, 5.0);
  const double scale = of(0.5, 0.75, 1.5, 2.0);
  const std::string mask = of("full", "causal", "causal&window:60,0");
  if (wrong.Is("exp")) wrong.factor = kLn2;
  // An lse in one base that is taken for one in the other.
  const bool binary = octaves > 0;
  if (wrong.Is("merge")) wrong.factor = binary ? 1 : kLn2;
  if (wrong.Is("k_scale") || wrong.Is("v_scale")) wrong.factor = 1 / scale;
  if (wrong.Is("merge")) {
    drawn.line = "attention_merge s=" + std::to_string(drawn.keys / 32) +
                 " h=2 n=24 dv=" + std::to_string(dim) + " lane=" + drawn.lane +
                 (binary ? " base=2" : "");
    return drawn;
  }
  drawn.line =
      "attention_forward hq=2 hkv=1 sq=24 skv=" + std::to_string(drawn.keys) +
      " d=" + std::to_string(dim) + " lane=" + drawn.lane + " mask=" + mask +
      " align=br";
  if (wrong.Is("cap") || wrong.Is("exp")) {
    drawn.line += " cap=" + std::to_string(cap);
  }
  if (wrong.Is("k_scale") || wrong.Is("v_scale")) {
    const std::string which = wrong.Is("k_scale") ? "kscale" : "vscale";
    drawn.line += " kvlane=e4m3 " + which + "=tensor:" + std::to_string(scale);
  }
  return drawn;
}

bool IsNamed(const Drawn& drawn, const std::vector<Explanation>& causes) {
  if (causes.empty() || !causes[0].Proved()) return false;
  const std::string& what = causes[0].what;
  const std::string& bug = causes[0].bug;
  if (drawn.wrong.Is("merge"))
    return bug.starts_with("merge.base") || bug == "asked.base";
  if (drawn.wrong.Is("v_scale")) return bug == "attn.fp8_v_scale_forgotten";
  if (drawn.wrong.Is("k_scale") && bug == "attn.fp8_k_scale_forgotten") {
    return true;
  }
  return std::fabs(NumberIn(what) / drawn.wrong.factor - 1) < 0.02;
}

const char* ProfileOf(const std::string& lane) {
  return lane == "f32" ? "cpu-f32" : lane == "f16" ? "flash-f16" : "flash-bf16";
}

JudgeOptions Options(const std::string& lane) {
  JudgeOptions options = With(ProfileOf(lane));
  options.causes = true;
  options.explain_seconds = 1;
  options.invariance = options.evidence = options.canaries = false;
  options.threads = 1;
  return options;
}

TEST(Questions, DrawnWrongConstantsAreNamed) {
  std::mt19937 random(kSeed);
  int named = 0;
  for (int n = 0; n < kKernels; ++n) {
    const Drawn drawn = DrawKernel(n, &random);
    WrongKernel kernel = KernelWith(drawn.wrong);
    const CaseResult result =
        JudgeLine(drawn.line, kernel, Options(drawn.lane));
    EXPECT_EQ(result.verdict, Verdict::kFail)
        << drawn.line << ": " << result.reason;
    const bool is = IsNamed(drawn, result.causes);
    named += is ? 1 : 0;
    std::printf("%2d %-7s %-4s %4d keys  truth %.4g  %s %s\n", n,
                drawn.wrong.kind.c_str(), drawn.lane.c_str(), drawn.keys,
                drawn.wrong.factor, is ? "named" : "-----",
                result.causes.empty()
                    ? result.no_cause.c_str()
                    : ExplanationText(result.causes[0]).c_str());
    std::fflush(stdout);
  }
  EXPECT_GE(named, kLeastNamed);
}

// A right kernel's answer is right for no other question.
TEST(Questions, NothingIsClaimedOfRightKernels) {
  std::mt19937 random(kSeed);
  for (int n = 0; n < kKernels; ++n) {
    const Drawn drawn = DrawKernel(n, &random);
    if (drawn.wrong.Is("merge")) continue;
    const Case call = ParseCase(drawn.line, Ops()).value();
    const auto trial = Open(call);
    const OutputSet answer = Optimized(*trial);
    const NumericProfile claims = LoadProfile(ProfileOf(drawn.lane)).value();
    for (const NumericProfile* profile :
         std::initializer_list<const NumericProfile*>{&claims, nullptr}) {
      double work = 1e9;
      const auto found = FindQuestions({.call = call,
                                        .trial = *trial,
                                        .produced = answer,
                                        .profile = profile,
                                        .rows = {{0, 7, 30, 40}, {}}},
                                       &work);
      EXPECT_TRUE(found.empty()) << drawn.line << found[0].what;
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
