// How the state and earlier tokens are read: operands of the products that make
// y. Conventions and repeated calls stand at the end.
#include <bit>
#include <cmath>
#include <limits>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/mamba3_scan/turns.h"
#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {
void AskState(ScanKernel* kernel) {
  auto pairs = NearNumbers(kScanValues, 401);
  ScanQuestion question;
  const double gain = kernel->gain();
  question.q = [gain](int64_t, int64_t, int64_t n) {
    return n == 0 ? gain : n == 1 ? -gain : 0.0;
  };
  question.carry_h = [&](int64_t, int64_t p, int64_t n) {
    const NearPair& pair = pairs[static_cast<size_t>(p)];
    return n == 0 ? pair.first : n == 1 ? pair.second : 0.0;
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.state", answer)) return;
  for (size_t p = 0; p < pairs.size(); ++p) {
    pairs[p].answer = double{answer->y[0][0][p]} / gain;
  }
  SayPairs(kernel, "scan.state", "states", pairs, 0x1p-22,
           kernel->OutRounding(), &kernel->scan().state);
}

namespace {

// f32 tensors: elements of 24 bits that no angle turns.
Result<std::vector<NearPair>> PlainQueries(ScanKernel* kernel) {
  auto pairs = NearNumbers(kScanValues / 2, 411);
  ScanQuestion question;
  question.q = [&](int64_t, int64_t, int64_t n) {
    const NearPair& pair = pairs[static_cast<size_t>(n / 2)];
    return n % 2 == 0 ? pair.first : pair.second;
  };
  question.carry_h = [](int64_t, int64_t p, int64_t n) {
    return n == 2 * p ? 1.0 : n == 2 * p + 1 ? -1.0 : 0.0;
  };
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  for (size_t p = 0; p < pairs.size(); ++p) {
    pairs[p].answer = double{answer.y[0][0][p]};
  }
  return pairs;
}

// For tensors of 16 bits, the pairs are cosines and sines of angles near an
// eighth of a turn.
Result<std::vector<NearPair>> TurnedQueries(ScanKernel* kernel) {
  constexpr int64_t kFew = 4;
  ScanQuestion question;
  question.heads = kFew;
  question.q = kernel->FirstOfEach();
  question.rate = [](int64_t, int64_t, int64_t s) {
    return 0.25 + static_cast<double>(s) * 0x1p-9;
  };
  question.dt = [](int64_t h, int64_t, int64_t) {
    return 1 + static_cast<double>(h) * 0x1.1234p-7;
  };
  question.carry_h = [&](int64_t, int64_t p, int64_t n) {
    if (p >= kScanAngles) return 0.0;
    return n == kernel->First(p) ? 1.0 : n == kernel->Second(p) ? -1.0 : 0.0;
  };
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  std::vector<NearPair> pairs;
  for (size_t h = 0; h < kFew; ++h) {
    for (size_t s = 0; s < kScanAngles; ++s) {
      const double turns = TurnsIn(*kernel->angle, double{answer.theta[h][s]});
      double sine = 0, cosine = 0;
      TurnsToSinCos(turns, &sine, &cosine);
      pairs.push_back({cosine, sine, double{answer.y[h][0][s]}});
    }
  }
  return pairs;
}

}  // namespace

void AskQuery(ScanKernel* kernel) {
  const bool narrow = kernel->lane() != Lane::kF32;
  if (narrow && !kernel->mamba3()) {
    kernel->scan().query = NumberType::kF32;
    kernel->Say("scan.query", Word::kAssumed,
                "queries of 16 bits that nothing turns have no bits to lose");
    return;
  }
  if (narrow && kernel->angle == nullptr) return;
  const auto pairs = narrow ? TurnedQueries(kernel) : PlainQueries(kernel);
  if (!kernel->Answered("scan.query", pairs)) return;
  const double margin =
      narrow ? 0x1p-18 + 2 * kernel->scan().trig_abs : 0x1p-22;
  SayPairs(kernel, "scan.query", "read vectors", pairs.value(), margin,
           kernel->OutRounding(), &kernel->scan().query);
}

namespace {

// Whether tokens read only the rounded state, so that the answers are its
// values. `gain` is the factor of their values.
bool PassByState(const std::vector<NearPair>& pairs, double q, double gain,
                 const RoundingModel& state, double out) {
  for (const NearPair& pair : pairs) {
    const float h = static_cast<float>(gain * pair.first / q) -
                    static_cast<float>(gain * pair.second / q);
    const double wanted = q * double{RoundedBy(state, h)} / gain;
    if (!(std::fabs(pair.answer - wanted) <=
          out * std::fabs(wanted) + 0x1p-22 * std::fabs(pair.first))) {
      return false;
    }
  }
  return true;
}

// Whether a product q k of 2^18 survives in front of a decay that brings it
// into f16's range.
bool LargeScoresDecay(ScanKernel* kernel) {
  constexpr double kFactor = 512, kDecay = -8;
  ScanQuestion question;
  question.tokens = 2;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t == 0 && n == 0 ? kFactor : 0.0;
  };
  question.q = [](int64_t, int64_t t, int64_t n) {
    return t == 1 && n == 0 ? kFactor : 0.0;
  };
  question.v = [](int64_t, int64_t t, int64_t) { return t == 0 ? 1.0 : 0.0; };
  question.a = [](int64_t, int64_t t, int64_t) { return t == 1 ? kDecay : 0; };
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) return true;
  const double wanted = kFactor * kFactor * ExpDouble(kDecay);
  return std::fabs(double{answer->y[0][1][0]} - wanted) <= 0x1p-7 * wanted;
}

}  // namespace

