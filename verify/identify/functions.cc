#include "verify/identify/functions.h"

#include <algorithm>
#include <cmath>

#include "verify/base/format.h"
#include "verify/identify/models.h"

namespace lockstep::verify {
namespace {

// Errors of a cut function have a mean of a third of the largest; those of a
// rounded one, about none.
constexpr double kMostMean = 0.2;
// A line through the errors that halves them is no function's.
constexpr double kMostLine = 0.5;
// Points do not meet the very largest error.
constexpr double kMissed = 1.02;

struct Line {
  double slope = 0;
  double at_zero = 0;
};

// Least squares.
Line LineThrough(const std::vector<ErrorPoint>& points) {
  const auto n = static_cast<double>(points.size());
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const ErrorPoint& point : points) {
    x += point.x / n;
    y += point.error / n;
    xx += point.x * point.x / n;
    xy += point.x * point.error / n;
  }
  const double spread = xx - x * x;
  Line line;
  if (spread > 0) line.slope = (xy - x * y) / spread;
  line.at_zero = y - line.slope * x;
  return line;
}

}  // namespace

bool SameAnswers(const std::vector<ErrorPoint>& points,
                 const std::vector<ErrorPoint>& again) {
  if (points.size() != again.size()) return false;
  for (size_t i = 0; i < points.size(); ++i) {
    const double apart = std::fabs(points[i].error - again[i].error);
    if (!(apart <= 2 * points[i].noise)) return false;
  }
  return true;
}

FunctionFit FitErrors(const std::vector<ErrorPoint>& points,
                      std::span<const double> legal) {
  FunctionFit fit;
  double sure = 0, mean = 0, rest = 0;
  const Line line = LineThrough(points);
  for (const ErrorPoint& point : points) {
    const double size = std::fabs(point.error);
    if (!std::isfinite(size)) {
      fit.why = Format("no number at %g", point.x);
      return fit;
    }
    fit.largest = std::max(fit.largest, size);
    sure = std::max(sure, size - point.noise);
    mean += point.error / static_cast<double>(points.size());
    rest = std::max(
        rest, std::fabs(point.error - line.at_zero - line.slope * point.x));
  }
  if (sure <= legal.front()) {
    fit.value = legal.front();
    return fit;
  }
  if (std::fabs(mean) > kMostMean * fit.largest) {
    fit.why = Format(
        "errors up to %.3g all lie on one side (mean %.3g): a wrong number, "
        "or a function that is cut",
        fit.largest, mean);
    return fit;
  }
  if (rest < kMostLine * fit.largest) {
    fit.why = Format("errors up to %.3g grow with the argument: a wrong factor",
                     fit.largest);
    return fit;
  }
  for (const double value : legal) {
    if (sure * kMissed <= value) {
      fit.value = value;
      return fit;
    }
  }
  fit.why = Format("errors up to %.3g exceed %g, the largest legal value",
                   fit.largest, legal.back());
  return fit;
}

namespace {

// Whether each error that is large enough to tell is that of an argument
// rounded to the type.
bool IsRounded(const RoundingModel& type, double factor,
               const std::vector<ErrorPoint>& points,
               double (*function)(double)) {
  constexpr double kMargin = 0x1p-20;  // relative, before the rounding
  size_t shown = 0;
  for (const ErrorPoint& point : points) {
    const double argument = point.x * factor;
    if (NearBorder(type, argument, kMargin)) continue;
    const double rounded = RoundedBy(type, static_cast<float>(argument));
    const double wanted = function(rounded / factor) / function(point.x) - 1;
    const double most = point.noise + 0x1p-18;
    if (!(std::fabs(point.error - wanted) <= most)) return false;
    shown += std::fabs(wanted) > 2 * most ? 1 : 0;
  }
  return shown >= points.size() / 8;
}

}  // namespace

bool ReportRoundedArgument(Asker* kernel, const char* field,
                           const std::vector<ErrorPoint>& points,
                           double (*function)(double),
                           std::span<const double> factors) {
  for (const RoundingModel& type : RoundingModels()) {
    if (type.type == NumberType::kF32 || type.type == NumberType::kTf32) {
      continue;
    }
    for (const double factor : factors) {
      if (!IsRounded(type, factor, points, function)) continue;
      kernel->Say(field, Word::kReported,
                  Format("%zu errors were those of an argument that is rounded "
                         "to %s, and of no function",
                         points.size(), type.text));
      return true;
    }
  }
  return false;
}

std::optional<FunctionFit> LearnError(
    Asker* kernel, const char* field, const char* answer,
    const std::vector<ErrorPoint>& points, std::span<const double> legal,
    const std::function<bool()>& comes_again) {
  FunctionFit fit = FitErrors(points, legal);
  if (fit.value > legal[0] && !comes_again()) {
    fit.value = 0;
    fit.why = std::string("the same ") + answer +
              " became another in another order of the queries";
  }
  if (fit.value > 0) return fit;
  kernel->Say(field, Word::kCannotTell, fit.why);
  return std::nullopt;
}

}  // namespace lockstep::verify
