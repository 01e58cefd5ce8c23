// What the state is made of: weights, decays, operands, and how it is read.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/identify/mamba3_scan/kernel.h"

namespace lockstep::verify {
namespace {

double IsZero(int64_t n) { return n == 0 ? 1 : 0; }

ScanQuestion::Of Always(double x) {
  return [x](int64_t, int64_t, int64_t) { return x; };
}
ScanQuestion::Of FirstCoordinate() {
  return [](int64_t, int64_t, int64_t n) { return IsZero(n); };
}
// By head; all other tokens have 0.
ScanQuestion::Of OfHead(const std::vector<double>& x, int64_t token) {
  return [&x, token](int64_t h, int64_t t, int64_t) {
    return t == token ? x[static_cast<size_t>(h)] : 0;
  };
}

std::vector<double> Doubles(const std::vector<float>& x) {
  return {x.begin(), x.end()};
}

// h of every head, at its first channel and coordinate.
std::vector<double> FirstStates(const ScanAnswer& answer) {
  std::vector<double> h;
  for (const Rows& of_head : answer.h) h.push_back(double{of_head[0][0]});
  return h;
}

// How numbers arrived; null: as no model has them.
const RoundingModel* Arrived(const std::vector<double>& x,
                             const std::vector<double>& came, double margin) {
  for (const RoundingModel& model : RoundingModels()) {
    size_t told = 0;
    bool all = true;
    for (size_t i = 0; i < x.size(); ++i) {
      if (NearBorder(model, x[i], margin)) continue;
      ++told;
      const double wanted = RoundedBy(model, static_cast<float>(x[i]));
      const double fine =
          model.type == NumberType::kF32 ? std::max(margin, 0x1p-22) : 0x1p-22;
      all = all && std::fabs(came[i] - wanted) <= fine * std::fabs(x[i]);
    }
    if (all && told >= x.size() / 4) return &model;
  }
  return nullptr;
}

}  // namespace

void AskScaled(ScanKernel* kernel) {
  const auto dt = Doubles(DrawnNumbers(kScanHeads, 24, 321));
  ScanQuestion question;
  question.heads = kScanHeads;
  question.k = FirstCoordinate();
  question.v = Always(1);
  question.dt = OfHead(dt, 0);
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) {
    kernel->Say("scan.scaled", Word::kAssumed, answer.message());
    return;
  }
  const std::vector<double> h = FirstStates(answer.value());
  const RoundingModel* model = Arrived(dt, h, 0);
  if (model == nullptr) {
    kernel->Say(
        "scan.scaled", Word::kCannotTell,
        Format("k of 1 with a step of %.9g left a state of %.9g", dt[0], h[0]));
    return;
  }
  kernel->scaled = model;
  kernel->TakeType("scan.scaled", *model, &kernel->scan().scaled,
                   Format("%lld states of k times a step of 24 bits were "
                          "numbers of %s",
                          static_cast<long long>(kScanHeads), model->text));
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
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) return answer.status();
  return FirstStates(answer.value());
}

double Sigmoid(double x) { return 1 / (1 + ExpDouble(-x)); }

bool OnGrid(const std::vector<double>& x, const RoundingModel& model) {
  return std::all_of(x.begin(), x.end(), [&](double one) {
    return double{RoundedBy(model, static_cast<float>(one))} == one;
  });
}

const RoundingModel& Bf16() {
  const auto models = RoundingModels();
  return *std::find_if(models.begin(), models.end(), [](const auto& model) {
    return model.type == NumberType::kBf16 && model.how == Rounding::kNearest;
  });
}

std::vector<ErrorPoint> ErrorsOf(const std::vector<double>& x,
                                 const std::vector<double>& came,
                                 double (*function)(double)) {
  std::vector<ErrorPoint> points;
  for (size_t i = 0; i < x.size(); ++i) {
    points.push_back({std::fabs(x[i]), came[i] / function(x[i]) - 1, 0x1p-22});
  }
  return points;
}

// Learns an error from the answers to `ask`, which takes 64 arguments.
void LearnFunction(ScanKernel* kernel, const char* key,
                   const std::vector<double>& x, double (*function)(double),
                   const std::vector<double>& legal, double* field,
                   Result<std::vector<double>> (*ask)(
                       ScanKernel*, const std::vector<double>&)) {
  const auto came = ask(kernel, x);
  std::vector<double> turned(x.rbegin(), x.rend());
  auto again = came.ok() ? ask(kernel, turned) : came;
  if (!again.ok()) {
    kernel->Say(key, Word::kAssumed, again.message());
    return;
  }
  std::reverse(again.value().begin(), again.value().end());
  const auto points = ErrorsOf(x, came.value(), function);
  FunctionFit fit = FitErrors(points, legal);
  if (!SameAnswers(points, ErrorsOf(x, again.value(), function))) {
    fit.value = 0;
    fit.why = "the same argument became another number in another head";
  }
  if (fit.value == 0) {
    kernel->Say(key, Word::kCannotTell, fit.why);
    return;
  }
  *field = fit.value;
  kernel->Say(key, Word::kSeen,
              Format("%zu values: the largest error was %.3g", points.size(),
                     fit.largest));
}

