// Weights: what they are rounded to before they meet V, which ones the row's
// sum has, where the division stands, how good exp is.
#include <algorithm>
#include <array>
#include <cmath>

#include "verify/base/binary64.h"
#include "verify/base/format.h"
#include "verify/base/status_macros.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/attention_forward/weights.h"
#include "verify/identify/attention_forward/weights_e4m3.h"
#include "verify/identify/functions.h"
#include "verify/identify/models.h"
#include "verify/identify/near_pairs.h"

namespace lockstep::verify {
namespace {

constexpr size_t kPairs = 192;
constexpr double kWarnExp = 0x1p-14;

}  // namespace

std::vector<WeightRow> WeightRows() {
  std::vector<WeightRow> rows;
  const std::vector<float> drawn = DrawnNumbers(kPairs, 7, 71);
  for (size_t i = 0; i < kPairs; ++i) {
    // u from 1/4 to 16; w is 1 to 3 units of its eighth bit more.
    const int e = static_cast<int>(i % 6) - 2;
    const double u = std::ldexp(double{drawn[i]}, e);
    const double step = std::ldexp(1.0, e - 7);
    rows.push_back({u, u + step * static_cast<double>(1 + i / 6 % 3)});
  }
  return rows;
}

AttentionQuestion WeightQuestion(const std::vector<WeightRow>& rows) {
  AttentionQuestion question;
  for (const WeightRow& row : rows) {
    question.q.push_back({static_cast<float>(row.u), static_cast<float>(row.w),
                          0, 0, 0, 0, 0, 0});
  }
  question.k = {{0, 0, 0, 0, 0, 0, 0, 0},
                {-1, 0, 0, 0, 0, 0, 0, 0},
                {0, -1, 0, 0, 0, 0, 0, 0}};
  // Channel 1 is the largest weight.
  question.v = {{0, 1, 0, 0}, {1, 0, 1, 0}, {-1, 0, 0, 1}};
  return question;
}

namespace {

// What weights become, and where.
struct WeightModel {
  const RoundingModel* rounding = nullptr;
  Normalise normalise = Normalise::kDeferred;
};

std::vector<WeightModel> ModelsOf(Lane lane) {
  std::vector<WeightModel> models;
  for (const Normalise place : {Normalise::kDeferred, Normalise::kBefore}) {
    for (const RoundingModel* rounding : ModelsBeside(lane)) {
      // Weights in f32 do not show where the division is.
      const bool f32 = rounding->type == NumberType::kF32;
      if (f32 && place == Normalise::kBefore) continue;
      models.push_back({rounding, place});
    }
  }
  // Models whose weights a division rounds also precede tf32.
  if (lane == Lane::kF16) {
    std::ranges::stable_partition(models, [](const WeightModel& model) {
      return model.rounding->type != NumberType::kTf32;
    });
  }
  return models;
}

// The difference of the two small weights, as o has it; none where an error of
// `margin` could round one of them otherwise.
struct Wanted {
  bool told = false;
  double difference = 0;
};
Wanted WantedBy(const WeightModel& model, const WeightRow& row, double margin) {
  const bool before = model.normalise == Normalise::kBefore;
  const double sum = row.sum();
  const double unit = before ? sum : 1;
  const double first = row.first() / unit, second = row.second() / unit;
  Wanted wanted;
  wanted.told = !NearBorder(*model.rounding, first, margin) &&
                !NearBorder(*model.rounding, second, margin);
  const double left =
      double{RoundedBy(*model.rounding, static_cast<float>(first))} -
      double{RoundedBy(*model.rounding, static_cast<float>(second))};
  wanted.difference = before ? left : left / sum;
  return wanted;
}

// Whether the model explains every row that it tells of, and tells of many.
bool Explains(const AttentionKernel& kernel, const WeightModel& model,
              const std::vector<WeightRow>& rows, const Rows& o,
              double margin) {
  size_t told = 0;
  const bool f32 = kernel.lane() == Lane::kF32;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Wanted wanted = WantedBy(model, rows[i], margin);
    if (!wanted.told) continue;
    ++told;
    const double share = rows[i].first() / rows[i].sum();
    const double coarse = model.rounding->type == NumberType::kF32
                              ? 2 * margin * share
                              : 0x1p-18 * share;
    // l of rounded weights is another l, by less than bf16's last place.
    const double other_l =
        std::fabs(wanted.difference) *
        (model.rounding->type == NumberType::kF32 ? 0 : 0x1p-7);
    const double out = f32 ? 0 : kernel.OutputNoise(wanted.difference);
    if (!(std::fabs(double{o[i][0]} - wanted.difference) <=
          coarse + out + other_l)) {
      return false;
    }
  }
  return told >= rows.size() / 4;
}

// Whether l is the sum of rounded weights, by lse.
bool SumIsRounded(const AttentionKernel& kernel, const WeightModel& model,
                  const std::vector<WeightRow>& rows,
                  const std::vector<float>& lse) {
  bool rounded = true, plain = true;
  for (size_t i = 0; i < rows.size(); ++i) {
    const WeightRow& row = rows[i];
    const auto part = [&](double p) {
      return double{RoundedBy(*model.rounding, static_cast<float>(p))};
    };
    if (NearBorder(*model.rounding, row.first(), 0x1p-16) ||
        NearBorder(*model.rounding, row.second(), 0x1p-16)) {
      continue;
    }
    const double read = double{lse[i]} / kernel.lse_unit;
    const double of_rounded =
        LogDouble(1 + part(row.first()) + part(row.second()));
    rounded = rounded && std::fabs(read - of_rounded) <= 0x1p-18;
    plain = plain && std::fabs(read - LogDouble(row.sum())) <= 0x1p-18;
  }
  return rounded && !plain;
}

std::string LineToAdd(const WeightModel& model) {
  std::string line = "p = ";
  const NumberType type = model.rounding->type;
  line += type == NumberType::kTf32   ? "tf32"
          : type == NumberType::kBf16 ? "bf16"
                                      : "f16";
  if (model.rounding->how == Rounding::kTruncate)
    line += ", p_round = truncate";
  return line;
}

// Takes a model over, or reports it.
void TakeWeights(AttentionKernel* kernel, const WeightModel& model,
                 double margin) {
  NumericProfile& p = kernel->profile;
  const NumberType type = model.rounding->type;
  // In f32 only the units that round V round weights as well, and alike.
  const bool unit =
      IsOfLane(type, kernel->lane()) ||
      (p.operand_v == type && p.operand_round == model.rounding->how);
  const bool before = model.normalise == Normalise::kBefore;
  const std::string came = Format(
      "%zu differences of two weights were those of weights %s%s (to %.2g)",
      kPairs, type == NumberType::kF32 ? "in f32" : model.rounding->text,
      before ? " that were divided by their sum before" : "", margin);
  if (!unit || !model.rounding->adopt) {
    p.p = NumberType::kF32;
    kernel->Say("p", Word::kReported, came, LineToAdd(model));
    return;
  }
  p.p = type;
  p.p_round = model.rounding->how;
  kernel->Say("p", Word::kSeen, came);
  if (!before) return;
  p.normalise = Normalise::kBefore;
  p.max = {MaxPolicy::Kind::kTwoPass, 0};
  p.splits = 1;
  kernel->Say("normalise", Word::kSeen, came);
}

}  // namespace

