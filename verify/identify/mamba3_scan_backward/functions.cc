// Functions, weights and angles of a kernel of a scan's gradients. The
// gradients of scalars and of a carry show them, because these are f32.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/mamba3_scan/turns.h"
#include "verify/identify/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {
namespace {

// 1 in the first channel and coordinate of a state.
ScanElement FirstOfState() {
  return [](int64_t, int64_t p, int64_t n) { return p == 0 && n == 0 ? 1 : 0; };
}

ScanElement AtToken(int64_t token, double x) {
  return [token, x](int64_t, int64_t t, int64_t c) {
    return t == token && c == 0 ? x : 0;
  };
}

Numbers OfToken(const Rows& of_heads, size_t t) {
  Numbers x;
  for (const auto& row : of_heads) x.push_back(double{row[t]});
  return x;
}

// Of every head, at the first channel and coordinate.
Numbers FirstStates(const ScanGradAnswer& answer) {
  Numbers x;
  for (const Rows& h : answer.dinit_h) x.push_back(double{h[0][0]});
  return x;
}

}  // namespace

void AskGradPairing(ScanGradKernel* kernel) {
  constexpr double kEighth = 0.125;
  ScanGradQuestion question;
  question.q = FirstCoordinate();
  question.carry_theta = Always(kEighth);
  question.dy = AtToken(0, 1);
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.pairing", answer)) return;
  SayPairing(kernel, answer->dinit_h[0][0]);
}

namespace {

// By tau: ddt of a token whose input alone counts is lambda.
Result<Numbers> Lambdas(ScanGradKernel* kernel, const Numbers& tau) {
  ScanGradQuestion question;
  question.heads = kScanHeads;
  question.k = FirstCoordinate();
  question.v = FirstCoordinate();
  question.tau = OfHead(tau, 0);
  question.dcarry_h = FirstOfState();
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return OfToken(answer.ddt, 0);
}

}  // namespace

void AskGradSigmoid(ScanGradKernel* kernel) {
  const Numbers tau = Arguments(331, true);
  const auto lambda = Lambdas(kernel, tau);
  if (!kernel->Answered("scan.sigmoid_rel", lambda)) return;
  const RoundingModel& narrow = NarrowToNearest(kernel->lane());
  const bool coarse = AreSigmoidsIn(narrow, tau, lambda.value());
  const RoundingModel& type = coarse ? narrow : RoundingModels().front();
  kernel->TakeType(
      "scan.lambda", type, &kernel->scan().lambda,
      Format("%zu mixing weights were numbers of %s", tau.size(), type.name));
  if (coarse) {
    kernel->Say("scan.sigmoid_rel", Word::kAssumed,
                "lambda is rounded too coarsely to show it");
    return;
  }
  double* rel = &kernel->scan().sigmoid_rel;
  const std::array legal = {*rel, 0x1.1p-18, 0x1p-16};
  LearnFunction(kernel, "scan.sigmoid_rel", tau, &Sigmoid, legal, rel,
                [kernel](const Numbers& x) { return Lambdas(kernel, x); });
}

namespace {

// By a: what is left of a cotangent of 1.
Result<Numbers> Decays(ScanGradKernel* kernel, const Numbers& a) {
  ScanGradQuestion question;
  question.heads = kScanHeads;
  question.a = OfHead(a, 0);
  question.dcarry_h = FirstOfState();
  question.from_carry = true;
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return FirstStates(answer);
}

}  // namespace

void AskGradDecay(ScanGradKernel* kernel) {
  double* rel = &kernel->profile.exp_rel;
  const std::array legal = {*rel, 0x1p-20, 0x1.1p-18, 0x1p-16};
  LearnFunction(kernel, "exp_rel", Arguments(341, false), &ExpDouble, legal,
                rel, [kernel](const Numbers& a) { return Decays(kernel, a); });
}

