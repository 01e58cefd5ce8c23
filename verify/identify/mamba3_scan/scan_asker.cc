#include "verify/identify/mamba3_scan/scan_asker.h"

#include <algorithm>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/elements.h"
#include "verify/base/format.h"

namespace lockstep::verify {

ScanElement Always(double x) {
  return [x](int64_t, int64_t, int64_t) { return x; };
}

ScanElement FirstCoordinate() {
  return [](int64_t, int64_t, int64_t n) { return n == 0 ? 1.0 : 0.0; };
}

ScanElement OfHead(const std::vector<double>& x, int64_t token) {
  return [x, token](int64_t h, int64_t t, int64_t) {
    return t == token ? x[static_cast<size_t>(h)] : 0;
  };
}

std::vector<double> Doubles(const std::vector<float>& x) {
  return {x.begin(), x.end()};
}

void FillScan(const Mamba3ScanData& data, ScanTensor tensor,
              const ScanElement& of, int64_t light, double other) {
  const ScanStorage& to = data.at(tensor);
  if (!to.there()) return;
  const auto& n = to.tensor.view.shape;
  for (int64_t h = 0; h < n[1]; ++h) {
    for (int64_t t = 0; t < n[2]; ++t) {
      for (int64_t c = 0; c < n[3]; ++c) {
        const double x = of && t >= light ? of(h, t - light, c) : other;
        SetElement(to.tensor.view, {0, h, t, c},
                   BitsOf(to.tensor.view.lane, x));
      }
    }
  }
}

const char* ScanBase(Lane lane) {
  constexpr const char* kBases[] = {"scan-f32", "siso-bf16-a32",
                                    "siso-f16-a32"};  // by lane
  return kBases[WideLaneIndex(lane)];
}

int64_t LightTokens(int64_t wanted) {
  if (wanted <= 16) return wanted == 0 ? 0 : 16;
  return (wanted + 63) / 64 * 64;
}

void ScanAsker::TakeType(const char* key, const RoundingModel& model,
                         NumberType* field, const std::string& evidence) {
  const bool f32 = model.type == NumberType::kF32;
  const bool unit =
      model.type == NumberType::kTf32 || IsOfLane(model.type, lane());
  if (!model.adopt || !unit) {
    *field = NumberType::kF32;
    Say(key, Word::kReported, evidence, std::string(key) + " = " + model.name);
    return;
  }
  *field = model.type;
  if (model.how == Rounding::kTruncate && !f32) {
    scan().operand_round = OperandRound::kTruncate;
  }
  Say(key, Word::kSeen, evidence);
}

void ScanAsker::CannotTell(const char* key, NumberType* field,
                           const std::string& evidence) {
  *field = NumberType::kF32;
  Say(key, Word::kCannotTell, evidence);
}

void ScanAsker::SettleCompanion() {
  const ScanNumeric base = *LoadProfile(found.base).value().scan;
  ScanNumeric same = scan();
  same.companion = base.companion;
  if (!(same == base)) scan().companion = 0;
}

ScanElement ScanAsker::FirstOfEach() const {
  const bool by_halves = halves;
  return [by_halves](int64_t, int64_t, int64_t n) {
    const bool first =
        by_halves ? n < kScanAngles : n % 2 == 0 && n < 2 * kScanAngles;
    return first ? 1.0 : 0.0;
  };
}

const RoundingModel* Arrived(const std::vector<double>& x,
                             const std::vector<double>& came, Lane lane,
                             double margin, double out) {
  for (const RoundingModel* model : ModelsBeside(lane)) {
    size_t told = 0;
    bool all = true;
    for (size_t i = 0; i < x.size(); ++i) {
      if (NearBorder(*model, x[i], margin)) continue;
      ++told;
      const double wanted = RoundedBy(*model, static_cast<float>(x[i]));
      const double fine =
          model->type == NumberType::kF32 ? std::max(margin, out) : out;
      all = all && std::fabs(came[i] - wanted) <= fine * std::fabs(x[i]);
    }
    if (all && told >= x.size() / 4) return model;
  }
  return nullptr;
}

const RoundingModel& NarrowToNearest(Lane lane) {
  const auto models = RoundingModels();
  const NumberType type = NarrowTypeOf(lane);
  return *std::find_if(models.begin(), models.end(), [&](const auto& model) {
    return model.type == type && model.how == Rounding::kNearest;
  });
}

const RoundingModel* GridOf(const std::vector<double>& numbers) {
  const RoundingModel* found = &RoundingModels().front();
  for (const RoundingModel& model : RoundingModels()) {
    if (model.how == Rounding::kTruncate) continue;
    const bool all = std::all_of(numbers.begin(), numbers.end(), [&](double x) {
      const double on = RoundedBy(model, static_cast<float>(x));
      return std::fabs(on - x) <= 0x1p-20 * std::fabs(x);
    });
    if (all) found = &model;
  }
  return found;
}

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

namespace {

std::vector<ErrorPoint> ErrorsOf(const std::vector<double>& x,
                                 const std::vector<double>& came,
                                 double (*function)(double)) {
  std::vector<ErrorPoint> points;
  for (size_t i = 0; i < x.size(); ++i) {
    points.push_back({std::fabs(x[i]), came[i] / function(x[i]) - 1, 0x1p-22});
  }
  return points;
}

}  // namespace

void LearnFunction(Asker* kernel, const char* key, const std::vector<double>& x,
                   double (*function)(double), std::span<const double> legal,
                   double* field,
                   const std::function<Result<std::vector<double>>(
                       const std::vector<double>&)>& ask) {
  const auto came = ask(x);
  const std::vector<double> turned(x.rbegin(), x.rend());
  auto again = came.ok() ? ask(turned) : came;
  if (!kernel->Answered(key, again)) return;
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

double Sigmoid(double x) { return 1 / (1 + ExpDouble(-x)); }

bool AreSigmoidsIn(const RoundingModel& type, const Numbers& tau,
                   const Numbers& lambda) {
  const double half = type.type == NumberType::kF16 ? 0x1p-11 : 0x1p-8;
  for (size_t i = 0; i < tau.size(); ++i) {
    const double x = lambda[i], wanted = Sigmoid(tau[i]);
    const double on = RoundedBy(type, static_cast<float>(x));
    // Half of its last place, and what a sigmoid may be off before.
    const bool near = std::fabs(x - wanted) <= wanted * (half + 0x1p-15);
    if (!near || on != x) return false;
  }
  return true;
}

std::vector<NearPair> NearNumbers(size_t n, uint64_t seed) {
  const auto first = DrawnNumbers(n, 24, seed);
  const auto other = DrawnNumbers(n, 24, seed + 1);
  std::vector<NearPair> pairs;
  for (size_t i = 0; i < n; ++i) {
    const double x = double{first[i]};
    const double step = (double{other[i]} - 1) * 0x1p-5 + 0x1p-7;
    const double size = i % 2 == 0 ? 1 : 0x1p-18;
    pairs.push_back({x * size, double{static_cast<float>(x + step)} * size, 0});
  }
  return pairs;
}

void SayPairs(ScanAsker* kernel, const char* key, const char* what,
              const std::vector<NearPair>& pairs, double margin, double out,
              NumberType* field) {
  const RoundingModel* model = FitPairs(pairs, kernel->lane(), margin, 2 * out);
  if (model == nullptr) {
    kernel->CannotTell(
        key, field,
        Format("%s of %.9g and %.9g had a difference of %.9g", what,
               pairs[0].first, pairs[0].second, pairs[0].answer));
    return;
  }
  kernel->TakeType(key, *model, field,
                   Format("%zu differences of two %s were those of %s",
                          pairs.size(), what, model->text));
}

void SayPairing(ScanAsker* kernel, const std::vector<float>& turned) {
  const bool neighbours = turned[1] > 0.25f;
  const bool half = turned[kScanState / 2] > 0.25f;
  kernel->halves = half;
  if (neighbours == half) {
    kernel->Say("scan.pairing", Word::kCannotTell,
                "an angle turned neither neighbours nor halves");
    return;
  }
  kernel->Say("scan.pairing", half ? Word::kReported : Word::kSeen,
              half ? "an angle turned coordinates 0 and n / 2"
                   : "an angle turned coordinates 0 and 1",
              half ? "scan.pairing = halves" : "");
}

double TurnsIn(const RoundingModel& type, double turns) {
  if (type.type == NumberType::kF32) return turns;
  return double{RoundedBy(type, static_cast<float>(turns * kTwoPi))} / kTwoPi;
}

void SayAngleForm(ScanAsker* kernel, double largest) {
  const std::string came =
      Format("after %lld tokens of 32 to 64 turns angles were %.3g turns off",
             static_cast<long long>(kAngleTokens), largest);
  // f32 radians of 400 lose 2^-18 turns a token, reduced; 2^-15 in all. Turns
  // and radians that are never reduced come to 6,000 turns, and lose 2^-12.
  constexpr double kReduced = 0x1p-13, kUnreduced = 0x1p-6;
  AngleForm& form = kernel->scan().angle_form;
  form = AngleForm::kTurns;  // the strict value
  if (largest <= 0x1p-21) {
    kernel->Say("scan.angle_form", Word::kSeen, came);
  } else if (largest <= kReduced) {
    form = AngleForm::kRadians;
    kernel->Say("scan.angle_form", Word::kSeen, came);
  } else if (largest <= kUnreduced) {
    kernel->Say("scan.angle_form", Word::kReported, came,
                "scan.angle_form = unreduced");
  } else {
    kernel->Say("scan.angle_form", Word::kCannotTell, came);
  }
}

}  // namespace lockstep::verify
