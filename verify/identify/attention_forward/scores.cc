// What a score is made of: lse, the type it is rounded to, operands, the place
// of the scale.
#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/attention_forward/weights_e4m3.h"
#include "verify/identify/models.h"

namespace lockstep::verify {
namespace {

constexpr size_t kChannels = 64;
// A weight of the largest score that is further from 1 is no exp(0).
constexpr double kMostOffset = 0x1p-9;

std::vector<float> OneHot(size_t channel, float x) {
  std::vector<float> row(kChannels, 0.0f);
  row[channel] = x;
  return row;
}

// Row i asks for the product of q[i] and k[i].
ScoreQuestion Products(const std::vector<float>& q,
                       const std::vector<float>& k) {
  ScoreQuestion question;
  question.k.assign(kChannels, 0.0f);
  for (size_t i = 0; i < q.size(); ++i) {
    question.q.push_back(OneHot(i, q[i]));
    question.k[i] = k[i];
  }
  return question;
}

// Whether every answer is a number of so many bits.
bool AllOfBits(const std::vector<double>& answers, int bits) {
  for (const double x : answers) {
    const auto narrow = static_cast<float>(x);
    if (!std::isfinite(narrow) || RoundToBits(narrow, bits) != narrow) {
      return false;
    }
  }
  return true;
}

// The largest of |read - wanted| in units of the noise.
double Worst(const AttentionKernel& kernel, const std::vector<double>& read,
             const std::vector<double>& wanted) {
  double worst = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    const double off = std::fabs(read[i] - wanted[i]) / kernel.Noise(wanted[i]);
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

// Scores of one key, of 16 bits, from 1 to 8, or with `wide` to 60.
ScoreQuestion PlainScores(bool wide, std::vector<double>* wanted) {
  ScoreQuestion question =
      Products(DrawnNumbers(kChannels, 8, 11), DrawnNumbers(kChannels, 8, 12));
  for (size_t i = 0; i < kChannels; ++i) {
    const float factor =
        std::ldexp(1.0f, static_cast<int>(i % 2 + (wide ? 2 : 0)));
    question.q[i][i] *= factor;
    wanted->push_back(double{question.q[i][i]} * double{question.k[i]});
  }
  return question;
}

// What all answers are more than wanted, if it is that of a weight near 1; else
// 0.
double CommonOffset(const AttentionKernel& kernel,
                    const std::vector<double>& read,
                    const std::vector<double>& wanted) {
  double offset = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    offset += (read[i] - wanted[i]) / static_cast<double>(read.size());
  }
  for (size_t i = 0; i < read.size(); ++i) {
    if (!(std::fabs(read[i] - wanted[i] - offset) <= kernel.Noise(wanted[i])))
      return 0;
  }
  return std::fabs(offset) < kMostOffset ? offset : 0;
}

void SayUnit(AttentionKernel* kernel, double unit) {
  if (unit != 1) {
    kernel->Say("lse_base", Word::kReported,
                "lse of one key was log2(e) times its score", "lse_base = 2");
  } else {
    kernel->Say("lse_base", Word::kSeen, "lse of one key was its score");
  }
}

}  // namespace

void AskLse(AttentionKernel* kernel) {
  std::vector<double> wanted;
  const ScoreQuestion question = PlainScores(false, &wanted);
  kernel->reading = ReadBy::kLse;
  const auto read = kernel->Scores(question);
  if (!read.ok()) {
    kernel->reading = ReadBy::kWeights;
    kernel->profile.lse = LseLane::kNone;
    kernel->Say("lse", Word::kSeen, "the kernel says that it has no lse");
    return;
  }
  kernel->lse_bf16 = AllOfBits(read.value(), 8);
  for (const double unit : {1.0, kLog2E}) {
    kernel->lse_unit = unit;
    std::vector<double> natural;
    for (const double x : read.value()) natural.push_back(x / unit);
    if (Worst(*kernel, natural, wanted) <= 1) return SayUnit(kernel, unit);
    kernel->lse_offset = CommonOffset(*kernel, natural, wanted);
    if (kernel->lse_offset == 0) continue;
    SayUnit(kernel, unit);
    const double rel =
        std::ldexp(1.0, std::ilogb(std::fabs(kernel->lse_offset)) + 1);
    kernel->Say("exp_zero", Word::kReported,
                Format("the weight of a single key was %.9g, not 1",
                       ExpDouble(kernel->lse_offset)),
                Format("exp_zero = weights, exp_rel = %a", rel));
    return;
  }
  kernel->lse_unit = 1;
  kernel->lse_bf16 = false;
  kernel->reading = ReadBy::kWeights;
  kernel->Say("lse", Word::kCannotTell,
              Format("lse of the only key, of score %g, was %g", wanted[0],
                     read.value()[0]));
}

namespace {

// The largest distance of weights from those of the wanted scores.
double Apart(const std::vector<double>& read,
             const std::vector<double>& wanted) {
  double apart = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    const double off = std::fabs(read[i] - wanted[i]);
    if (!(off <= apart)) apart = off;
  }
  return apart;
}

// Of the scores of two keys, each rounded to the type.
std::vector<double> Differences(const std::vector<double>& scores,
                                const std::vector<double>& beside,
                                NumberType type) {
  std::vector<double> differences;
  for (size_t i = 0; i < scores.size(); ++i) {
    differences.push_back(double{RoundTo(static_cast<float>(scores[i]), type)} -
                          double{RoundTo(static_cast<float>(beside[i]), type)});
  }
  return differences;
}

// Sets a key beside the question's whose scores are 1/16 less, to 8 bits, and
// returns them.
std::vector<double> AddNearKey(ScoreQuestion* question) {
  std::vector<double> scores;
  for (size_t i = 0; i < kChannels; ++i) {
    const float near = RoundToBits(question->k[i] * 0.9375f, 8);
    question->beside.push_back(near);
    scores.push_back(double{question->q[i][i]} * double{near});
  }
  return scores;
}

// Reports a type that scores are rounded to, if the weights are those of one.
bool ReportScoreType(AttentionKernel* kernel,
                     const std::function<double(NumberType)>& apart,
                     double noise) {
  for (const auto& [type, name] : {std::pair{NumberType::kF16, "f16"},
                                   std::pair{NumberType::kBf16, "bf16"}}) {
    if (!(apart(type) <= noise)) continue;
    kernel->Say("score", Word::kReported,
                std::string("weights of two keys were those of scores rounded "
                            "to ") +
                    name,
                std::string("score = ") + name);
    return true;
  }
  return false;
}

// What weights of bf16 or tf32 may be off by.
constexpr double kRoundedWeights = 0x1p-7;

}  // namespace

