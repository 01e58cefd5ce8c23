// What kernels of 16 bits round besides operands: weights of tokens where k is
// rounded, products of a token with itself, biases, gates, ranks.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/emulator/numbers.h"
#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {
namespace {

// Numbers of 8 bits, which tensors of every lane hold exactly.
constexpr double kTau = 1.1015625, kNextTau = -0.6015625;

// The types that the factors of a weight are rounded to.
struct WeightTypes {
  const RoundingModel* dt = nullptr;
  const RoundingModel* weight = nullptr;
  const RoundingModel* lambda = nullptr;
};

float By(const RoundingModel& type, double x) {
  return RoundedBy(type, static_cast<float>(x));
}

// The state k times its weight, if the sigmoids have this relative error.
float StateBy(const WeightTypes& types, const ScanKernel& kernel, double dt,
              double next, double off) {
  double weight = double{By(*types.dt, dt)};
  if (kernel.mamba3()) {
    const double own =
        double{By(*types.lambda, Sigmoid(kTau) * (1 + off))} * weight;
    const double other =
        1 - double{By(*types.lambda, Sigmoid(kNextTau) * (1 - off))};
    const float ahead = By(*types.weight, other * double{By(*types.dt, next)});
    weight = double{static_cast<float>(own)} + double{ahead};
  }
  return By(*kernel.scaled, double{By(*types.weight, weight)} * kEightBits);
}

bool ExplainsStates(const WeightTypes& types, const ScanKernel& kernel,
                    const Numbers& dt, const Numbers& next,
                    const Numbers& came) {
  constexpr double kSigmoidError = 0x1p-16;
  size_t told = 0;
  for (size_t h = 0; h < dt.size(); ++h) {
    const float wanted = StateBy(types, kernel, dt[h], next[h], 0);
    const float low = StateBy(types, kernel, dt[h], next[h], -kSigmoidError);
    const float high = StateBy(types, kernel, dt[h], next[h], kSigmoidError);
    const double off = std::fabs(came[h] - double{wanted});
    // States in f32 show the sigmoid's error, and little else.
    if (kernel.FineWeights() && off > 0x1p-14 * double{wanted}) return false;
    if (!kernel.FineWeights() && (low != high || low != wanted)) continue;
    ++told;
    if (!kernel.FineWeights() && off != 0) return false;
  }
  return told >= dt.size() / 4;
}

// The weight of a token, with half of the next one's step.
Result<Numbers> WeighedStates(ScanKernel* kernel, const Numbers& dt,
                              const Numbers& next) {
  ScanQuestion question;
  question.tokens = kernel->mamba3() ? 2 : 1;
  question.heads = kScanHeads;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t == 0 && n == 0 ? kEightBits : 0;
  };
  question.v = [](int64_t, int64_t t, int64_t) { return t == 0 ? 1.0 : 0.0; };
  question.dt = [&](int64_t h, int64_t t, int64_t) {
    return (t == 0 ? dt : next)[static_cast<size_t>(h)];
  };
  if (kernel->mamba3()) {
    question.tau = [](int64_t, int64_t t, int64_t) {
      return t == 0 ? kTau : kNextTau;
    };
  }
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  Numbers came;
  for (const Rows& h : answer.h) came.push_back(double{h[0][0]});
  return came;
}

void TakeWeights(ScanKernel* kernel, const WeightTypes& types, size_t n) {
  ScanNumeric& scan = kernel->scan();
  const auto take = [&](const char* key, const RoundingModel& type,
                        NumberType* field) {
    kernel->TakeType(key, type, field,
                     Format("%zu states of a k that is rounded were those of "
                            "numbers of %s",
                            n, type.text));
  };
  take("scan.dt", *types.dt, &scan.dt);
  if (!kernel->mamba3()) return;
  take("scan.weight", *types.weight, &scan.weight);
  take("scan.lambda", *types.lambda, &scan.lambda);
}

}  // namespace

void AskNarrowWeights(ScanKernel* kernel) {
  if (kernel->FineWeights() || kernel->scaled == nullptr) return;
  const Numbers dt = Doubles(DrawnNumbers(kScanHeads, 24, 471));
  const Numbers next = Doubles(DrawnNumbers(kScanHeads, 24, 472));
  const auto came = WeighedStates(kernel, dt, next);
  if (!kernel->Answered("scan.dt", came)) return;
  const RoundingModel* const types[] = {&RoundingModels().front(),
                                        &NarrowToNearest(kernel->lane())};
  for (int n = 0; n < 8; ++n) {
    const WeightTypes tried = {types[n & 1], types[n >> 1 & 1],
                               types[n >> 2 & 1]};
    if (!ExplainsStates(tried, *kernel, dt, next, came.value())) continue;
    TakeWeights(kernel, tried, dt.size());
    return;
  }
  kernel->Say("scan.weight", Word::kCannotTell,
              Format("k of %.9g with steps of %.9g and %.9g left a state of "
                     "%.9g",
                     kEightBits, dt[0], next[0], came.value()[0]));
}

