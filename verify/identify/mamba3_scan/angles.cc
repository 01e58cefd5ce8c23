// Angles: how good tanh, sin and cos are, what angles and keys are rounded to,
// and where angles are reduced.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/mamba3_scan/turns.h"
#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kAngleHeads = 4;
constexpr int64_t kRounds = 6;
constexpr size_t kPoints = 384;              // heads times angles times rounds
constexpr size_t kStride = 131;              // has no factor in common with it
constexpr double kHardwareTanh = 0x1.1p-11;  // the coarsest of any chip

}  // namespace

void AskPairing(ScanKernel* kernel) {
  ScanQuestion question;
  question.k = FirstCoordinate();
  question.rate = Always(0.25);
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.pairing", answer)) return;
  SayPairing(kernel, answer->k[0]);
}

namespace {

// Angles that are told: exported ones, and what the numbers asked for.
struct Told {
  double x = 0;      // the rate
  double theta = 0;  // exported, in turns
  double cosine = 0, sine = 0;
};
Result<std::vector<Told>> TellAngles(ScanKernel* kernel, size_t turn) {
  const auto drawn = DrawnNumbers(kPoints, 8, 301);
  std::vector<Told> all(kPoints);
  for (int64_t round = 0; round < kRounds; ++round) {
    const auto place = [&](int64_t h, int64_t s) {
      const auto at =
          static_cast<size_t>((round * kAngleHeads + h) * kScanAngles + s);
      return (at * kStride * turn + at * (1 - turn)) % kPoints;
    };
    const auto rate = [&](int64_t h, int64_t, int64_t s) {
      const size_t at = place(h, s);
      return std::ldexp(double{drawn[at]}, static_cast<int>(at % 8) - 6);
    };
    ScanQuestion question;
    question.heads = kAngleHeads;
    question.k = kernel->FirstOfEach();
    question.rate = rate;
    ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
    for (int64_t h = 0; h < kAngleHeads; ++h) {
      const auto& theta = answer.theta[static_cast<size_t>(h)];
      const auto& k = answer.k[static_cast<size_t>(h)];
      for (int64_t s = 0; s < kScanAngles; ++s) {
        all[place(h, s)] = {rate(h, 0, s),
                            double{theta[static_cast<size_t>(s)]},
                            double{k[static_cast<size_t>(kernel->First(s))]},
                            double{k[static_cast<size_t>(kernel->Second(s))]}};
      }
    }
  }
  return all;
}

std::vector<ErrorPoint> TanhPoints(const std::vector<Told>& told) {
  std::vector<ErrorPoint> points;
  for (const Told& one : told) {
    points.push_back({one.x, 2 * one.theta / TanhDouble(one.x) - 1, 0x1p-21});
  }
  return points;
}

}  // namespace

void AskRates(ScanKernel* kernel) {
  const auto told = TellAngles(kernel, 0);
  if (!kernel->Answered("tanh_rel", told)) return;
  std::vector<double> radians;
  for (const Told& one : told.value()) radians.push_back(one.theta * kTwoPi);
  const RoundingModel* grid = GridOf(radians);
  kernel->angles_read = grid->type == NumberType::kF32;
  kernel->exported = grid;
  kernel->TakeType(
      "scan.angle_carry", *grid, &kernel->scan().angle_carry,
      Format("%zu exported angles were numbers of %s", kPoints, grid->name));
  const std::vector<ErrorPoint> points = TanhPoints(told.value());
  if (!kernel->angles_read) {
    const bool near = std::all_of(
        points.begin(), points.end(),
        [](const ErrorPoint& p) { return std::fabs(p.error) <= 0x1p-7; });
    kernel->Say("tanh_rel", near ? Word::kAssumed : Word::kCannotTell,
                near ? "exported angles are rounded too coarsely to show tanh"
                     : "exported angles are not dt tanh / 2 turns");
    return;
  }
  const std::array<double, 4> legal = {kernel->profile.tanh_rel, 0x1.76p-17,
                                       0x1p-13, kHardwareTanh};
  const FunctionFit fit = FitErrors(points, legal);
  const auto again = TellAngles(kernel, 1);
  const bool same =
      again.ok() && SameAnswers(points, TanhPoints(again.value()));
  if (fit.value == 0 || !same) {
    kernel->Say("tanh_rel", Word::kCannotTell,
                fit.value == 0
                    ? fit.why
                    : "the same rate became another angle elsewhere");
    return;
  }
  kernel->profile.tanh_rel = fit.value;
  kernel->Say("tanh_rel", Word::kSeen,
              Format("%zu angles of a single token: the largest error was %.3g",
                     kPoints, fit.largest));
}