// A lambda of 0 leaves the token before, which the carry has.
void AskGradStep(ScanGradKernel* kernel) {
  const Numbers dt = Doubles(DrawnNumbers(kScanHeads, 24, 322));
  ScanGradQuestion question;
  question.heads = kScanHeads;
  question.tau = Always(-kernel->sure);
  question.dt = OfHead(dt, 0);
  question.carry_v = FirstCoordinate();
  question.dcarry_h = FirstOfState();
  const int64_t light = kernel->light_tokens;
  kernel->light_tokens = 0;  // the run has to begin with that token
  const auto answer = kernel->Ask(question);
  kernel->light_tokens = light;
  if (!kernel->Answered("scan.dt", answer)) return;
  const Numbers came = OfToken(answer->dinit_k, 0);
  const RoundingModel* model = Arrived(dt, came, kernel->lane(), 0, 0x1p-22);
  if (model == nullptr) {
    kernel->Say("scan.dt", Word::kCannotTell,
                Format("a carry's v of 1 with a step of %.9g gave a gradient "
                       "of its k of %.9g",
                       dt[0], came[0]));
    return;
  }
  kernel->TakeType("scan.dt", *model, &kernel->scan().dt,
                   Format("%zu gradients by a step of 24 bits were numbers of "
                          "%s",
                          dt.size(), model->text));
}

void AskGradScaled(ScanGradKernel* kernel) {
  // Numbers of 8 bits, so that no rounding before their product shows.
  const Numbers dt = Doubles(DrawnNumbers(kScanHeads, 8, 321));
  ScanGradQuestion question;
  question.tokens = 2;
  question.heads = kScanHeads;
  question.k = AtToken(0, kEightBits);
  question.v = AtToken(0, 1);
  question.dt = [&dt](int64_t h, int64_t t, int64_t) {
    return t == 0 ? dt[static_cast<size_t>(h)] : 1.0;
  };
  question.dcarry_h = FirstOfState();
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.scaled", answer)) return;
  Numbers products;
  for (const double x : dt) products.push_back(x * kEightBits);
  const Numbers came = OfToken(answer->da, 1);
  const RoundingModel* model =
      Arrived(products, came, kernel->lane(), 0, 0x1p-22);
  if (model == nullptr) {
    kernel->Say("scan.scaled", Word::kCannotTell,
                Format("k of %.9g with a step of %.9g left a state whose da "
                       "was %.9g",
                       kEightBits, dt[0], came[0]));
    return;
  }
  kernel->TakeType("scan.scaled", *model, &kernel->scan().scaled,
                   Format("%zu states of k times a step of 8 bits each were "
                          "numbers of %s, by da",
                          dt.size(), model->text));
}

namespace {

double HalfTanh(double x) { return TanhDouble(x) / 2; }

// By rate, so many heads at once: a cotangent of 1 of the angle makes ddt half
// of tanh.
Result<Numbers> HalfTanhs(ScanGradKernel* kernel, const Numbers& rate) {
  Numbers all;
  for (size_t from = 0; from < rate.size(); from += kScanHeads) {
    const auto part = rate.begin() + static_cast<std::ptrdiff_t>(from);
    const Numbers x(part, part + kScanHeads);
    ScanGradQuestion question;
    question.heads = kScanHeads;
    question.rate = [&x](int64_t h, int64_t, int64_t s) {
      return s == 0 ? x[static_cast<size_t>(h)] : 0;
    };
    question.dcarry_theta = FirstCoordinate();
    ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
    const Numbers ddt = OfToken(answer.ddt, 0);
    all.insert(all.end(), ddt.begin(), ddt.end());
  }
  return all;
}

}  // namespace

