// The way to a score, as weights of two keys show it: which of its steps are
// rounded, and with which factor the scale is.
#include <algorithm>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/models.h"

namespace lockstep::verify {
namespace {

constexpr size_t kRows = 64;
constexpr size_t kWidth = 8;  // channels of a row

std::vector<float> Row(float first, float second = 0) {
  std::vector<float> row(kWidth, 0.0f);
  row[0] = first;
  row[1] = second;
  return row;
}

// Scores from 14 to 58 times `size`, of products of 16 bits, and of a key
// beside that has `part` of them.
ScoreQuestion StepQuestion(float size, float part) {
  ScoreQuestion question;
  question.scale = kOddScale;
  for (const float x : DrawnNumbers(kRows, 8, 13)) {
    const int e = question.q.size() % 2 == 0 ? 6 : 7;
    question.q.push_back(Row(std::ldexp(x, e) * size));
  }
  question.k = Row(0x1.a6p0f);
  question.beside = Row(RoundToBits(0x1.a6p0f * part, 8));
  return question;
}

// Adds to `wanted` the scores of a product that is rounded once, or at each
// step: one if no error of tanh can change its last rounding, else two.
void ScoresOf(const ScoreQuestion& question, NumberType type, ScoreRound round,
              float product, std::vector<double>* wanted) {
  const auto step = [&](float x) {
    return round == ScoreRound::kOnce ? x : RoundTo(x, type);
  };
  float s = step(step(product) * static_cast<float>(question.scale));
  if (!question.cap) {
    wanted->push_back(double{RoundTo(s, type)});
    return;
  }
  const auto cap = static_cast<float>(*question.cap);
  const double t = TanhDouble(double{step(s / cap)});
  for (const double error : {-0x1p-18, 0x1p-18}) {
    s = cap * step(static_cast<float>(t * (1 + error)));
    wanted->push_back(double{RoundTo(s, type)});
  }
}

// Whether the kernel's weights are those of such scores. `answered` says
// whether it gave any.
bool RoundsSteps(AttentionKernel* kernel, const ScoreQuestion& question,
                 NumberType type, ScoreRound round, bool* answered) {
  const auto read = kernel->ScoresBy(ReadBy::kWeights, question);
  *answered = read.ok();
  if (!read.ok()) return false;
  const double noise = kernel->NoiseBy(ReadBy::kWeights, 8);
  for (size_t i = 0; i < kRows; ++i) {
    std::vector<double> scores, others;
    const float q = question.q[i][0];
    ScoresOf(question, type, round, q * question.k[0], &scores);
    ScoresOf(question, type, round, q * question.beside[0], &others);
    const auto apart = [&](double score, double other) {
      const bool rounded = round == ScoreRound::kShift;
      const auto difference = static_cast<float>(score - other);
      return double{rounded ? RoundTo(difference, type) : difference};
    };
    const bool fits = std::ranges::any_of(scores, [&](double score) {
      return std::ranges::any_of(others, [&](double other) {
        return std::fabs(read.value()[i] - apart(score, other)) <= noise;
      });
    });
    if (!fits) return false;
  }
  return true;
}

}  // namespace

// Learns the rounding of kernels of separate operations, which have tensors of
// their lane between these. A fused kernel that rounds scores has to say so.
void AskScoreSteps(AttentionKernel* kernel) {
  NumericProfile& p = kernel->profile;
  const NumberType type = NumberTypeOf(kernel->lane());
  const auto score = std::ranges::find_if(
      kernel->found.fields, [](const auto& f) { return f.field == "score"; });
  const bool of_lane =
      score != kernel->found.fields.end() && score->word == Word::kReported &&
      score->line == std::string("score = ") + LaneName(kernel->lane());
  if (!of_lane || p.p != type || p.normalise != Normalise::kBefore) return;
  // Weights of f16 vanish beside one that is far larger.
  const float size = type == NumberType::kF16 ? 0x1p-3f : 1.0f;
  const ScoreQuestion near = StepQuestion(1, 0.9375f);
  const ScoreQuestion far = StepQuestion(size, 0x1p-6f);
  ScoreQuestion capped = near;
  capped.cap = kTanhCap;
  for (const ScoreRound round :
       {ScoreRound::kOnce, ScoreRound::kEach, ScoreRound::kShift}) {
    bool answered = false;
    if (!RoundsSteps(kernel, near, type, round, &answered)) continue;
    if (!RoundsSteps(kernel, far, type, round, &answered)) continue;
    if (!RoundsSteps(kernel, capped, type, round, &answered) && answered) {
      return;
    }
    p.score = type;
    p.score_round = round;
    p.scale_at = ScaleAt::kLogits;
    p.cap_div = CapDivision::kDivide;
    p.exp_base = ExpBase::kE;
    p.shift = Shift::kSubtract;
    score->word = Word::kSeen;
    score->line.clear();
    score->evidence += ", which are divided by their sum before they meet V";
    if (round == ScoreRound::kOnce) return;
    kernel->Say("score_round", Word::kSeen,
                Format("%zu weights with a scale of %g%s were those of scores "
                       "rounded %s",
                       kRows, kOddScale, answered ? ", also with a cap," : "",
                       round == ScoreRound::kEach
                           ? "at each step"
                           : "at each step, and less their maximum"));
    return;
  }
}

namespace {

struct ScaledFactors {
  ScaleAt at;
  const char* text;
};
// What the scale, or its root, is multiplied into.
constexpr ScaledFactors kScaledFactors[] = {
    {ScaleAt::kQF32, "q in f32"},
    {ScaleAt::kRoots, "q and k as its root, in f32"},
    {ScaleAt::kQLane, "q in its lane"},
    {ScaleAt::kQF32, "k in f32"},
};

float ScaledProduct(const ScaledFactors& factors, Lane lane, float q, float k) {
  const auto scale = static_cast<float>(kOddScale);
  const auto root = static_cast<float>(std::sqrt(kOddScale));
  const bool in_k = &factors == &kScaledFactors[3];
  if (factors.at == ScaleAt::kRoots) return (q * root) * (k * root);
  if (factors.at == ScaleAt::kQLane) {
    return RoundTo(q * scale, NumberTypeOf(lane)) * k;
  }
  return in_k ? q * (k * scale) : (q * scale) * k;
}

}  // namespace

void AssumeScale(AttentionKernel* kernel, const std::string& why) {
  // In f32 a bound for a scale in q is one for a scale behind the sum, too.
  if (kernel->lane() == Lane::kF32) {
    kernel->profile.scale_at = ScaleAt::kQF32;
  }
  kernel->Say("scale_at", Word::kAssumed, why);
}

bool TakeScaleOfTies(AttentionKernel* kernel) {
  // Two keys of one score: 3 m times 5, and 5 m times 3. A scale behind the sum
  // leaves it one score; roundings of a factor part the two, by the more, the
  // larger they are.
  const bool f32 = kernel->lane() == Lane::kF32;
  const float large = f32 ? 0x1p6f : 0x1p11f;
  ScoreQuestion question;
  question.scale = kOddScale;
  for (const float m : DrawnNumbers(kRows, 5, 33)) {
    question.q.push_back(Row(3 * m * large, 5 * m * large));
  }
  question.k = Row(5 * large / 2);
  question.beside = Row(0, 3 * large / 2);
  const auto read = kernel->ScoresBy(ReadBy::kWeights, question);
  if (!read.ok()) return false;
  const double noise = kernel->NoiseBy(ReadBy::kWeights, 1);
  const auto all = [&](const auto& wanted) {
    for (size_t i = 0; i < kRows; ++i) {
      const double off = read.value()[i] - wanted(question.q[i]);
      if (!(std::fabs(off) <= noise)) return false;
    }
    return true;
  };
  if (all([](const auto&) { return 0.0; })) {
    if (!f32) return false;  // a factor of the exponent does the same
    kernel->Say("scale_at", Word::kSeen,
                Format("%zu pairs of keys with one product, of other factors, "
                       "had equal weights",
                       kRows));
    return true;
  }
  for (const ScaledFactors& factors : kScaledFactors) {
    if (f32 && factors.at == ScaleAt::kQLane) continue;
    const auto wanted = [&](const std::vector<float>& q) {
      const Lane lane = kernel->lane();
      return double{ScaledProduct(factors, lane, q[0], question.k[0])} -
             double{ScaledProduct(factors, lane, q[1], question.beside[1])};
    };
    if (!all(wanted)) continue;
    kernel->profile.scale_at = factors.at;
    kernel->Say("scale_at", Word::kSeen,
                Format("%zu pairs of keys with one product, of other factors, "
                       "had the weights of a scale that is multiplied into %s",
                       kRows, factors.text));
    return true;
  }
  return false;
}

}  // namespace lockstep::verify
