#include "verify/allowed/attention_forward/witness.h"

#include <algorithm>
#include <cmath>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/base/binary64.h"

namespace lockstep::verify {
namespace {

// Of the arithmetic below, and of the oracle's own sums: of up to kMostKeys
// terms in binary64 they are good to 2^-32, whatever they are multiplied by.
constexpr double kWitnessRoundUp = 1 + 1e-6;
constexpr double kRounding = 0x1p-28;
constexpr int64_t kMostKeys = int64_t{1} << 20;
// Above it the witness itself would tell little.
constexpr double kMostOwnEta = 0.25;
constexpr double kMostEta = 60;

AttentionForwardProblem WithF32Weights(AttentionForwardProblem problem) {
  problem.p_lane = Lane::kF32;
  problem.order = ProductOrder::kChain;
  problem.split = 1;
  return problem;
}

}  // namespace

const NumericProfile& WitnessProfile() {
  static const NumericProfile profile = [] {
    NumericProfile p = BuiltinProfiles()[0];  // exact-f32
    p.name = "first witness";
    p.lane.reset();
    return p;
  }();
  return profile;
}

WitnessModel::WitnessModel(const NumericProfile& profile,
                           const AttentionForwardProblem& problem,
                           const InputRange& range)
    : profile_(profile),
      problem_(problem),
      claimed_(MakeEnvelopeModel(profile, problem, range)),
      own_(MakeEnvelopeModel(WitnessProfile(), WithF32Weights(problem))),
      why_not_(WhyNot()) {}

// Every coefficient of E has to be at least that of B, save those that
// LeastEta and ForRow make good.
std::string WitnessModel::WhyNot() const {
  if (claimed_.unbounded) return "the profile bounds nothing";
  if (claimed_.weights.fixed_reference) return "no maximum is subtracted";
  const oracle::WeightModel& e = claimed_.weights.bound;
  const oracle::WeightModel& b = own_.weights.bound;
  if (e.distance < b.distance || b.rescale > 0 || b.reference > 0 ||
      b.reference_rescale > 0 || own_.weights.most_rescales > 0 ||
      own_.weights.fixed_reference) {
    return "the exponent is more exact than the witness";
  }
  if (e.floor < b.floor || claimed_.tiny < own_.tiny ||
      claimed_.flush < own_.flush ||
      claimed_.operand_flush < own_.operand_flush) {
    return "small numbers are more exact than the witness";
  }
  if (HasLse(profile_) && claimed_.log < own_.log) {
    return "the logarithm is more exact than the witness";
  }
  return "";
}

WitnessModel::Sizes WitnessModel::SizesOf(const WitnessRow& row) const {
  Sizes sizes;
  sizes.argument = std::fabs(problem_.scale) * row.product * kWitnessRoundUp;
  sizes.top = problem_.softcap ? std::min(sizes.argument, *problem_.softcap)
                               : sizes.argument;
  sizes.top = std::max(sizes.top, row.sink);
  return sizes;
}

double WitnessModel::MostEta(const EnvelopeModel& model, const Sizes& sizes,
                             double rescales) {
  const oracle::WeightModel& m = model.weights.bound;
  const double eta =
      m.constant + rescales * m.rescale +
      sizes.top * (m.reference + rescales * m.reference_rescale) +
      (m.product + m.argument) * sizes.argument +
      (m.score + m.sink) * sizes.top + m.distance * 2 * sizes.top;
  // The oracle adds its own coefficients, which are below 2^-40.
  return eta * kWitnessRoundUp + 0x1p-38 * (1 + sizes.argument + sizes.top);
}

double WitnessModel::LeastEta(const Sizes& sizes, double rescales) const {
  const oracle::WeightModel& e = claimed_.weights.bound;
  const oracle::WeightModel& b = own_.weights.bound;
  // What products more exact than the witness's lack, |z| <= |scale| sum |q k|.
  const double product = b.product - e.product;
  const double lack =
      std::max({product, product + b.argument - e.argument, 0.0}) *
      sizes.argument;
  // Times the softcap's slope within the error, where that is small.
  const double reach = 2 * (b.product + b.argument) * sizes.argument;
  if (lack > 0 && problem_.softcap && !(reach < *problem_.softcap / 8)) {
    return -1;
  }
  return e.constant - b.constant + rescales * e.rescale - 1.5 * lack +
         std::min(e.score - b.score, 0.0) * sizes.top * kWitnessRoundUp;
}

bool WitnessModel::Ordinary(const EnvelopeModel& model, const WitnessRow& row,
                            double rescales, double eta) {
  const double n = static_cast<double>(row.visible) + 1;
  const double denominator = model.Denominator(n, rescales);
  const double largest = std::max(row.value, 1.0) * n * kWitnessRoundUp;
  const bool early = model.largest_early > 0 &&
                     !(largest * model.early_weight < model.largest_early);
  return eta < kMostEta && row.product * kWitnessRoundUp < model.largest &&
         largest < model.largest_sum && !early &&
         std::isfinite(model.Numerator(n, rescales)) && denominator < 0.5 &&
         ExpDouble(-eta) * (1 - denominator) >
             2 * n * model.weights.bound.floor;
}

std::optional<WitnessMargin> WitnessModel::ForRow(const WitnessRow& row) const {
  if (!why_not_.empty() || row.visible <= 0 || row.visible > kMostKeys) {
    return std::nullopt;
  }
  const double n = static_cast<double>(row.visible) + 1;  // the sink
  const double rescales = static_cast<double>(
      std::min(row.visible, claimed_.weights.most_rescales));
  const Sizes sizes = SizesOf(row);
  const double eta = MostEta(own_, sizes, 0);
  if (!(eta < kMostOwnEta) || !Ordinary(own_, row, 0, eta) ||
      !Ordinary(claimed_, row, rescales, MostEta(claimed_, sizes, rescales))) {
    return std::nullopt;
  }
  const double numerator = own_.Numerator(n, 0);
  const double denominator = own_.Denominator(n, 0);
  const double more_eta = LeastEta(sizes, rescales);
  const double more_numerator = claimed_.Numerator(n, rescales) - numerator;
  const double more_denominator =
      claimed_.Denominator(n, rescales) - denominator;
  if (!(more_eta >= 0 && more_numerator >= 0 && more_denominator >= 0)) {
    return std::nullopt;
  }
  // The witness's relative error where no term is negative: its sum of w |v|
  // is at most `growth` times the true one, plus `lost`.
  const double floor = own_.weights.bound.floor;
  const double phi = ExpDouble(eta) - 1 + n * floor;
  const double least = ExpDouble(-eta) * (1 - denominator) - n * floor;
  const double before =
      (2 * phi + numerator * (1 + 3 * phi) + denominator * (1 + phi)) / least;
  WitnessMargin margin;
  margin.growth = (1 + before) * (1 + own_.division) * kWitnessRoundUp;
  margin.lost = 16 * n * (floor * row.value + own_.tiny);
  margin.lse = more_denominator + more_eta - kRounding;
  // What a profile without a division of its own lacks of the witness's.
  const double short_of = std::max(own_.division - claimed_.division, 0.0);
  margin.output = more_numerator + std::min(more_denominator, more_eta) -
                  short_of * margin.growth - kRounding;
  const bool lse = !HasLse(profile_) || margin.lse > 0;
  if (!(margin.output > 0) || !lse) return std::nullopt;
  return margin;
}

bool WitnessModel::Allows(const WitnessMargin& margin, double witness,
                          double abs_sum, double x) const {
  const double error =
      std::max(margin.output * LeastSum(margin, abs_sum) - margin.lost, 0.0);
  // The ends' rounding can only add to what lies between them.
  if (std::fabs(x - witness) <= error) return true;
  return RoundedSet(witness - error, witness + error, problem_.lane,
                    profile_.out_round)
      .Contains(x);
}

bool WitnessModel::AllowsLse(const WitnessMargin& margin, double witness,
                             double x) const {
  // StoredLse widens what it is given by the errors of another base, which the
  // envelope does not have twice.
  const double widened = profile_.lse_base == ExpBase::kTwo ? 4.1 * 0x1p-24 : 0;
  const double error =
      margin.lse * (1 - 1e-6) - (widened + 0x1p-50) * std::fabs(witness);
  return error >= 0 && StoredLse(profile_, witness, error).Contains(x);
}

}  // namespace lockstep::verify