void AskWeights(AttentionKernel* kernel) {
  kernel->profile.p = NumberType::kF32;
  kernel->profile.p_round = Rounding::kNearest;
  const std::vector<WeightRow> rows = WeightRows();
  const auto answer = kernel->Ask(WeightQuestion(rows));
  if (!kernel->Answered("p", answer)) return;
  // An exp of few bits leaves fewer rows that tell.
  for (const double margin : kExpErrors) {
    for (const WeightModel& model : ModelsOf(kernel->lane())) {
      if (!Explains(*kernel, model, rows, answer->o, margin)) continue;
      TakeWeights(kernel, model, margin);
      if (kernel->profile.p != NumberType::kF32 &&
          model.normalise == Normalise::kDeferred) {
        kernel->weight_unit = UnitRoundoff(model.rounding->type);
        kernel->weight_margin = margin;
        kernel->weight_rounding = [rounding = model.rounding](double x) {
          return double{RoundedBy(*rounding, static_cast<float>(x))};
        };
      }
      if (kernel->ReadsBits() && model.rounding->type != NumberType::kF32 &&
          model.normalise == Normalise::kDeferred &&
          SumIsRounded(*kernel, model, rows, answer->lse)) {
        kernel->Say("l_from", Word::kReported,
                    "lse was that of the rounded weights' sum",
                    "l_from = rounded");
      }
      return;
    }
  }
  if (const auto e4m3 = FindE4m3Weights(kernel)) {
    ReportE4m3Weights(*e4m3, kernel);
    return;
  }
  kernel->Say("p", Word::kCannotTell,
              Format("of weights e^-%g and e^-%g the difference in o was %.9g",
                     rows[0].u, rows[0].w, double{answer->o[0][0]}));
}

