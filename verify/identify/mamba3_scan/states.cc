// What the state is made of: weights, decays, operands, and how it is read.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/mamba3_scan/chunk.h"
#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {
namespace {

double IsZero(int64_t n) { return n == 0 ? 1 : 0; }

// h of every head, at its first channel and coordinate.
std::vector<double> FirstStates(const ScanAnswer& answer) {
  std::vector<double> h;
  for (const Rows& of_head : answer.h) h.push_back(double{of_head[0][0]});
  return h;
}

// By step: the state of one token whose k is that.
Result<std::vector<double>> Steps(ScanKernel* kernel,
                                  const std::vector<double>& dt, double k) {
  ScanQuestion question;
  question.heads = kScanHeads;
  question.k = [k](int64_t, int64_t, int64_t n) { return n == 0 ? k : 0; };
  question.v = Always(1);
  question.dt = OfHead(dt, 0);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return FirstStates(answer);
}

}  // namespace

void AskScaled(ScanKernel* kernel) {
  // Numbers of 8 bits, so that no rounding before their product shows.
  const auto dt = Doubles(DrawnNumbers(kScanHeads, 8, 321));
  const auto h = Steps(kernel, dt, kEightBits);
  if (!kernel->Answered("scan.scaled", h)) return;
  std::vector<double> products;
  for (const double x : dt) products.push_back(x * kEightBits);
  const RoundingModel* model =
      Arrived(products, h.value(), kernel->lane(), 0, 0x1p-22);
  if (model == nullptr) {
    kernel->CannotTell(
        "scan.scaled", &kernel->scan().scaled,
        Format("k of %.9g with a step of %.9g left a state of %.9g", kEightBits,
               dt[0], h.value()[0]));
    return;
  }
  kernel->scaled = model;
  kernel->TakeType("scan.scaled", *model, &kernel->scan().scaled,
                   Format("%lld states of k times a step of 8 bits each were "
                          "numbers of %s",
                          static_cast<long long>(kScanHeads), model->text));
}

void AskStep(ScanKernel* kernel) {
  if (!kernel->FineWeights()) return;
  const auto dt = Doubles(DrawnNumbers(kScanHeads, 24, 322));
  const auto h = Steps(kernel, dt, 1);
  if (!kernel->Answered("scan.dt", h)) return;
  const RoundingModel* model =
      Arrived(dt, h.value(), kernel->lane(), 0, 0x1p-22);
  if (model == nullptr) {
    kernel->CannotTell("scan.dt", &kernel->scan().dt,
                       Format("k of 1 with a step of %.9g left a state of %.9g",
                              dt[0], h.value()[0]));
    return;
  }
  if (model->type != NumberType::kF32 && model->type == kernel->scan().weight) {
    kernel->Say("scan.dt", Word::kAssumed,
                "weights are rounded too coarsely to show it");
    return;
  }
  const bool narrow = model->type != NumberType::kF32;
  if (narrow && !WeightsAreOfSteps(kernel, *model)) {
    kernel->CannotTell("scan.dt", &kernel->scan().dt,
                       "a step of 24 bits left a narrow state, and products "
                       "with a narrow step were others");
    return;
  }
  kernel->TakeType("scan.dt", *model, &kernel->scan().dt,
                   Format("%lld states of a step of 24 bits were numbers of %s",
                          static_cast<long long>(kScanHeads), model->text));
}

// Of a token and a look-ahead of half a step, which have 8 bits each.
void AskWeight(ScanKernel* kernel) {
  if (!kernel->FineWeights()) return;
  const auto dt = Doubles(DrawnNumbers(kScanHeads, 8, 323));
  const auto next = Doubles(DrawnNumbers(kScanHeads, 8, 324));
  ScanQuestion question;
  question.tokens = 2;
  question.heads = kScanHeads;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t == 0 ? IsZero(n) : 0;
  };
  question.v = [](int64_t, int64_t t, int64_t) { return t == 0 ? 1.0 : 0.0; };
  question.tau = [kernel](int64_t, int64_t t, int64_t) {
    return t == 0 ? kernel->sure : 0;
  };
  question.dt = [&](int64_t h, int64_t t, int64_t) {
    const auto at = static_cast<size_t>(h);
    return t == 0 ? dt[at] : next[at] * 0x1p-7;
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.weight", answer)) return;
  std::vector<double> sums;
  for (size_t h = 0; h < dt.size(); ++h) {
    sums.push_back(dt[h] + next[h] * 0x1p-8);
  }
  const std::vector<double> h = FirstStates(answer.value());
  const RoundingModel* model = Arrived(sums, h, kernel->lane(), 0, 0x1p-22);
  if (model == nullptr) {
    kernel->Say("scan.weight", Word::kCannotTell,
                Format("steps of %.9g and of %.9g, half of it ahead, left a "
                       "state of %.9g",
                       dt[0], next[0] * 0x1p-7, h[0]));
    return;
  }
  kernel->TakeType(
      "scan.weight", *model, &kernel->scan().weight,
      Format("%zu states of a step and half of the next were numbers of %s",
             sums.size(), model->text));
}