void AskScore(ScanKernel* kernel) {
  if (kernel->scaled == nullptr) return;
  constexpr double kQ = 1.171875;  // 8 bits
  const auto steps = NearNumbers(kScanHeads, 421);
  ScanQuestion question;
  question.tokens = 3;
  question.heads = kScanHeads;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t < 2 && n == 0 ? 1.0 : 0.0;
  };
  question.q = [](int64_t, int64_t t, int64_t n) {
    return t == 2 && n == 0 ? kQ : 0.0;
  };
  const double gain = kernel->gain();
  question.v = [gain](int64_t, int64_t t, int64_t) {
    return t == 0 ? gain : t == 1 ? -gain : 0.0;
  };
  question.dt = [&](int64_t h, int64_t t, int64_t) {
    const NearPair& pair = steps[static_cast<size_t>(h)];
    return t == 0 ? pair.first : t == 1 ? pair.second : 1.0;
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.score", answer)) return;
  std::vector<NearPair> pairs;
  const auto scaled = [&](double x) {
    return double{RoundedBy(*kernel->scaled, static_cast<float>(x))};
  };
  for (size_t h = 0; h < steps.size(); ++h) {
    pairs.push_back({kQ * scaled(steps[h].first), kQ * scaled(steps[h].second),
                     double{answer->y[h][2][0]} / gain});
  }
  const double out = 2 * kernel->OutRounding();
  for (const RoundingModel& state : RoundingModels()) {
    const bool seen = state.type == kernel->scan().state &&
                      FitPairs(pairs, kernel->lane(), 0x1p-22, out) == nullptr;
    if (seen && PassByState(pairs, kQ, gain, state, out)) {
      kernel->Say("scan.score", Word::kAssumed,
                  "tokens pass by the state: there is no product of q and k");
      return;
    }
  }
  if (kernel->lane() == Lane::kF16 && !LargeScoresDecay(kernel)) {
    kernel->CannotTell("scan.score", &kernel->scan().score,
                       "a product of q and k above f16's largest number was "
                       "not there behind a decay");
    return;
  }
  SayPairs(kernel, "scan.score", "scores", pairs, 0x1p-22,
           kernel->OutRounding(), &kernel->scan().score);
}

void AskDiagonal(ScanKernel* kernel) {
  if (kernel->lane() != Lane::kF32) return;
  const auto x = DrawnNumbers(kScanValues, 24, 431);
  ScanQuestion question;
  question.tokens = kScanValues;
  question.k = [](int64_t, int64_t, int64_t n) { return n == 0 ? 1.0 : 0.0; };
  question.q = [&](int64_t, int64_t t, int64_t n) {
    return n == 0 ? double{x[static_cast<size_t>(t)]} : 0.0;
  };
  question.v = [](int64_t, int64_t t, int64_t p) { return p == t ? 1.0 : 0.0; };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.diagonal", answer)) return;
  for (const RoundingModel& model : RoundingModels()) {
    bool all = true;
    for (size_t t = 0; t < x.size(); ++t) {
      const double came = double{answer->y[0][t][t]};
      const double wanted = RoundedBy(model, x[t]);
      all = all && std::fabs(came - wanted) <= 0x1p-22 * wanted;
    }
    if (!all) continue;
    const std::string came =
        Format("%zu products of a token's own q and k were numbers of %s",
               x.size(), model.text);
    const bool f32 = model.type == NumberType::kF32;
    kernel->Say("scan.diagonal", f32 ? Word::kSeen : Word::kReported, came,
                f32 ? "" : std::string("scan.diagonal = ") + model.name);
    return;
  }
  kernel->Say("scan.diagonal", Word::kCannotTell,
              Format("a token's own q of %.9g read %.9g", double{x[0]},
                     double{answer->y[0][0][0]}));
}

void AskLaterNan(ScanKernel* kernel) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  ScanQuestion question;
  question.tokens = 4;
  const auto late = [](int64_t, int64_t t, int64_t) {
    return t == 3 ? kNan : 0.5;
  };
  question.q = [](int64_t, int64_t, int64_t) { return 0.5; };
  question.k = late;
  question.v = late;
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("masked_nan_safe", answer)) return;
  bool reached = false;
  for (size_t t = 0; t < 3; ++t) {
    for (const float y : answer->y[0][t]) reached = reached || y != y;
  }
  kernel->Say("masked_nan_safe", reached ? Word::kReported : Word::kSeen,
              reached ? "NaN of a later token reached y of earlier ones"
                      : "NaN of a later token reached no earlier one",
              reached ? "masked_nan_safe = no" : "");
}

void AskScanRepeat(ScanKernel* kernel) {
  ScanQuestion question;
  question.tokens = 64;
  question.heads = 2;
  const auto some = [](int64_t h, int64_t t, int64_t c) {
    const int64_t n = (h * 7 + t * 37 + c * 11) % 64;
    return static_cast<double>(n) / 32 - 1;
  };
  question.q = question.k = question.v = question.rate = some;
  question.a = [](int64_t, int64_t, int64_t) { return -0.25; };
  const auto first = kernel->Ask(question);
  if (!first.ok()) return;
  bool same = true;
  for (int n = 0; n < 4 && same; ++n) {
    const auto again = kernel->Ask(question);
    same = again.ok();
    for (size_t h = 0; h < 2 && same; ++h) {
      for (size_t t = 0; t < 64; ++t) {
        for (size_t p = 0; p < first->y[h][t].size(); ++p) {
          same = same && std::bit_cast<uint32_t>(first->y[h][t][p]) ==
                             std::bit_cast<uint32_t>(again->y[h][t][p]);
        }
      }
    }
  }
  kernel->Say("repeat", same ? Word::kSeen : Word::kReported,
              same ? "five calls of 64 tokens had the same bits"
                   : "the same call had other bits when it was made again",
              same ? "" : "repeat = no");
}

}  // namespace lockstep::verify
