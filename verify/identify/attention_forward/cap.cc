// The softcap: how good tanh is, and how the cap divides.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/functions.h"
#include "verify/identify/models.h"

namespace lockstep::verify {
namespace {

constexpr size_t kPoints = 384;
constexpr size_t kStride = 131;  // has no factor in common with it
constexpr double kWarnTanh = 0x1p-12;
constexpr float kFar = 2048;           // beyond the cap
constexpr double kCoarsest = 0x1p-12;  // of a score that shows a tanh

// Scores that 8 bits hold, both signs: x = s / cap from 0.02 to 5.
ScoreQuestion Sweep(double cap) {
  const auto factor = static_cast<float>(cap / kTanhCap);
  ScoreQuestion question;
  question.cap = cap;
  question.k = {1, 0, 0, 0, 0, 0, 0, 0};
  const std::vector<float> drawn = DrawnNumbers(kPoints, 8, 51);
  for (size_t i = 0; i < kPoints; ++i) {
    const float size =
        factor * std::ldexp(drawn[i], static_cast<int>(i / 2 % 8));
    question.q.push_back({i % 2 == 0 ? size : -size, 0, 0, 0, 0, 0, 0, 0});
  }
  // 0, and far beyond the cap.
  for (const float x : {0.0f, kFar, -kFar}) {
    question.q.push_back({factor * x, 0, 0, 0, 0, 0, 0, 0});
  }
  return question;
}

// What is wrong at 0 and far out, where a tanh is exact; empty: nothing.
std::string WrongAtEnds(const AttentionKernel& kernel,
                        const std::vector<double>& read) {
  const double cap = kernel.TanhCap();
  const double wanted[] = {0, cap, -cap};
  for (size_t i = 0; i < 3; ++i) {
    const double got = read[kPoints + i];
    if (std::fabs(got - wanted[i]) <= 2 * kernel.Noise(wanted[i])) continue;
    const double far = double{kFar} * cap / kTanhCap;
    return Format("with a cap of %g the score %g became %.9g, not %g", cap,
                  i == 0 ? 0.0 : std::copysign(far, wanted[i]), got, wanted[i]);
  }
  return "";
}

}  // namespace

namespace {

std::vector<ErrorPoint> PointsOf(const AttentionKernel& kernel,
                                 const ScoreQuestion& question,
                                 const std::vector<double>& read) {
  std::vector<ErrorPoint> points;
  for (size_t i = 0; i < kPoints; ++i) {
    const double x = double{question.q[i][0]} / *question.cap;
    const double wanted = *question.cap * TanhDouble(x);
    points.push_back({std::fabs(x), read[i] / wanted - 1,
                      kernel.Noise(wanted) / std::fabs(wanted)});
  }
  return points;
}

bool WithinNoise(const std::vector<ErrorPoint>& points) {
  return std::all_of(points.begin(), points.end(), [](const auto& point) {
    return std::fabs(point.error) <= point.noise;
  });
}

// Whether the same scores come again where the rows stand in another order.
bool ComesAgain(AttentionKernel* kernel, const ScoreQuestion& question,
                const std::vector<ErrorPoint>& points) {
  ScoreQuestion turned = question;
  for (size_t i = 0; i < kPoints; ++i) {
    turned.q[(i * kStride + 7) % kPoints] = question.q[i];
  }
  const auto read = kernel->Scores(turned);
  if (!read.ok()) return false;
  std::vector<double> back(kPoints);
  for (size_t i = 0; i < kPoints; ++i) {
    back[i] = read.value()[(i * kStride + 7) % kPoints];
  }
  return SameAnswers(points, PointsOf(*kernel, question, back));
}

}  // namespace

void AskTanh(AttentionKernel* kernel) {
  if (kernel->ReadsHalves()) {
    kernel->Say("tanh_rel", Word::kAssumed,
                "f16 has no weights of scores that lie far apart");
    return;
  }
  const double cap = kernel->TanhCap();
  const ScoreQuestion question = Sweep(cap);
  const auto read = kernel->Scores(question);
  if (!kernel->Answered("tanh_rel", read)) return;
  const std::string wrong = WrongAtEnds(*kernel, read.value());
  if (!wrong.empty()) {
    kernel->Say("tanh_rel", Word::kCannotTell, wrong);
    return;
  }
  const auto points = PointsOf(*kernel, question, read.value());
  const double noise = kernel->Noise(1) * kTanhCap / cap;
  if (noise > kCoarsest && WithinNoise(points)) {
    kernel->Say("tanh_rel", Word::kAssumed,
                "scores are read too coarsely to show tanh");
    return;
  }
  constexpr double kFactors[] = {1};
  if (ReportRoundedArgument(kernel, "tanh_rel", points, &TanhDouble,
                            kFactors)) {
    return;
  }
  const std::array<double, 7> legal = {kernel->profile.tanh_rel,
                                       0x1.76p-17,
                                       0x1p-16,
                                       0x1p-13,
                                       0x1p-11,
                                       0x1p-10,
                                       0x1p-9};
  const auto fit = LearnError(kernel, "tanh_rel", "score", points, legal, [&] {
    return ComesAgain(kernel, question, points);
  });
  if (!fit) return;
  kernel->profile.tanh_rel = fit->value;
  kernel->Say("tanh_rel", Word::kSeen,
              Format("%zu scores under a cap of %g: the largest error was "
                     "%.3g, and 0 and the cap were exact",
                     kPoints, cap, fit->largest));
  if (fit->value > kWarnTanh) {
    kernel->Warn(
        Format("tanh is good to %.2g only: every capped score may be "
               "off by so much of itself",
               fit->value));
  }
}

namespace {

constexpr double kOddCap = 27.3;

struct DivisionWay {
  CapDivision division;
  const char* text;
};
constexpr DivisionWay kDivisions[] = {
    {CapDivision::kDivide, "divides by the cap"},
    {CapDivision::kReciprocal, "multiplies with 1 / cap"},
    {CapDivision::kFolded, "multiplies with scale / cap"},
};

// The lse of one key whose score is so small that its tanh is itself.
float LseUnderCap(const NumericProfile& profile, const LseForm& form,
                  CapDivision division, float q, float k) {
  const auto cap = static_cast<float>(kOddCap);
  const auto scale = static_cast<float>(kOddScale);
  const bool in_q =
      profile.scale_at == ScaleAt::kQF32 || profile.scale_at == ScaleAt::kQLane;
  float dot = q * k;
  if (in_q) {
    const float scaled = q * scale;
    dot = (profile.scale_at == ScaleAt::kQLane
               ? RoundTo(scaled, NumberTypeOf(*profile.lane))
               : scaled) *
          k;
  }
  float x = in_q ? dot : dot * scale;
  if (division == CapDivision::kDivide) x /= cap;
  if (division == CapDivision::kReciprocal) {
    x *= static_cast<float>(1 / kOddCap);
  }
  if (division == CapDivision::kFolded) {
    x = dot * static_cast<float>((in_q ? 1 : kOddScale) / kOddCap);
  }
  const auto t = static_cast<float>(TanhDouble(double{x}));
  const bool folded =
      form.shift == Shift::kFma && profile.scale_at == ScaleAt::kExponent;
  return folded ? LseOfOne(form, t, kOddCap) : LseOfOne(form, t * cap, 1);
}

}  // namespace

void AskCapDivision(AttentionKernel* kernel) {
  constexpr size_t kRows = 64;
  ScoreQuestion question;
  question.cap = kOddCap;
  question.scale = kOddScale;
  const std::vector<float> q = DrawnNumbers(kRows, 8, 61);
  question.k = {0x1.cp-9f, 0, 0, 0, 0, 0, 0, 0};
  for (const float x : q) question.q.push_back({x, 0, 0, 0, 0, 0, 0, 0});
  const auto read = kernel->Scores(question);
  if (!read.ok() || !kernel->form) {
    kernel->Say("cap_div", Word::kAssumed, "no bits of a score can be read");
    return;
  }
  for (const DivisionWay& way : kDivisions) {
    bool all = true;
    for (size_t i = 0; i < kRows && all; ++i) {
      all = double{LseUnderCap(kernel->profile, *kernel->form, way.division,
                               q[i], question.k[0])} == read.value()[i];
    }
    if (!all) continue;
    kernel->profile.cap_div = way.division;
    kernel->Say("cap_div", Word::kSeen,
                Format("%zu scores far below a cap of %g had the bits of a "
                       "kernel that %s",
                       kRows, kOddCap, way.text));
    return;
  }
  kernel->Say("cap_div", Word::kAssumed,
              "bits of small scores under a cap do not show the division");
}

}  // namespace lockstep::verify