void AskScoreType(AttentionKernel* kernel) {
  const bool bf16 = kernel->lane() == Lane::kBf16;
  const bool f16 = kernel->lane() == Lane::kF16;
  // Weights of 16 bits show the rounding of large scores only.
  const bool wide = f16 || kernel->lse_bf16 || (bf16 && !kernel->ReadsBits());
  std::vector<double> wanted;
  ScoreQuestion question = PlainScores(wide, &wanted);
  std::vector<double> beside(kChannels, 0.0);
  // f16 has no weights of scores that lie far apart.
  if (f16) beside = AddNearKey(&question);
  const auto weights = kernel->ScoresBy(ReadBy::kWeights, question);
  if (!weights.ok()) {
    kernel->score_read = kernel->reading == ReadBy::kLse;
    kernel->Say("score", Word::kAssumed, weights.message());
    return;
  }
  const auto apart_by = [&](NumberType type) {
    return Apart(weights.value(), Differences(wanted, beside, type));
  };
  const double apart = apart_by(NumberType::kF32);
  const double noise = kernel->NoiseBy(ReadBy::kWeights, 8);
  // An lse of all bits has shown them; weights have to be of the same scores.
  const double most =
      kernel->ReadsBits() ? std::max(noise, kRoundedWeights) : noise;
  if (apart <= most) {
    if (kernel->lse_bf16) {
      kernel->profile.lse = LseLane::kBf16;
      kernel->Say("lse", Word::kSeen,
                  "every lse was its score rounded to bf16, and weights were "
                  "those of the score itself");
    }
    kernel->Say(
        "score", Word::kSeen,
        "scores of 16 bits arrived, and two weights were those of them");
    return;
  }
  if (ReportScoreType(kernel, apart_by, noise)) {
    kernel->score_read = false;
    return;
  }
  if (apart <= kRoundedWeights && kernel->reading == ReadBy::kWeights) {
    kernel->weight_noise = kRoundedWeights;
    kernel->Say("score", Word::kAssumed,
                "weights are rounded too coarsely to show scores");
    return;
  }
  if (FindE4m3Weights(kernel)) {
    kernel->score_read = kernel->ReadsBits();
    kernel->Say("score", Word::kAssumed, "weights in e4m3 hide scores");
    return;
  }
  kernel->score_read = false;
  kernel->Say(
      "score", Word::kCannotTell,
      Format("weights of two keys were those of scores up to %.3g off", apart));
}