void AskGradTanh(ScanGradKernel* kernel) {
  constexpr size_t kPoints = 2 * kScanHeads;
  constexpr double kHardwareTanh = 0x1.1p-11;  // the coarsest of any chip
  const auto drawn = DrawnNumbers(kPoints, 8, 301);
  Numbers rate;
  for (size_t i = 0; i < drawn.size(); ++i) {
    rate.push_back(std::ldexp(double{drawn[i]}, static_cast<int>(i % 8) - 6));
  }
  double* rel = &kernel->profile.tanh_rel;
  const std::array legal = {*rel, 0x1.76p-17, 0x1p-13, kHardwareTanh};
  LearnFunction(kernel, "tanh_rel", rate, &HalfTanh, legal, rel,
                [kernel](const Numbers& x) { return HalfTanhs(kernel, x); });
}

void AskGradAngleForm(ScanGradKernel* kernel) {
  if (kernel->read == nullptr || kernel->read->type != NumberType::kF32) {
    kernel->Say("scan.angle_form", Word::kAssumed,
                "q is rounded too coarsely to show it");
    return;
  }
  constexpr int64_t kTokens = kAngleTokens, kFew = 2;
  const auto dt = DrawnNumbers(kTokens * kFew, 23, 311);
  ScanGradQuestion question;
  question.tokens = kTokens;
  question.heads = kFew;
  question.q = kernel->FirstOfEach();
  question.rate = Always(64);
  question.dt = [&](int64_t h, int64_t t, int64_t) {
    return 64 * double{dt[static_cast<size_t>(h * kTokens + t)]};
  };
  question.dy = AtToken(kTokens - 1, 1);
  question.from_carry = true;
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.angle_form", answer)) return;
  double largest = 0;
  for (int64_t h = 0; h < kFew; ++h) {
    double turns = 0, sine = 0, cosine = 0;
    for (int64_t t = 0; t < kTokens; ++t) turns += question.dt(h, t, 0) / 2;
    TurnsToSinCos(turns, &sine, &cosine);
    const auto& came = answer->dinit_h[static_cast<size_t>(h)][0];
    const double c = came[static_cast<size_t>(kernel->First(0))];
    const double s = came[static_cast<size_t>(kernel->Second(0))];
    // The sine of the difference; behind a quarter of a turn it shrinks again.
    const double off = std::fabs(s * cosine - c * sine) / kTwoPi;
    const double error = c * cosine + s * sine > 0 ? off : 0.5;
    if (!(error <= largest)) largest = error;
  }
  SayAngleForm(kernel, largest);
}

void AskGradRepeat(ScanGradKernel* kernel) {
  ScanGradQuestion question;
  question.tokens = 64;
  question.heads = 2;
  question.one_group = true;
  const auto some = [](int64_t h, int64_t t, int64_t c) {
    const int64_t n = (h * 7 + t * 37 + c * 11) % 64;
    return static_cast<double>(n) / 32 - 1;
  };
  question.q = question.k = question.v = question.rate = question.dy = some;
  question.a = Always(-0.25);
  const auto first = kernel->Ask(question);
  if (!first.ok()) return;
  const auto equal = [](const Rows& x, const Rows& y) {
    bool same = true;
    for (size_t t = 0; t < x.size(); ++t) {
      for (size_t c = 0; c < x[t].size(); ++c) {
        same = same && std::bit_cast<uint32_t>(x[t][c]) ==
                           std::bit_cast<uint32_t>(y[t][c]);
      }
    }
    return same;
  };
  bool same = true;
  for (int n = 0; n < 4 && same; ++n) {
    const auto again = kernel->Ask(question);
    same = again.ok() && equal(first->dq[0], again->dq[0]) &&
           equal(first->dk[0], again->dk[0]) && equal(first->da, again->da) &&
           equal(first->ddt, again->ddt);
    for (size_t h = 0; h < first->dv.size(); ++h) {
      same = same && equal(first->dv[h], again->dv[h]);
    }
  }
  kernel->Say("repeat", same ? Word::kSeen : Word::kReported,
              same ? "five calls of 64 tokens had the same bits"
                   : "the same call had other bits when it was made again",
              same ? "" : "repeat = no");
}

}  // namespace lockstep::verify
