// Sums over channels and keys, and what values are on their way: operands of V,
// the division, subnormal numbers.
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/models.h"

namespace lockstep::verify {
namespace {

constexpr size_t kKeys = 64;     // a power of two: o is the sum, shifted
constexpr size_t kUsed = 32;     // terms that are not 0
constexpr size_t kColumns = 64;  // of v: each has a sum of its own

// Equal scores of n keys, which see these values.
AttentionQuestion Equal(const Rows& v) {
  AttentionQuestion question;
  question.q = {std::vector<float>(8, 0.0f)};
  question.k.assign(v.size(), std::vector<float>(8, 1.0f));
  question.v = v;
  return question;
}

}  // namespace

void AskSumsQk(AttentionKernel* kernel) {
  const double gain = kernel->ScoreGain();
  ScoreQuestion question;
  question.q = LosingSums(kKeys, kKeys, kUsed, 41);
  question.k.assign(kKeys, 1.0f);
  question.scale = gain;
  auto read = kernel->Scores(question);
  if (!kernel->Answered("acc_qk", read)) return;
  if (kernel->Noise(0) / gain > 0x1p-16) {
    kernel->Say("acc_qk", Word::kAssumed,
                "scores are read too coarsely to show lost bits");
    return;
  }
  for (double& x : read.value()) x /= gain;
  const SumFit fit =
      FitSums(question.q, read.value(), [&](size_t i, double sum) {
        return std::fabs(read.value()[i] - sum) <= kernel->Noise(sum) / gain;
      });
  const bool adopt = fit.nearest || (fit.model != nullptr && fit.model->adopt);
  if (adopt)
    kernel->profile.acc_qk = fit.nearest ? Accumulator{} : fit.model->acc;
  const Word word = adopt                  ? Word::kSeen
                    : fit.model != nullptr ? Word::kReported
                                           : Word::kCannotTell;
  kernel->Say("acc_qk", word, fit.evidence,
              word == Word::kReported
                  ? std::string("acc_qk = ") + fit.model->text
                  : "");
}

void AskOperandsV(AttentionKernel* kernel) {
  std::vector<float> v =
      DrawnNumbers(kColumns, LaneRowOf(kernel->lane()).digits, 91);
  // Every other one so small that f16 lacks bits, where the lane has them.
  for (size_t i = 1; i < kColumns && kernel->lane() != Lane::kF16; i += 2) {
    v[i] *= 0x1p-18f;
  }
  const auto answer = kernel->Ask(Equal({v}));
  if (!kernel->Answered("operand_v", answer)) return;
  for (const RoundingModel& model : RoundingModels()) {
    bool all = true;
    for (size_t i = 0; i < v.size() && all; ++i) {
      const double wanted = RoundedBy(model, v[i]);
      all =
          std::fabs(double{answer->o[0][i]} - wanted) <= 0x1p-21 * double{v[i]};
    }
    if (!all) continue;
    const std::string came =
        Format("o of a single key was its v as %s", model.text);
    NumericProfile& p = kernel->profile;
    const bool f32 = model.type == NumberType::kF32;
    // A unit that takes f32 tensors in a narrower type takes both products so;
    // an o that is rounded is no operand.
    const bool tf32 = model.type == NumberType::kTf32;
    const bool alike =
        p.operand_qk == model.type && p.operand_round == model.how;
    if (!model.adopt ||
        (!f32 && !alike && !(tf32 && p.operand_qk == NumberType::kF32))) {
      kernel->Say("operand_v", Word::kReported, came,
                  std::string("operand_v = ") + model.name);
      return;
    }
    p.operand_v = model.type;
    if (!f32) p.operand_round = model.how;
    kernel->Say("operand_v", Word::kSeen, came);
    return;
  }
  kernel->Say("operand_v", Word::kCannotTell,
              Format("o of a single key with v = %.9g was %.9g", double{v[0]},
                     double{answer->o[0][0]}));
}

namespace {

// What o of these values says of the sums over keys.
Result<SumFit> FitValues(AttentionKernel* kernel, const Rows& lists) {
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(Equal(Transposed(lists))));
  std::vector<double> sums;
  for (size_t i = 0; i < lists.size(); ++i) {
    sums.push_back(double{answer.o[0][i]} * double{kKeys});
  }
  return FitSums(lists, sums, [&](size_t i, double sum) {
    const double noise = kernel->OutputNoise(sum / double{kKeys});
    return std::fabs(sums[i] - sum) <= noise * double{kKeys};
  });
}

}  // namespace

void AskSumsPv(AttentionKernel* kernel) {
  if (!kernel->unit_weights()) {
    kernel->Say("acc_pv", Word::kAssumed, "weights of equal scores are not 1");
    return;
  }
  Result<SumFit> fit =
      FitValues(kernel, LosingSums(kColumns, kKeys, kUsed, 101));
  // An o that is divided after every tile rounds between tiles. Within the
  // first four keys there is none.
  if (fit.ok() && !fit->nearest && fit->model == nullptr) {
    const auto few = FitValues(kernel, LosingSums(kColumns, kKeys, 4, 102));
    if (few.ok() && few->nearest) {
      fit = few;
      fit->evidence += ", within the first four keys";
    }
  }
  if (!kernel->Answered("acc_pv", fit)) return;
  const SumModel* model = fit->model;
  const bool adopt = fit->nearest || (model != nullptr && model->adopt);
  if (adopt) {
    kernel->profile.acc_pv = fit->nearest ? Accumulator{} : model->acc;
  }
  const Word word = adopt              ? Word::kSeen
                    : model != nullptr ? Word::kReported
                                       : Word::kCannotTell;
  kernel->Say(
      "acc_pv", word, fit->evidence,
      word == Word::kReported ? std::string("acc_pv = ") + model->text : "");
}

