// Elements whose relative error has no bound, because so many terms are summed
// in so few digits: what can be said of them still, which is that they are
// finite.
//
// Sums of weights. Every term is at least 0, and a rounded sum of two such
// numbers is no smaller than the larger of them if that is representable:
// rounding to nearest and towards zero are monotone. So a term of value t is
// at least t (1 - u) once it is in, and only a multiplication by a rescale's
// factor, rounded, can lessen it afterwards: R of them, and fewer than 20 for
// partial sums, splits and the sink. (1 - u)^k >= exp(-2 k u) for u <= 1/2. Of
// the largest term it is known that its true weight is 1 / W, W = sum p_j, and
// that w eta <= sum w_j eta_j, hence ln of its computed weight is off by at
// most W sum w_j eta_j; it may have lost one underflow. Together
//   least = (exp(-W eta) / W - floor) exp(-2 u (R + 20)).
// A sum of k roundings grows by at most (1 + u)^k <= exp(k u), of whatever
// sign its terms are.
//
// Quotients. |o| <= sum |p v| growth / least, which is no bound to judge by,
// but a number: NaN, infinity and garbage lie outside.
#include <algorithm>
#include <cmath>
#include <optional>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

// exp(80) is far from the ends of f32, and of what these bounds are good for.
constexpr double kMostGrowth = 80;

}  // namespace

double VacuousError(const oracle::RowTruth& row) {
  return std::max(row.visible_value, 0x1p-100) / 4;
}

std::optional<AttentionEnvelope::CrudeSum> AttentionEnvelope::CrudeSumOf(
    const oracle::RowTruth& row) const {
  // Weights relative to something other than the row's maximum may overflow,
  // an eager kernel divides by sums that are not the last one, and an inexact
  // exp(0) lessens a term by more than roundings.
  if (model_.weights.fixed_reference ||
      profile_.normalise == Normalise::kEager ||
      profile_.exp_zero == ExpZero::kRel) {
    return std::nullopt;
  }
  const double n = static_cast<double>(row.visible) + 1;  // the sink
  const double growth = model_.DenominatorGrowth(n, row.rescales);
  const double limit = std::min(model_.largest_sum, 0x1p125);
  if (!(growth < kMostGrowth) ||
      !(n * model_.early_weight * ExpDouble(growth) < limit)) {
    return std::nullopt;
  }
  const double own = row.eta * row.weight_sum;
  const double lost = 2 * model_.l.unit * (row.rescales + 20);
  if (!(own < kMostGrowth) || !(lost < kMostGrowth)) return std::nullopt;
  CrudeSum sum;
  sum.least = (ExpDouble(-own) / row.weight_sum - row.floor) *
              ExpDouble(-lost) / kRoundUp;
  // ln(1 + phi) <= phi.
  sum.most = (row.phi + growth) * kRoundUp;
  if (!(sum.least > 0) || !(sum.most < kInf)) return std::nullopt;
  return sum;
}

Bounds AttentionEnvelope::WideOutput(const oracle::AttentionTruth& truth,
                                     size_t r, size_t c, const RowSlack& slack,
                                     CauseAmounts* shares) const {
  const oracle::RowTruth& row = truth.rows[r];
  const size_t at = r * static_cast<size_t>(truth.value_dim) + c;
  const double o = truth.o[at];
  const ValueSet anything = {-kInf, kInf, true};
  const Bounds none = {anything, anything, o, kInf, kInf};
  const std::optional<CrudeSum> sum = CrudeSumOf(row);
  const double visible = static_cast<double>(row.visible);
  const double growth = model_.NumeratorGrowth(visible + 1, row.rescales);
  if (!sum || !(growth < kMostGrowth)) return none;
  // Any partial sum, before the maximum is known too.
  const double limit = model_.largest_early > 0
                           ? std::min(model_.largest_sum, model_.largest_early)
                           : model_.largest_sum;
  if (!(row.largest_value * (visible + 1) * model_.early_weight *
            ExpDouble(growth) <
        limit)) {
    return none;
  }
  const double size = std::fabs(o);
  const double terms =
      truth.abs_sum[at] + truth.phi_sum[at] + size * row.phi + slack.tiny;
  const double largest =
      (terms * ExpDouble(growth) / sum->least * (1 + model_.division) +
       2 * model_.tiny + model_.flush) *
      kRoundUp;
  if (!(largest < 0x1p127)) return none;
  if (shares != nullptr) {
    const Cause cause = slack.bounded ? Cause::kAccPv : Cause::kAccL;
    (*shares)[static_cast<size_t>(cause)] += 1;
  }
  const ValueSet set =
      RoundedSet(-largest, largest, problem_.lane, profile_.out_round);
  return {set, set, o, largest + size, largest + size, true};
}

}  // namespace lockstep::verify