namespace {

constexpr size_t kExpPoints = 448;

// One key of score 0, one of -u: u from 1/64 to 4, by lse to 2.5, for there a
// small weight is lost in the sum. The last row has u = 0.
std::vector<double> ExpArguments(bool by_o) {
  std::vector<double> u;
  const std::vector<float> drawn = DrawnNumbers(kExpPoints, 8, 81);
  for (size_t i = 0; i < kExpPoints; ++i) {
    const double x = std::ldexp(double{drawn[i]}, static_cast<int>(i % 8) - 6);
    if (by_o || x <= 2.5) u.push_back(x);
  }
  u.push_back(0);
  return u;
}

// The weight of the second key relative to the first one's, and its noise.
ErrorPoint PointOf(const AttentionKernel& kernel, bool by_o, double u,
                   const std::vector<float>& o, float lse) {
  const double right = ExpDouble(-u);
  if (by_o) {
    const double p = double{o[1]} / double{o[0]};
    return {u, p / right - 1, 0x1p-22};
  }
  const double p = ExpDouble(double{lse} / kernel.lse_unit) - 1;
  return {u, p / right - 1, 0x1p-21 * (1 + right) / right};
}

// What o or lse say of the weights e^-u. Errors: there is no answer.
Result<std::vector<ErrorPoint>> AskPoints(AttentionKernel* kernel, bool by_o,
                                          const std::vector<double>& u) {
  AttentionQuestion question;
  for (const double x : u) {
    question.q.push_back({static_cast<float>(x), 0, 0, 0, 0, 0, 0, 0});
  }
  question.k = {{0, 0, 0, 0, 0, 0, 0, 0}, {-1, 0, 0, 0, 0, 0, 0, 0}};
  question.v = {{1, 0, 0, 0}, {0, 1, 0, 0}};
  ASSIGN_OR_RETURN(const auto answer, kernel->Ask(question));
  std::vector<ErrorPoint> points;
  for (size_t i = 0; i < u.size(); ++i) {
    points.push_back(PointOf(*kernel, by_o, u[i], answer.o[i],
                             answer.lse.empty() ? 0 : answer.lse[i]));
  }
  return points;
}

// Whether the same weights come again where the rows stand in another order.
bool ComesAgain(AttentionKernel* kernel, bool by_o,
                const std::vector<ErrorPoint>& points) {
  std::vector<double> u;
  for (const ErrorPoint& point : points) u.push_back(point.x);
  std::reverse(u.begin(), u.end());
  auto again = AskPoints(kernel, by_o, u);
  if (!again.ok()) return false;
  std::reverse(again.value().begin(), again.value().end());
  return SameAnswers(points, again.value());
}

double ExpOfMinus(double u) { return ExpDouble(-u); }

// Why the answers cannot show exp; empty: they can.
std::string WhyExpIsHidden(const AttentionKernel& kernel, bool by_o) {
  if (!kernel.unit_weights()) return "the weight of a single key is not 1";
  const bool by_lse =
      kernel.ReadsBits() && kernel.found.Find("l_from") == nullptr;
  if (by_o || by_lse) return "";
  const FieldEvidence* weights = kernel.found.Find(kernel.WeightKey());
  const bool told = weights != nullptr && weights->word != Word::kCannotTell;
  return told ? "weights are rounded too coarsely to show it"
              : "the weights themselves are not explained";
}

}  // namespace

void AskExp(AttentionKernel* kernel) {
  const FieldEvidence* weights = kernel->found.Find(kernel->WeightKey());
  const bool by_o = kernel->FineWeights() && weights != nullptr &&
                    weights->word == Word::kSeen &&
                    kernel->WeightType() == NumberType::kF32;
  const std::string hidden = WhyExpIsHidden(*kernel, by_o);
  if (!hidden.empty()) {
    kernel->Say("exp_rel", Word::kAssumed, hidden);
    return;
  }
  const auto asked = AskPoints(kernel, by_o, ExpArguments(by_o));
  if (!kernel->Answered("exp_rel", asked)) return;
  std::vector<ErrorPoint> points = asked.value();
  const ErrorPoint at_zero = points.back();
  points.pop_back();
  if (!(std::fabs(at_zero.error) <= at_zero.noise)) {
    kernel->Say("exp_rel", Word::kCannotTell,
                Format("two keys of one score had weights whose ratio is off "
                       "by %.3g",
                       at_zero.error));
    return;
  }
  constexpr double kFactors[] = {1, kLog2E};
  if (ReportRoundedArgument(kernel, "exp_rel", points, &ExpOfMinus, kFactors)) {
    return;
  }
  const std::array<double, 7> legal = {kernel->profile.exp_rel,
                                       0x1p-20,
                                       0x1.1p-18,
                                       0x1p-16,
                                       0x1p-13,
                                       0x1p-11,
                                       0x1p-10};
  const auto fit = LearnError(kernel, "exp_rel", "weight", points, legal,
                              [&] { return ComesAgain(kernel, by_o, points); });
  if (!fit) return;
  kernel->profile.exp_rel = fit->value;
  kernel->Say("exp_rel", Word::kSeen,
              Format("%zu weights from e^-4 to 1: the largest error was %.3g, "
                     "and equal scores had equal weights",
                     points.size(), fit->largest));
  if (fit->value > kWarnExp) {
    kernel->Warn(
        Format("exp is good to %.2g only: every weight may be off by "
               "so much of itself",
               fit->value));
  }
}

}  // namespace lockstep::verify