// Both signs, from 1/8 to 8, of 8 bits.
std::vector<double> Arguments(uint64_t seed, bool both) {
  const auto drawn = DrawnNumbers(kScanHeads, 8, seed);
  std::vector<double> x;
  for (size_t i = 0; i < drawn.size(); ++i) {
    const double size =
        std::ldexp(double{drawn[i]}, static_cast<int>(i / 2 % 6) - 3);
    x.push_back(both && i % 2 == 0 ? size : -size);
  }
  return x;
}

}  // namespace

void AskSigmoid(ScanKernel* kernel) {
  ScanNumeric& scan = kernel->scan();
  if (kernel->scaled == nullptr || kernel->scaled->type != NumberType::kF32) {
    kernel->Say("scan.sigmoid_rel", Word::kAssumed,
                "k times its weight is rounded too coarsely to show it");
    return;
  }
  const auto tau = Arguments(331, true);
  const auto lambda = Lambdas(kernel, tau);
  if (!lambda.ok()) {
    kernel->Say("scan.sigmoid_rel", Word::kAssumed, lambda.message());
    return;
  }
  const bool coarse = OnGrid(lambda.value(), Bf16());
  const RoundingModel& type = coarse ? Bf16() : RoundingModels().front();
  kernel->TakeType(
      "scan.lambda", type, &scan.lambda,
      Format("%zu mixing weights were numbers of %s", tau.size(), type.name));
  if (coarse) {
    kernel->Say("scan.sigmoid_rel", Word::kAssumed,
                "lambda is rounded too coarsely to show it");
    return;
  }
  LearnFunction(kernel, "scan.sigmoid_rel", tau, &Sigmoid,
                {scan.sigmoid_rel, 0x1.1p-18, 0x1p-16}, &scan.sigmoid_rel,
                &Lambdas);
}

namespace {

// By a: what is left of an initial state of 1.
Result<std::vector<double>> Decays(ScanKernel* kernel,
                                   const std::vector<double>& a) {
  ScanQuestion question;
  question.heads = kScanHeads;
  question.a = OfHead(a, 0);
  question.carry_h = Always(1);
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) return answer.status();
  return FirstStates(answer.value());
}

// By the second token's a: the state that the first one left.
Result<std::vector<double>> Updates(ScanKernel* kernel,
                                    const std::vector<double>& a) {
  ScanQuestion question;
  question.tokens = 2;
  question.heads = kScanHeads;
  question.k = [](int64_t, int64_t t, int64_t n) {
    return t == 0 ? IsZero(n) : 0;
  };
  question.v = [](int64_t, int64_t t, int64_t) { return t == 0 ? 1.0 : 0.0; };
  question.a = OfHead(a, 1);
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) return answer.status();
  return FirstStates(answer.value());
}

std::vector<double> Exps(const std::vector<double>& a) {
  std::vector<double> exps;
  for (const double x : a) exps.push_back(ExpDouble(x));
  return exps;
}

}  // namespace

void AskDecay(ScanKernel* kernel) {
  LearnFunction(kernel, "exp_rel", Arguments(341, false), &ExpDouble,
                {kernel->profile.exp_rel, 0x1p-20, 0x1.1p-18, 0x1p-16},
                &kernel->profile.exp_rel, &Decays);
}

void AskDecayed(ScanKernel* kernel) {
  const auto a = Arguments(351, false);
  const auto came = Updates(kernel, a);
  if (!came.ok()) {
    kernel->Say("scan.decayed", Word::kAssumed, came.message());
    return;
  }
  const RoundingModel* model =
      Arrived(Exps(a), came.value(), 0x1p-18 + 2 * kernel->profile.exp_rel);
  if (model == nullptr) {
    kernel->Say("scan.decayed", Word::kCannotTell,
                Format("a value of 1 with a decay of e^%.6g left %.9g", a[0],
                       came.value()[0]));
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
  if (!answer.ok()) {
    kernel->Say("scan.decay", Word::kAssumed, answer.message());
    return;
  }
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

}  // namespace lockstep::verify