void AskOperandsQk(AttentionKernel* kernel) {
  if (kernel->lane() == Lane::kBf16) return;
  if (kernel->ReadsHalves()) {
    kernel->Say("operand_qk", Word::kAssumed,
                "weights are rounded too coarsely to show elements");
    return;
  }
  const int bits = LaneRowOf(kernel->lane()).digits;
  const std::vector<float> drawn = DrawnNumbers(kChannels, bits, 21);
  // By turns in q and k, large and, of f32, so small that f16 lacks bits.
  std::vector<float> q(kChannels), k(kChannels);
  for (size_t i = 0; i < kChannels; ++i) {
    const bool small = i % 4 >= 2 && kernel->lane() == Lane::kF32;
    (i % 2 == 0 ? q : k)[i] = drawn[i] * (small ? 0x1p-18f : 1.0f);
    (i % 2 == 0 ? k : q)[i] = small ? 0x1p15f : 1.0f;
  }
  const auto read = kernel->Scores(Products(q, k));
  if (!kernel->Answered("operand_qk", read)) return;
  for (const RoundingModel& model : RoundingModels()) {
    std::vector<double> wanted;
    for (size_t i = 0; i < kChannels; ++i) {
      wanted.push_back(double{RoundedBy(model, q[i])} *
                       double{RoundedBy(model, k[i])});
    }
    if (!(Worst(*kernel, read.value(), wanted) <= 1)) continue;
    // f16 tensors that pass through bf16 are a bug.
    const bool adopt = model.adopt && (kernel->lane() != Lane::kF16 ||
                                       model.type != NumberType::kBf16);
    if (adopt) {
      kernel->profile.operand_qk = model.type;
      if (model.type != NumberType::kF32) {
        kernel->profile.operand_round = model.how;
      }
    }
    kernel->Say("operand_qk", adopt ? Word::kSeen : Word::kReported,
                Format("elements of %d bits in q and k arrived as %s", bits,
                       model.text),
                adopt ? "" : std::string("operand_qk = ") + model.name);
    return;
  }
  kernel->Say("operand_qk", Word::kCannotTell,
              Format("an element of %.9g arrived as %.9g", double{drawn[0]},
                     read.value()[0]));
}