namespace {

// Where o is what weights of a third, rounded, make of two values.
bool DividedBefore(const std::vector<float>& first,
                   const std::vector<float>& second,
                   const std::vector<float>& o) {
  const float third = 1.0f / 3.0f;
  bool fused = true, other = true, apart = true;
  for (size_t i = 0; i < o.size(); ++i) {
    const float a = first[i], b = second[i];
    fused = fused && o[i] == std::fma(third, b, third * a);
    other = other && o[i] == std::fma(third, a, third * b);
    const float x = third * a, y = third * b;
    apart = apart && o[i] == x + y;
  }
  return fused || other || apart;
}

// Takes over an f32 division of the weights before V, if o shows it.
bool TakeBefore(AttentionKernel* kernel) {
  Rows v(3, std::vector<float>(kColumns, 0.0f));
  v[1] = DrawnNumbers(kColumns, 8, 121);
  for (size_t i = 0; i < kColumns; ++i) v[2][i] = -(v[1][i] + 0x1p-7f);
  const auto answer = kernel->Ask(Equal(v));
  if (!answer.ok() || !DividedBefore(v[1], v[2], answer->o[0])) return false;
  NumericProfile& p = kernel->profile;
  p.normalise = Normalise::kBefore;
  p.max = {MaxPolicy::Kind::kTwoPass, 0};
  p.splits = 1;
  kernel->Say("normalise", Word::kSeen,
              Format("%zu differences of two values had the bits of weights "
                     "of 1 / 3, rounded before",
                     kColumns));
  return true;
}

}  // namespace

// Vectors of keys may have another exp than a single key, and ratios of weights
// do not show what all of them have in common. It is never learned.
void AskEqualKeys(AttentionKernel* kernel) {
  const FieldEvidence* lse = kernel->found.Find("lse");
  if (kernel->lse_bf16 || kernel->profile.lse != LseLane::kF32 ||
      (lse != nullptr && lse->word == Word::kCannotTell)) {
    return;
  }
  const auto answer =
      kernel->Ask(Equal(Rows(kKeys, std::vector<float>(8, 0.0f))));
  if (!answer.ok() || answer->lse.empty()) return;
  const double natural = double{answer->lse[0]} / kernel->lse_unit;
  const double off = natural - kernel->lse_offset - LogDouble(kKeys);
  constexpr double kRoundings = 0x1p-18, kMost = 0x1p-10;
  if (std::fabs(off) <= kRoundings) return;
  const bool legal = std::fabs(off) <= kMost;
  kernel->Say("exp_zero", legal ? Word::kReported : Word::kCannotTell,
              Format("the lse of %zu equal keys was off by %.3g: exp(0) of "
                     "several keys is not 1",
                     kKeys, off),
              legal ? Format("exp_zero = weights, exp_rel = %a",
                             std::ldexp(1.0, std::ilogb(off) + 1))
                    : "");
}

void AskDivision(AttentionKernel* kernel) {
  // Outputs of 16 bits show no last place.
  if (kernel->lane() != Lane::kF32 || !kernel->unit_weights()) return;
  const bool plain = kernel->profile.p == NumberType::kF32;
  if (kernel->profile.normalise == Normalise::kBefore) return;
  if (plain && TakeBefore(kernel)) return;
  Rows v(3, std::vector<float>(kColumns, 0.0f));
  v[1] = DrawnNumbers(kColumns, 8, 111);
  const auto answer = kernel->Ask(Equal(v));
  if (!answer.ok()) return;
  for (const Division way : {Division::kDivide, Division::kReciprocal}) {
    bool all = true;
    for (size_t i = 0; i < kColumns && all; ++i) {
      const float wanted =
          way == Division::kDivide ? v[1][i] / 3.0f : v[1][i] * (1.0f / 3.0f);
      all = answer->o[0][i] == wanted;
    }
    if (!all) continue;
    kernel->profile.division = way;
    kernel->Say(
        "division", Word::kSeen,
        Format(
            "%zu values of one key of three had the bits of a %s", kColumns,
            way == Division::kDivide ? "division by 3" : "product with 1 / 3"));
    return;
  }
  kernel->Say("division", Word::kAssumed,
              "bits of a third of a value do not show it");
}

void AskSubnormals(AttentionKernel* kernel) {
  // f16 has no numbers so small, flushed or not.
  if (kernel->profile.operand_v == NumberType::kF16) return;
  if (kernel->lane() == Lane::kF16) return;
  std::vector<float> v(kColumns, 0.0f);
  for (size_t i = 0; i < kColumns; ++i) {
    v[i] = std::ldexp(1.0f + static_cast<float>(i % 2) * 0.5f,
                      -127 - static_cast<int>(i % 5));
  }
  v[0] = 1;  // what a kernel that lost the key would flush, too
  const auto answer = kernel->Ask(Equal({v}));
  if (!kernel->Answered("ftz", answer)) return;
  const bool whole = answer->o[0][0] == 1;
  bool kept = whole, flushed = whole;
  for (size_t i = 1; i < kColumns; ++i) {
    kept = kept && std::fabs(answer->o[0][i] - v[i]) <= v[i] * 0x1p-4f;
    flushed = flushed && answer->o[0][i] == 0.0f;
  }
  if (!kept && !flushed) {
    kernel->Say(
        "ftz", Word::kCannotTell,
        Format("o of a single key with v = 1 and %g was %g and %g",
               double{v[1]}, double{answer->o[0][0]}, double{answer->o[0][1]}));
    return;
  }
  kernel->profile.ftz = flushed;
  kernel->Say("ftz", Word::kSeen,
              flushed ? "o of a single key with subnormal v was 0"
                      : "o of a single key with subnormal v was v");
}

}  // namespace lockstep::verify