bool WeightsAreOfSteps(ScanKernel* kernel, const RoundingModel& step) {
  if (!kernel->mamba3() || kernel->lane() == Lane::kF32) return true;
  const Numbers dt = Doubles(DrawnNumbers(kScanHeads, 24, 471));
  const Numbers next = Doubles(DrawnNumbers(kScanHeads, 24, 472));
  const auto came = WeighedStates(kernel, dt, next);
  if (!came.ok()) return true;
  const RoundingModel& f32 = RoundingModels().front();
  const RoundingModel& narrow = NarrowToNearest(kernel->lane());
  const bool rounded = kernel->scan().weight != NumberType::kF32;
  for (const RoundingModel* lambda : {&f32, &narrow}) {
    const WeightTypes types = {&step, rounded ? &narrow : &f32, lambda};
    if (ExplainsStates(types, *kernel, dt, next, came.value())) return true;
  }
  return false;
}

void AskBias(ScanKernel* kernel) {
  const auto drawn = Doubles(DrawnNumbers(kScanState, 24, 481));
  const auto head = [&](int64_t n) {
    return double{
        TruncateToBits(static_cast<float>(drawn[static_cast<size_t>(n)]), 8)};
  };
  ScanQuestion question;
  question.k = [&](int64_t, int64_t, int64_t n) { return -head(n); };
  question.bias = [&](int64_t, int64_t, int64_t n) {
    return drawn[static_cast<size_t>(n)];
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.param", answer)) return;
  std::vector<NearPair> pairs;
  for (int64_t n = 0; n < kScanState; ++n) {
    const auto at = static_cast<size_t>(n);
    pairs.push_back({drawn[at], head(n), double{answer->k[0][at]}});
  }
  // The remaining sum is rounded, too, as the carried k is.
  SayPairs(kernel, "scan.param", "biases", pairs, 0x1p-22, 0x1p-8,
           &kernel->scan().param);
}

namespace {

// Whether y is a number of 8 bits times a gate of that type.
bool ExplainsGate(const RoundingModel& gate, Lane lane, const Numbers& silu,
                  const Numbers& came, double margin) {
  const RoundingModel& out =
      lane == Lane::kF32 ? RoundingModels().front() : NarrowToNearest(lane);
  const bool fine = gate.type == NumberType::kF32;
  size_t told = 0;
  for (size_t i = 0; i < silu.size(); ++i) {
    const double y = kEightBits * double{By(gate, silu[i])};
    const double off = fine ? margin : 0x1p-23;
    if (NearBorder(gate, silu[i], margin) || NearBorder(out, y, off)) continue;
    ++told;
    const double wanted = By(out, y);
    const double most = out.type == NumberType::kF32 ? 2 * off : 0x1p-22;
    if (!(std::fabs(came[i] - wanted) <= most * std::fabs(wanted))) {
      return false;
    }
  }
  return told >= silu.size() / 4;
}

}  // namespace

void AskGate(ScanKernel* kernel) {
  const auto z = Doubles(DrawnNumbers(kScanValues, 8, 451));
  ScanQuestion question;
  question.q = [](int64_t, int64_t, int64_t n) {
    return n == 0 ? kEightBits : 0;
  };
  question.carry_h = Always(1);
  question.z = [&z](int64_t, int64_t, int64_t c) {
    return z[static_cast<size_t>(c)];
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.gate", answer)) return;
  Numbers silu, came;
  for (size_t c = 0; c < z.size(); ++c) {
    silu.push_back(z[c] * Sigmoid(z[c]));
    came.push_back(double{answer->y[0][0][c]});
  }
  const double margin = 0x1p-20 + 2 * kernel->scan().sigmoid_rel;
  for (const RoundingModel* gate : ModelsBeside(kernel->lane())) {
    if (!ExplainsGate(*gate, kernel->lane(), silu, came, margin)) continue;
    kernel->TakeType(
        "scan.gate", *gate, &kernel->scan().gate,
        Format("%zu y behind a gate had a gate of %s", z.size(), gate->text));
    return;
  }
  kernel->Say("scan.gate", Word::kCannotTell,
              Format("an output of %.9g behind a gate of %.9g became %.9g",
                     kEightBits, silu[0], came[0]));
}

namespace {

// How the product of a token's own q and k is rounded: once to 11 bits, as in
// TF32, or to a narrow type before and after the value and the weight.
enum class OwnProduct : uint8_t { kExact, kTf32, kNarrow, kNarrowOfTf32 };

double OwnBy(OwnProduct way, const RoundingModel& narrow, double dot) {
  const auto x = static_cast<float>(dot);
  if (way == OwnProduct::kExact) return dot * kEightBits;
  if (way == OwnProduct::kTf32) return double{RoundToBits(x, 11)} * kEightBits;
  const double from =
      way == OwnProduct::kNarrowOfTf32 ? double{RoundToBits(x, 11)} : dot;
  return double{By(narrow, double{By(narrow, from)} * kEightBits)};
}

struct OwnToken {
  double q = 0, k = 0;
  double state = 0;  // it nearly cancels the product
  double came = 0;
};

bool ExplainsOwn(OwnProduct way, const RoundingModel& narrow, double out,
                 const std::vector<OwnToken>& tokens) {
  for (const OwnToken& one : tokens) {
    const double own = OwnBy(way, narrow, one.q * one.k);
    const double wanted = own - one.state;
    const double most = 2 * out * std::fabs(wanted) + 0x1p-21 * std::fabs(own);
    if (!(std::fabs(one.came - wanted) <= most)) return false;
  }
  return true;
}

Result<std::vector<OwnToken>> OwnTokens(ScanKernel* kernel) {
  constexpr size_t kTokens = 12;
  const auto q = Doubles(DrawnNumbers(kTokens, 8, 491));
  const auto k = Doubles(DrawnNumbers(kTokens, 8, 492));
  std::vector<OwnToken> tokens;
  for (size_t i = 0; i < q.size(); ++i) {
    const double own = q[i] * k[i] * kEightBits;
    const float head = TruncateToBits(static_cast<float>(own), 8);
    tokens.push_back({q[i], k[i], double{head}, 0});
  }
  // Each token takes one call, because q and k are shared by all heads.
  for (OwnToken& one : tokens) {
    ScanQuestion question;
    question.q = [&](int64_t, int64_t, int64_t n) {
      return n == 0 ? one.q : n == 1 ? 1.0 : 0.0;
    };
    question.k = [&](int64_t, int64_t, int64_t n) {
      return n == 0 ? one.k : 0.0;
    };
    question.v = Always(kEightBits);
    question.carry_h = [&](int64_t, int64_t, int64_t n) {
      return n == 1 ? -one.state : 0.0;
    };
    ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
    one.came = double{answer.y[0][0][0]};
  }
  return tokens;
}

}  // namespace

void AskNarrowDiagonal(ScanKernel* kernel) {
  if (kernel->lane() == Lane::kF32) return;
  const auto tokens = OwnTokens(kernel);
  if (!kernel->Answered("scan.diagonal", tokens)) return;
  const RoundingModel& narrow = NarrowToNearest(kernel->lane());
  for (const OwnProduct way :
       {OwnProduct::kExact, OwnProduct::kTf32, OwnProduct::kNarrow,
        OwnProduct::kNarrowOfTf32}) {
    if (!ExplainsOwn(way, narrow, kernel->OutRounding(), tokens.value())) {
      continue;
    }
    const bool rounded = way >= OwnProduct::kNarrow;
    if (way == OwnProduct::kExact) kernel->scan().diagonal_rel = 0;
    kernel->TakeType(
        "scan.diagonal", rounded ? narrow : RoundingModels().front(),
        &kernel->scan().diagonal,
        Format("%zu products of a token's own q, k and v were %s",
               tokens->size(),
               rounded                     ? narrow.text
               : way == OwnProduct::kExact ? "exact"
                                           : "those of a q k of 11 bits"));
    return;
  }
  bool near = true;
  for (const OwnToken& one : tokens.value()) {
    const double own = one.q * one.k * kEightBits;
    near = near && std::fabs(one.came - (own - one.state)) <=
                       kernel->scan().diagonal_rel * own;
  }
  kernel->Say("scan.diagonal", near ? Word::kAssumed : Word::kCannotTell,
              Format("a token's own q k v of %.9g left %.9g beside %.9g",
                     tokens->front().q * tokens->front().k * kEightBits,
                     tokens->front().came, -tokens->front().state));
}

void AskRankSum(ScanKernel* kernel) {
  const auto first = Doubles(DrawnNumbers(kScanValues, 8, 501));
  const auto second = Doubles(DrawnNumbers(kScanValues, 8, 502));
  const auto phi = Doubles(DrawnNumbers(kScanValues, 8, 503));
  std::vector<double> other;
  std::vector<NearPair> pairs;
  for (size_t c = 0; c < phi.size(); ++c) {
    const double near = first[c] * phi[c] / second[c];
    other.push_back(double{TruncateToBits(static_cast<float>(near), 8)});
    pairs.push_back({first[c] * phi[c], second[c] * other[c], 0});
  }
  ScanQuestion question;
  question.phi = [&](int64_t, int64_t r, int64_t c) {
    const auto at = static_cast<size_t>(c);
    return r == 0 ? phi[at] : -other[at];
  };
  question.q = [](int64_t, int64_t r, int64_t n) { return n == r ? 1.0 : 0.0; };
  question.carry_h = [&](int64_t, int64_t p, int64_t n) {
    const auto at = static_cast<size_t>(p);
    return n == 0 ? first[at] : n == 1 ? second[at] : 0.0;
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.rank_sum", answer)) return;
  for (size_t c = 0; c < pairs.size(); ++c) {
    pairs[c].answer = double{answer->y[0][0][c]};
  }
  SayPairs(kernel, "scan.rank_sum", "ranks", pairs, 0x1p-22,
           kernel->OutRounding(), &kernel->scan().rank_sum);
}

}  // namespace lockstep::verify