namespace {

// Errors of sin and cos of the exported angles, as that type has them.
struct TrigFit {
  double largest = 0;  // absolute
  bool explained = true;
};
TrigFit FitTrig(const std::vector<Told>& told, const RoundingModel& angle,
                double rounding) {
  TrigFit fit;
  for (const Told& one : told) {
    const double turns = TurnsIn(angle, one.theta);
    std::array<double, 2> wanted{};
    TurnsToSinCos(turns, &wanted[1], &wanted[0]);
    const std::array<double, 2> came = {one.cosine, one.sine};
    for (size_t i = 0; i < 2; ++i) {
      const double off = std::fabs(came[i] - wanted[i]);
      const double most = 0x1p-13 + rounding * std::fabs(wanted[i]);
      fit.explained = fit.explained && off <= most;
      fit.largest = std::max(fit.largest, off);
    }
  }
  return fit;
}

// What an angle in f32 may be off by, in a sine.
constexpr double kAngleNoise = 0x1p-21;

}  // namespace

void AskRotation(ScanKernel* kernel) {
  const auto told = TellAngles(kernel, 0);
  if (!told.ok()) return;
  std::vector<double> numbers;
  for (const Told& one : told.value()) {
    numbers.push_back(one.cosine);
    numbers.push_back(one.sine);
  }
  const RoundingModel* grid = GridOf(numbers);
  const bool fine = grid->type == NumberType::kF32;
  const bool f16 = grid->type == NumberType::kF16;
  const double rounding = fine ? 0 : f16 ? 0x1.04p-11 : 0x1.04p-8;
  const RoundingModel* seen = nullptr;
  TrigFit fit;
  for (const RoundingModel& model : RoundingModels()) {
    if (seen != nullptr || model.how == Rounding::kTruncate ||
        model.type == NumberType::kTf32) {
      continue;
    }
    fit = FitTrig(told.value(), model, rounding);
    if (fit.explained) seen = &model;
  }
  if (seen == nullptr) {
    kernel->Say("scan.angle", Word::kCannotTell,
                "k was not turned by the angle that is exported");
    return;
  }
  kernel->angle = seen;
  const std::string came =
      Format("%zu turned coordinates were sin and cos of an angle in %s",
             numbers.size(), seen->name);
  if (kernel->angles_read) {
    kernel->TakeType("scan.angle", *seen, &kernel->scan().angle, came);
  } else if (fine) {
    // Rotations by an angle with more bits than the exported one would differ.
    kernel->TakeType("scan.angle", *kernel->exported, &kernel->scan().angle,
                     Format("%zu turned coordinates were sin and cos of the "
                            "exported angle itself, in %s",
                            numbers.size(), kernel->exported->name));
  } else {
    // It is exported as coarsely, and rotations may use more.
    kernel->Say("scan.angle", Word::kAssumed,
                "angles are exported too coarsely to show those of rotations");
  }
  const std::string keys = Format("%zu turned coordinates were numbers of %s",
                                  numbers.size(), grid->name);
  kernel->TakeType("scan.carry_key", *grid, &kernel->scan().carry_key, keys);
  kernel->TakeType("scan.key", *grid, &kernel->scan().key, keys);
  if (!fine || seen->type != NumberType::kF32) return;
  const std::array<double, 4> legal = {kernel->scan().trig_abs, 0x1p-20,
                                       0x1p-18, 0x1p-16};
  for (const double value : legal) {
    if (fit.largest - kAngleNoise > value || value < kernel->scan().trig_abs) {
      continue;
    }
    kernel->scan().trig_abs = value;
    kernel->Say("scan.trig_abs", Word::kSeen,
                Format("%zu sines and cosines: the largest error was %.3g",
                       numbers.size(), fit.largest));
    return;
  }
  kernel->Say("scan.trig_abs", Word::kCannotTell,
              Format("errors up to %.3g of sines and cosines exceed %g",
                     fit.largest, legal.back()));
}

void AskAngleForm(ScanKernel* kernel) {
  if (!kernel->angles_read) {
    kernel->Say("scan.angle_form", Word::kAssumed,
                "angles are exported too coarsely to show it");
    return;
  }
  constexpr int64_t kTokens = kAngleTokens;
  const auto dt = DrawnNumbers(kTokens * kAngleHeads, 23, 311);
  ScanQuestion question;
  question.tokens = kTokens;
  question.heads = kAngleHeads;
  question.rate = Always(64);
  question.dt = [&](int64_t h, int64_t t, int64_t) {
    return 64 * double{dt[static_cast<size_t>(h * kTokens + t)]};
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.angle_form", answer)) return;
  double largest = 0;
  for (int64_t h = 0; h < kAngleHeads; ++h) {
    double turns = 0;
    for (int64_t t = 0; t < kTokens; ++t) {
      turns += question.dt(h, t, 0) / 2;
    }
    const double off = double{answer->theta[static_cast<size_t>(h)][0]} - turns;
    const double error = std::fabs(off - std::nearbyint(off));
    if (!(error <= largest)) largest = error;
  }
  SayAngleForm(kernel, largest);
}

}  // namespace lockstep::verify