namespace {

// By tau: the state of one token is lambda.
Result<std::vector<double>> Lambdas(ScanKernel* kernel,
                                    const std::vector<double>& tau) {
  ScanQuestion question;
  question.heads = kScanHeads;
  question.k = FirstCoordinate();
  question.v = Always(1);
  question.tau = OfHead(tau, 0);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return FirstStates(answer);
}

}  // namespace

void AskSigmoid(ScanKernel* kernel) {
  ScanNumeric& scan = kernel->scan();
  if (!kernel->FineWeights()) {
    kernel->Say("scan.sigmoid_rel", Word::kAssumed,
                "k times its weight is rounded too coarsely to show it");
    return;
  }
  const auto tau = Arguments(331, true);
  const auto lambda = Lambdas(kernel, tau);
  if (!kernel->Answered("scan.sigmoid_rel", lambda)) return;
  const RoundingModel& narrow = NarrowToNearest(kernel->lane());
  const bool coarse = AreSigmoidsIn(narrow, tau, lambda.value());
  const RoundingModel& f32 = RoundingModels().front();
  const RoundingModel& type = coarse ? narrow : f32;
  const RoundingModel& step = scan.dt == NumberType::kF32 ? f32 : narrow;
  if (coarse && !WeightsAreOfSteps(kernel, step)) {
    kernel->CannotTell("scan.lambda", &scan.lambda,
                       "mixing weights were narrow beside a step of 1, and "
                       "their products with others were others");
    return;
  }
  kernel->TakeType(
      "scan.lambda", type, &scan.lambda,
      Format("%zu mixing weights were numbers of %s", tau.size(), type.name));
  if (coarse) {
    kernel->Say("scan.sigmoid_rel", Word::kAssumed,
                "lambda is rounded too coarsely to show it");
    return;
  }
  const std::array legal = {scan.sigmoid_rel, 0x1.1p-18, 0x1p-16};
  LearnFunction(
      kernel, "scan.sigmoid_rel", tau, &Sigmoid, legal, &scan.sigmoid_rel,
      [kernel](const std::vector<double>& x) { return Lambdas(kernel, x); });
}

namespace {

// By a: what is left of an initial state of 1.
Result<std::vector<double>> Decays(ScanKernel* kernel,
                                   const std::vector<double>& a) {
  ScanQuestion question;
  question.heads = kScanHeads;
  question.a = OfHead(a, 0);
  question.carry_h = Always(1);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return FirstStates(answer);
}

// The state that the first token left, decayed by the second token's a. The
// first token's value is `v`.
Result<std::vector<double>> Updates(ScanKernel* kernel,
                                    const std::vector<double>& a,
                                    double v = 1) {
  ScanQuestion question;
  question.tokens = 2;
  question.heads = kScanHeads;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t == 0 ? IsZero(n) : 0;
  };
  question.v = [v](int64_t, int64_t t, int64_t) { return t == 0 ? v : 0.0; };
  question.a = OfHead(a, 1);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return FirstStates(answer);
}

// Whether decays below f16's smallest numbers survive in products with large
// values.
bool SmallDecaysAreKept(ScanKernel* kernel) {
  std::vector<double> a;
  for (const float x : DrawnNumbers(kScanHeads, 8, 352)) {
    a.push_back(-4 - 7 * double{x});  // from -11 to -18
  }
  const auto came = Updates(kernel, a, kernel->gain());
  if (!came.ok()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const double wanted = kernel->gain() * ExpDouble(a[i]);
    if (!(std::fabs(came.value()[i] - wanted) <= 0x1p-9 * wanted)) return false;
  }
  return true;
}

std::vector<double> Exps(const std::vector<double>& a) {
  std::vector<double> exps;
  for (const double x : a) exps.push_back(ExpDouble(x));
  return exps;
}

}  // namespace

void AskDecay(ScanKernel* kernel) {
  double* rel = &kernel->profile.exp_rel;
  const std::array legal = {*rel, 0x1p-20, 0x1.1p-18, 0x1p-16};
  LearnFunction(
      kernel, "exp_rel", Arguments(341, false), &ExpDouble, legal, rel,
      [kernel](const std::vector<double>& a) { return Decays(kernel, a); });
}

