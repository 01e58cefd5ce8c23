// What the gradients have of a forward pass: whose o and lse, what D is a sum
// over, and how an exponent is formed.
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/attention_backward/kernel.h"

namespace lockstep::verify {

void AskDelta(GradKernel* kernel) {
  if (!kernel->own()) return;
  if (kernel->lane() == Lane::kF32) {
    kernel->Say("grad.delta_from", Word::kAssumed,
                "o in f32 does not show what D is a sum over");
    return;
  }
  // Four keys have one score. o is 1 and a quarter of a last place, which the
  // lane rounds to 1. dS is a quarter of that place, or three quarters of it.
  const double place = 2 * LaneRowOf(kernel->lane()).roundoff;
  GradQuestion question;
  question.forward.q = {{1, 0, 0, 0, 0, 0, 0, 0}};
  question.forward.k = Rows(4, std::vector<float>(8, 0.0f));
  question.forward.v = {{static_cast<float>(1 + place)}, {1}, {1}, {1}};
  question.forward.k[0][1] = 1;
  question.d_o = {{1}};
  const auto answer = kernel->AskGrad(question);
  if (!kernel->Answered("grad.delta_from", answer)) return;
  const double ds = double{answer->dk[0][0]};
  const auto is = [&](double wanted) {
    return std::fabs(ds - wanted) < wanted * 0x1p-5;
  };
  const bool of_o = is(place / 4), of_weights = is(place * 3 / 16);
  if (of_o || of_weights) {
    kernel->profile.grad->delta_from =
        of_o ? DeltaFrom::kO : DeltaFrom::kWeights;
  }
  kernel->Say("grad.delta_from",
              of_o || of_weights ? Word::kSeen : Word::kCannotTell,
              Format("beside an o between two numbers of %s dS was %g: %s",
                     LaneName(kernel->lane()), ds,
                     of_o         ? "D is a sum over the rounded o"
                     : of_weights ? "D is a sum over weights"
                                  : "that of neither o nor weights"));
}

namespace {

// Exponents as kernels form them, of scores that are near the lse.
struct ExponentForm {
  ScaleAt at;
  ExpBase base;
  Shift shift;
  const char* text;
};
constexpr ExponentForm kForms[] = {
    {ScaleAt::kLogits, ExpBase::kE, Shift::kSubtract,
     "after the sum, with a natural exponent"},
    {ScaleAt::kQF32, ExpBase::kE, Shift::kSubtract,
     "into q in f32, with a natural exponent"},
    {ScaleAt::kLogits, ExpBase::kTwo, Shift::kSubtract,
     "after the sum, with a base-2 exponent"},
    {ScaleAt::kQF32, ExpBase::kTwo, Shift::kSubtract,
     "into q in f32, with a base-2 exponent"},
    {ScaleAt::kExponent, ExpBase::kTwo, Shift::kSubtract,
     "in the factor of a base-2 exponent"},
    {ScaleAt::kLogits, ExpBase::kTwo, Shift::kFma,
     "after the sum, with a fused base-2 exponent"},
    {ScaleAt::kQF32, ExpBase::kTwo, Shift::kFma,
     "into q in f32, with a fused base-2 exponent"},
    {ScaleAt::kExponent, ExpBase::kTwo, Shift::kFma,
     "in the factor of a fused base-2 exponent"},
};

// The natural exponent of a weight, in double.
double ExponentBy(const ExponentForm& form, float q, float k, float lse) {
  const auto scale = static_cast<float>(kOddScale);
  const auto log2e = static_cast<float>(kLog2E);
  constexpr double kLn2 = 0x1.62e42fefa39efp-1;
  const float dot = q * k;
  const float s = form.at == ScaleAt::kQF32 ? (q * scale) * k : dot * scale;
  if (form.base == ExpBase::kE) return double{s - lse};
  const bool folded = form.at == ScaleAt::kExponent;
  const float x = folded ? dot : s;
  const auto factor = folded ? static_cast<float>(kOddScale * kLog2E) : log2e;
  const float shift = lse * log2e;
  const float e = form.shift == Shift::kFma ? std::fma(x, factor, -shift)
                                            : x * factor - shift;
  return double{e} * kLn2;
}

struct ExponentRow {
  float q = 0, k = 0, lse = 0;
  double answer = 0;  // natural
};

// dv of queries whose given lse is near their score.
Result<std::vector<ExponentRow>> ExponentRows(GradKernel* kernel) {
  const auto q = DrawnNumbers(kGradWide, 8, 191);
  const auto k = DrawnNumbers(kGradWide, 8, 192);
  GradQuestion question;
  question.forward.k = {k};
  question.forward.v = {std::vector<float>(kGradWide, 1.0f)};
  question.forward.scale = kOddScale;
  question.d_o = Diagonal(std::vector<float>(kGradWide, 1.0f));
  std::vector<float> large = q;
  for (float& x : large) x *= 256;
  question.forward.q = Diagonal(large);
  for (size_t i = 0; i < kGradWide; ++i) {
    const double s = double{large[i]} * double{k[i]} * kOddScale;
    question.lse.push_back(static_cast<float>(s));
  }
  ASSIGN_OR_RETURN(const auto answer, kernel->AskGrad(question));
  std::vector<ExponentRow> rows;
  for (size_t i = 0; i < kGradWide; ++i) {
    rows.push_back(
        {large[i], k[i], question.lse[i], LogDouble(double{answer.dv[0][i]})});
  }
  return rows;
}

bool Explains(const ExponentForm& form, const std::vector<ExponentRow>& rows) {
  for (const ExponentRow& row : rows) {
    const double wanted = ExponentBy(form, row.q, row.k, row.lse);
    if (!(std::fabs(row.answer - wanted) <= 0x1p-21)) return false;
  }
  return true;
}

}  // namespace

void AskExponent(GradKernel* kernel) {
  // Weights in bf16 do not show the last bits of a score.
  if (kernel->own() || !kernel->FineWeights() ||
      kernel->lane() == Lane::kBf16 ||
      kernel->profile.grad->p != NumberType::kF32) {
    return;
  }
  const auto rows = ExponentRows(kernel);
  if (!kernel->Answered("scale_at", rows)) return;
  const ExponentForm* seen = nullptr;
  for (const ExponentForm& form : kForms) {
    if (seen == nullptr && Explains(form, rows.value())) seen = &form;
  }
  if (seen == nullptr) {
    bool near = true;
    for (const ExponentRow& row : rows.value()) {
      near = near && std::fabs(row.answer) <= 0x1p-12;
    }
    kernel->Say("scale_at", near ? Word::kAssumed : Word::kCannotTell,
                Format("with a scale of %g and its score for lse, P was e^%.3g",
                       kOddScale, rows->front().answer));
    return;
  }
  NumericProfile& p = kernel->profile;
  p.scale_at = seen->at;
  p.exp_base = seen->base;
  p.shift = seen->shift;
  const std::string came = Format(
      "%zu P with a scale of %g and an lse near the score were those of "
      "a scale %s",
      rows->size(), kOddScale, seen->text);
  kernel->Say("scale_at", Word::kSeen, came);
  kernel->Say("exp_base", Word::kSeen, came);
  kernel->Say("shift", Word::kSeen, came);
}

}  // namespace lockstep::verify
