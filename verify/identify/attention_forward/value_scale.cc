// Where the scale of v in fp8 is multiplied in: before weights are rounded, or
// after.
#include <cmath>
#include <string>

#include "verify/base/format.h"
#include "verify/case/attention_forward/case.h"
#include "verify/identify/attention_forward/kernel.h"
#include "verify/identify/attention_forward/weights.h"

namespace lockstep::verify {
namespace {

// It moves every number of few bits off its grid, and none beyond its end.
constexpr double kValueScale = 0.6875;
// Rows in which the two places differ, at least.
constexpr int kLeastTold = 16;

enum class Place {
  kNone,     // neither explains the answers
  kUnknown,  // both do
  kInWeights,
  kBehindWeights,
};

// The difference of the two small weights in o.
double DifferenceOf(const AttentionKernel& kernel, Place place,
                    const WeightRow& row) {
  const double before = place == Place::kInWeights ? kValueScale : 1;
  const double after = place == Place::kInWeights ? 1 : kValueScale;
  return (kernel.weight_rounding(row.first() * before) -
          kernel.weight_rounding(row.second() * before)) *
         after / row.sum();
}

bool MayRoundOtherwise(const AttentionKernel& kernel, double x) {
  return kernel.weight_rounding(x * (1 - kernel.weight_margin)) !=
         kernel.weight_rounding(x * (1 + kernel.weight_margin));
}

bool IsTold(const AttentionKernel& kernel, const WeightRow& row) {
  for (const double x : {row.first(), row.second()}) {
    if (MayRoundOtherwise(kernel, x) ||
        MayRoundOtherwise(kernel, x * kValueScale)) {
      return false;
    }
  }
  return true;
}

// The place that explains every row, where the other does not explain many.
Place FindPlace(const AttentionKernel& kernel,
                const std::vector<WeightRow>& rows, const Rows& o) {
  bool in = true, behind = true;
  int told = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!IsTold(kernel, rows[i])) continue;
    const auto explains = [&](Place place) {
      const double wanted = DifferenceOf(kernel, place, rows[i]);
      // l may be the sum of rounded weights.
      const double noise = kernel.weight_unit * std::fabs(wanted) +
                           kernel.OutputNoise(wanted) +
                           0x1p-16 * rows[i].first();
      return std::fabs(double{o[i][0]} - wanted) <= noise;
    };
    const bool is_in = explains(Place::kInWeights);
    const bool is_behind = explains(Place::kBehindWeights);
    told += is_in != is_behind ? 1 : 0;
    in = in && is_in;
    behind = behind && is_behind;
  }
  if (!in && !behind) return Place::kNone;
  if (in == behind || told < kLeastTold) return Place::kUnknown;
  return in ? Place::kInWeights : Place::kBehindWeights;
}

// `by_key`: each key has a scale, not all of them one.
Result<Place> AskPlace(AttentionKernel* kernel, bool by_key) {
  const std::vector<WeightRow> rows = WeightRows();
  AttentionQuestion question = WeightQuestion(rows);
  question.v_scale = ConstantScales(kValueScale);
  if (by_key) question.v_scale->layout.layout = ScaleLayout::kToken;
  const auto answer = kernel->Ask(question);
  if (!answer.ok()) return answer.status();
  return FindPlace(*kernel, rows, answer->o);
}

}  // namespace

void AskValueScale(AttentionKernel* kernel) {
  // Weights that are not rounded, or are divided first, do not show it.
  if (!kernel->weight_rounding) return;
  const Result<Place> shared = AskPlace(kernel, false);
  if (!shared.ok()) return;  // the kernel takes no fp8
  const Result<Place> by_key = AskPlace(kernel, true);
  if (!by_key.ok()) {
    kernel->Say("vscale_at", Word::kAssumed,
                "values with scales of their own: " + by_key.message());
    return;
  }
  ValueScaleAt* const at = &kernel->profile.vscale_at;
  const auto seen = [&](ValueScaleAt place, const char* came) {
    *at = place;
    kernel->Say("vscale_at", Word::kSeen,
                Format("with a scale of %g for all values, and for each: %s",
                       kValueScale, came));
  };
  if (shared.value() == Place::kInWeights &&
      by_key.value() == Place::kInWeights) {
    seen(ValueScaleAt::kP, "weights were rounded with it");
  } else if (shared.value() == Place::kBehindWeights &&
             by_key.value() == Place::kBehindWeights) {
    seen(ValueScaleAt::kAcc, "weights were rounded without it");
  } else if (shared.value() == Place::kBehindWeights &&
             by_key.value() == Place::kInWeights) {
    seen(ValueScaleAt::kAny,
         "only those of each were rounded with the weights, as in N25");
  } else if (shared.value() == Place::kUnknown ||
             by_key.value() == Place::kUnknown) {
    kernel->Say("vscale_at", Word::kAssumed, "weights did not show it");
  } else {
    kernel->Say("vscale_at", Word::kCannotTell,
                "weights were not those that are rounded with a scale of v, or "
                "without it");
  }
}

}  // namespace lockstep::verify