void AskDecayed(ScanKernel* kernel) {
  const auto a = Arguments(351, false);
  const auto came = Updates(kernel, a);
  if (!kernel->Answered("scan.decayed", came)) return;
  const RoundingModel* model =
      Arrived(Exps(a), came.value(), kernel->lane(),
              0x1p-18 + 2 * kernel->profile.exp_rel, 0x1p-22);
  if (model == nullptr) {
    kernel->CannotTell("scan.decayed", &kernel->scan().decayed,
                       Format("a value of 1 with a decay of e^%.6g left %.9g",
                              a[0], came.value()[0]));
    return;
  }
  if (model->type == NumberType::kF16 && !SmallDecaysAreKept(kernel)) {
    kernel->CannotTell("scan.decayed", &kernel->scan().decayed,
                       "decayed values were numbers of f16, and decays below "
                       "its smallest ones were lost");
    return;
  }
  kernel->TakeType("scan.decayed", *model, &kernel->scan().decayed,
                   Format("%zu states of a decayed value were numbers of %s",
                          a.size(), model->text));
}

void AskDecayForm(ScanKernel* kernel) {
  constexpr double kReset = -1000, kBefore = -0.5;
  // Of 24 bits: a sum near -1000 lacks the last ten.
  std::vector<double> a;
  for (const float x : DrawnNumbers(kScanHeads, 24, 361)) {
    a.push_back(-double{x});
  }
  ScanQuestion question;
  question.tokens = 3;
  question.heads = kScanHeads;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t == 1 ? IsZero(n) : 0;
  };
  question.v = [](int64_t, int64_t t, int64_t) { return t == 1 ? 1.0 : 0.0; };
  question.a = [&](int64_t h, int64_t t, int64_t) {
    return t == 0 ? kReset : t == 1 ? kBefore : a[static_cast<size_t>(h)];
  };
  const auto answer = kernel->Ask(question);
  if (!kernel->Answered("scan.decay", answer)) return;
  const std::vector<double> h = FirstStates(answer.value());
  bool prefix = true;
  for (size_t i = 0; i < h.size(); ++i) {
    const auto before = static_cast<float>(kReset + kBefore);
    const float difference = before + static_cast<float>(a[i]) - before;
    const double wanted = ExpDouble(double{difference});
    prefix = prefix && std::fabs(h[i] - wanted) <=
                           wanted * (0x1p-20 + 2 * kernel->profile.exp_rel);
  }
  if (!prefix) {
    kernel->Say("scan.decay", Word::kAssumed,
                "decays do not show how their sums are formed");
    return;
  }
  kernel->scan().decay = DecayForm::kPrefix;
  kernel->Say("scan.decay", Word::kSeen,
              Format("%zu decays behind one of e^-1000 were those of "
                     "differences of two sums",
                     h.size()));
}

namespace {

Result<std::vector<Numbers>> StatesBehind(
    ScanKernel* kernel, const std::vector<TwoDecays>& of_heads,
    int64_t tokens) {
  ScanQuestion question;
  question.tokens = tokens;
  question.heads = static_cast<int64_t>(of_heads.size());
  question.a = DecaysOf(of_heads);
  question.carry_h = Always(1);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  return std::vector<Numbers>{FirstStates(answer)};
}

// The last token reads a state that the first one left, by channel.
Result<bool> ReadsTheState(ScanKernel* kernel, int64_t apart) {
  const auto x = Doubles(DrawnNumbers(kScanValues, 24, 381));
  const auto qk = Doubles(DrawnNumbers(2, 24, 382));
  ScanQuestion question;
  question.tokens = apart + 1;
  question.q = [&](int64_t, int64_t t, int64_t n) {
    return t == apart && n == 0 ? qk[0] : 0;
  };
  question.k = [&](int64_t, int64_t t, int64_t n) {
    return t == 0 && n == 0 ? qk[1] : 0;
  };
  question.v = [&](int64_t, int64_t t, int64_t p) {
    return t == 0 ? x[static_cast<size_t>(p)] : 0;
  };
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  bool reads = true;
  for (size_t p = 0; p < x.size(); ++p) {
    const float read = static_cast<float>(qk[0]) * answer.h[0][p][0];
    reads = reads && answer.y[0].back()[p] == read;
  }
  return reads;
}

Result<bool> StatesInOrder(ScanKernel* kernel, int64_t apart) {
  ScanQuestion question;
  question.tokens = TokensOfThree(apart);
  question.k = FirstCoordinate();
  question.v = ThreeTerms(apart);
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  bool in_order = true;
  for (int64_t p = 0; p < kScanValues; ++p) {
    const double came = answer.h[0][static_cast<size_t>(p)][0];
    in_order = in_order && came == LeftOfThree(p, true);
  }
  return in_order;
}

Result<bool> MeetByState(ScanKernel* kernel, int64_t apart) {
  const auto in_order = StatesInOrder(kernel, apart);
  if (!in_order.ok() || !in_order.value()) return in_order;
  return ReadsTheState(kernel, apart);
}

}  // namespace

void AskChunk(ScanKernel* kernel) {
  LearnChunk(kernel,
             {[kernel](const std::vector<TwoDecays>& of_heads, int64_t tokens) {
                return StatesBehind(kernel, of_heads, tokens);
              },
              [kernel](int64_t apart) { return MeetByState(kernel, apart); }});
}

}  // namespace lockstep::verify