namespace {

struct ScalePlace {
  ScaleAt at;
  const char* text;
};
constexpr ScalePlace kPlaces[] = {
    {ScaleAt::kLogits, "after the sum"},
    {ScaleAt::kQF32, "into q in f32"},
    {ScaleAt::kQLane, "into q in its lane"},
    {ScaleAt::kExponent, "in the factor of the exponent"},
    {ScaleAt::kRoots, "as its root into q and into k"},
};

// The lse of one key whose product f32 holds.
float LseBits(ScaleAt at, Lane lane, const LseForm& form, float q, float k) {
  const auto scale = static_cast<float>(kOddScale);
  const auto root = static_cast<float>(std::sqrt(kOddScale));
  switch (at) {
    case ScaleAt::kRoots:
      return LseOfOne(form, (q * root) * (k * root), 1);
    case ScaleAt::kLogits:
      return LseOfOne(form, (q * k) * scale, 1);
    case ScaleAt::kQF32:
      return LseOfOne(form, (q * scale) * k, 1);
    case ScaleAt::kQLane:
      return LseOfOne(form, RoundTo(q * scale, NumberTypeOf(lane)) * k, 1);
    case ScaleAt::kExponent:
      break;
  }
  return LseOfOne(form, q * k, kOddScale);
}

// Takes over the place and form whose bits the answers have. Returns whether
// there is one.
bool TakeScale(AttentionKernel* kernel, const ScoreQuestion& question,
               const std::vector<double>& read) {
  for (const LseForm& form : LseForms()) {
    for (const ScalePlace& place : kPlaces) {
      const bool f32 = kernel->lane() == Lane::kF32;
      if (place.at == ScaleAt::kQLane && f32) continue;
      // A natural exponent has no factor.
      if (place.at == ScaleAt::kExponent && form.base == ExpBase::kE) continue;
      bool all = true;
      for (size_t i = 0; i < kChannels && all; ++i) {
        all = double{LseBits(place.at, kernel->lane(), form, question.q[i][i],
                             question.k[i])} == read[i];
      }
      if (!all) continue;
      NumericProfile& p = kernel->profile;
      p.scale_at = place.at;
      p.exp_base = form.base;
      // A difference shows where its product was fused; without a maximum none
      // does, and a natural exponent has no product.
      const bool fused = form.shift == Shift::kFma;
      const bool natural = form.base == ExpBase::kE;
      if (fused || natural) p.shift = form.shift;
      kernel->form = form;
      const std::string came =
          Format("%zu scores with a scale of %g had the bits of a scale %s, %s",
                 kChannels, kOddScale, place.text, form.text);
      kernel->Say("scale_at", Word::kSeen, came);
      kernel->Say("exp_base", Word::kSeen, came);
      if (fused) kernel->Say("shift", Word::kSeen, came);
      return true;
    }
  }
  return false;
}

}  // namespace

void AskScale(AttentionKernel* kernel) {
  ScoreQuestion question =
      Products(DrawnNumbers(kChannels, 8, 31), DrawnNumbers(kChannels, 8, 32));
  question.scale = kOddScale;
  for (size_t i = 0; i < kChannels; ++i) question.q[i][i] *= 16;
  const auto read = kernel->Scores(question);
  if (!read.ok()) return AssumeScale(kernel, read.message());
  if (kernel->ReadsBits() && kernel->lse_unit == 1 &&
      TakeScale(kernel, question, read.value())) {
    return;
  }
  std::vector<double> exact;
  double ratio = 0;
  for (size_t i = 0; i < kChannels; ++i) {
    exact.push_back(double{question.q[i][i]} * double{question.k[i]} *
                    kOddScale);
    ratio += read.value()[i] / exact[i] / double{kChannels};
  }
  if (Worst(*kernel, read.value(), exact) <= 2) {
    if (TakeScaleOfTies(kernel)) return;
    return AssumeScale(kernel,
                       "scores were scale q k to what can be read; their bits "
                       "do not show the place");
  }
  kernel->Say("scale_at", Word::kCannotTell,
              Format("with a scale of %g a score was %.6g times what it says",
                     kOddScale, ratio));
}

}  // namespace lockstep::verify
