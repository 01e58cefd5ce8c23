#include "verify/allowed/attention_forward/errors_cut.h"

#include <algorithm>
#include <cmath>

#include "verify/allowed/rounding.h"

namespace lockstep::verify {

CutRow::CutRow(const EnvelopeModel& model, const oracle::RowTruth& row,
               double largest, double abs_sum) {
  any_ = model.Cut();
  if (!any_) return;
  const auto visible = static_cast<double>(row.visible);
  const auto steps = [&](const EnvelopeModel::Sum& sum) {
    return sum.cuts > 0 ? sum.half_cut * (std::min(sum.cuts, visible) + 1) : 0;
  };
  steps_ = steps(model.pv);
  weights_ = steps(model.l);
  scores_ = model.cut_score;
  // Half of a unit of the largest number in a block, for a value of ordinary
  // size.
  if (abs_sum > 0) {
    products_ = model.pv.term / 2 *
                (largest + row.visible_value / row.weight_sum) / abs_sum;
  }
}

CutRow::Mean CutRow::Along(const std::vector<float>& a,
                           const HeadOfValues::Weights& weights,
                           const std::vector<float>& values, const double* o,
                           const double* square_sum) const {
  Mean mean;
  if (!any_) return mean;
  double result = 0, wander = 0;
  for (size_t c = 0; c < a.size(); ++c) {
    result += double{a[c]} * o[c];
    wander += double{a[c]} * double{a[c]} * square_sum[c];
  }
  double by_score = 0, largest = 0, squares = 0, sum = 0;
  for (size_t j = 0; j < values.size(); ++j) {
    const double apart =
        double{weights.weight[j]} * (double{values[j]} - result);
    const double reach = double{weights.score[j]} - double{weights.slope[j]};
    by_score += apart * reach;
    largest = std::max(largest, std::fabs(reach));
    squares += apart * apart;
    sum += double{values[j]};
  }
  // Each between nothing and all of it.
  const double most[] = {-steps_ * result, weights_ * result,
                         -scores_ * by_score, -products_ * sum};
  for (const double part : most) {
    mean.middle += part / 2;
    mean.apart += std::fabs(part) / 2;
  }
  // Partial sums wander about their means by the order of keys and channels,
  // which all rows share.
  mean.apart += (steps_ + weights_) / 2 * std::sqrt(wander) +
                scores_ * largest * std::sqrt(squares);
  return mean;
}

double CutRow::Most(double size, double square_sum, double scores) const {
  return (2 * (steps_ + weights_) + scores_ * scores) *
         (size + 4 * std::sqrt(square_sum));
}

}  // namespace lockstep::verify
