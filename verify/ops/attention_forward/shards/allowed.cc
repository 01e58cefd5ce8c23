#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <utility>

#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"
#include "verify/base/status_macros.h"
#include "verify/ops/allowed_elements.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/shards/shards.h"
#include "verify/oracle/attention_forward/truth.h"

namespace lockstep::verify {
namespace {

using oracle::RowKind;

// N23's exp2 and log2 are good to 2^-23 and 2^-22 (docs/elementary.md).
constexpr double kExp2Error = 2 * kU;
constexpr double kLog2Error = 4 * kU;
// Room for terms that are products of two small errors.
constexpr double kSecondOrder = 1.01;
// Above it the weights of shards tell nothing.
constexpr double kMostEta = 1;
// Shards' truths that differ from the whole's by more were cut wrongly. Both
// are good to 2^-32 of the sizes of their terms.
constexpr double kSameTruth = 0x1p-24;

// Truth and envelope of some rows of a problem.
struct Judged {
  Judged(const AttentionForwardTrial& trial, const NumericProfile& profile,
         std::vector<int64_t> which, int threads)
      : rows(std::move(which)),
        envelope(profile, trial.data().problem, 1, 1e-3,
                 RangeOf(trial.data().inputs, profile)) {
    oracle::TruthOptions options;
    options.rows = &rows;
    options.threads = threads;
    truth = oracle::ComputeTruth(trial.data().problem, trial.data().inputs,
                                 envelope.error_model(), options);
  }

  std::vector<int64_t> rows;
  AttentionEnvelope envelope;
  oracle::AttentionTruth truth;
};

// A shard's answer to a row of the whole.
struct RowPart {
  const Judged* shard = nullptr;
  size_t r = 0;       // its row in shard->truth
  double log = 0;     // of W_s
  double weight = 0;  // W_s: of the whole's, by the truth
  double eta = 0;     // of its logarithm, as the merge reads it
  RowSlack slack{};

  // What W_s may be where its logarithm is off by `more`. A weight that
  // underflows here need not do so in the merge.
  double Grown(double more) const {
    return weight > 0 ? weight * ExpDouble(more) : ExpDouble(log + more);
  }
  const oracle::RowTruth& row() const { return shard->truth.rows[r]; }
  size_t At(size_t c) const {
    return r * static_cast<size_t>(shard->truth.value_dim) + c;
  }
};

// Half of the last place of a number of the size, or a whole one where the
// kernel's conversion is not to nearest.
double LastPlace(double size, Lane lane, Rounding rounding) {
  const LaneRow& row = LaneRowOf(lane);
  int exponent = 0;
  std::frexp(std::max(size, std::ldexp(1.0, row.min_exponent)), &exponent);
  const double unit = std::ldexp(1.0, exponent - row.digits);
  return rounding == Rounding::kNearest ? unit / 2 : unit;
}

// One row of the whole, put together.
class MergedRow {
 public:
  MergedRow(const Judged& whole, size_t n, const NumericProfile& profile,
            Lane lane, std::vector<RowPart> parts)
      : whole_(whole),
        n_(n),
        profile_(profile),
        lane_(lane),
        parts_(std::move(parts)),
        row_(whole.truth.rows[n]) {
    open_ = !Weigh();
  }

  // The error of the judge's own cut, in units of its bound, over rows whose
  // truth is a number.
  double Apart() const;

  Bounds Output(size_t c) const;
  Bounds Lse() const;

 private:
  bool Weigh();
  bool Ordinary() const { return std::isfinite(row_.lse); }
  size_t At(size_t c) const {
    return n_ * static_cast<size_t>(whole_.truth.value_dim) + c;
  }
  double Truth(size_t c) const { return whole_.truth.o[At(c)]; }
  double parts() const { return static_cast<double>(parts_.size()); }

  const Judged& whole_;
  size_t n_;
  const NumericProfile& profile_;
  Lane lane_;
  std::vector<RowPart> parts_;  // that are read
  const oracle::RowTruth& row_;
  bool open_ = false;   // nothing is said of it
  double top_ = -kInf;  // the largest lse
  double eta_ = 0;      // of the logarithm of the sum of weights
};

// The weights and their errors. False: nothing can be said.
bool MergedRow::Weigh() {
  const auto unread = [](const RowPart& part) {
    return part.row().lse == -kInf;
  };
  const bool nan = std::any_of(
      parts_.begin(), parts_.end(),
      [](const RowPart& part) { return part.row().kind == RowKind::kNaN; });
  if (!Ordinary()) return true;
  // A shard whose scores are all -infinity is NaN by itself, though the whole
  // is not.
  if (nan) return false;
  std::erase_if(parts_, unread);
  for (const RowPart& part : parts_) top_ = std::max(top_, part.row().lse);
  const double unit = LseUnit(profile_);
  double grown = 0;
  for (RowPart& part : parts_) {
    const oracle::RowTruth& row = part.row();
    const Bounds lse = part.shard->envelope.Lse(part.shard->truth, part.r);
    if (lse.allowed.Unbounded() || !std::isfinite(lse.error)) return false;
    // Another base costs a constant and a product; then the lse is rounded.
    const double base = unit != 1 ? 4 * kU * std::fabs(row.lse) : 0;
    const double size = std::fabs(row.lse) * unit + lse.error;
    const double stored =
        base + LastPlace(size, Lane::kF32, Rounding::kNearest) / unit;
    const double merged = 3 * kU * std::fabs(row.lse - top_) + kExp2Error;
    part.eta = (lse.error / unit + stored + merged) * kSecondOrder + 0x1p-140;
    part.log = row.lse - row_.lse;
    part.weight = ExpDouble(part.log);
    part.slack = part.shard->envelope.ForRow(row);
    grown += part.Grown(part.eta);
  }
  eta_ = LogDouble(std::max(grown, 1.0));
  return grown < kInf && eta_ < kMostEta;
}

double MergedRow::Apart() const {
  if (open_ || !Ordinary()) return 0;
  double sum = 0;
  for (const RowPart& part : parts_) sum += part.weight;
  double apart = std::fabs(sum - 1) / (kSameTruth * (1 + std::fabs(row_.lse)));
  for (size_t c = 0; c < static_cast<size_t>(whole_.truth.value_dim); ++c) {
    double o = 0;
    for (const RowPart& part : parts_) {
      o += part.weight * part.shard->truth.o[part.At(c)];
    }
    if (!std::isfinite(Truth(c)) || !std::isfinite(o)) continue;
    const double size = whole_.truth.abs_sum[At(c)] + 0x1p-100;
    apart =
        std::max(apart, std::fabs(o - Truth(c)) /
                            (kSameTruth * size * (1 + std::fabs(row_.lse))));
  }
  return apart;
}

Bounds MergedRow::Output(size_t c) const {
  const double o = Truth(c);
  if (row_.kind == RowKind::kNaN || !std::isfinite(o)) {
    const RowSlack slack = whole_.envelope.ForRow(row_);
    return whole_.envelope.Output(whole_.truth, n_, c, slack);
  }
  if (row_.kind == RowKind::kEmpty) return Only(0);
  if (open_) return Anything(o);
  double error = 0, sizes = 0, largest = 0;
  for (const RowPart& part : parts_) {
    if (part.row().kind == RowKind::kEmpty) continue;  // the sink alone
    const Bounds own =
        part.shard->envelope.Output(part.shard->truth, part.r, c, part.slack);
    if (own.allowed.Unbounded() || !std::isfinite(own.error)) {
      return Anything(o);
    }
    const double size = std::fabs(own.truth) + own.error;
    // Of a shard's own answer, which may leave the lane where the whole stays.
    if (!(size <= LaneRowOf(lane_).largest)) return Anything(o);
    const double wrong = own.error + LastPlace(size, lane_, profile_.out_round);
    const double grown = part.Grown(part.eta + eta_);
    error += grown * wrong + (grown - part.weight) * std::fabs(own.truth - o);
    sizes += grown * (size + wrong);
    largest = std::max(largest, size + wrong);
  }
  // N23's sums, its quotient, and weights that underflow.
  const double roundings = (parts() + 2) * kU * kSecondOrder;
  error += roundings * (sizes + std::fabs(o) + error) +
           parts() * 0x1p-148 * (1 + largest);
  error *= kRoundUp;
  const ValueSet set =
      RoundedSet(o - error, o + error, lane_, Rounding::kNearest);
  return {set, set, o, error, error, error > VacuousError(row_)};
}

Bounds MergedRow::Lse() const {
  if (row_.kind == RowKind::kNaN) return whole_.envelope.Lse(whole_.truth, n_);
  // N23's, whatever the kernel writes for a row that sees nothing.
  if (!Ordinary()) return Only(row_.lse);
  if (open_) return Anything(row_.lse);
  const double log = LogDouble(parts() + 1);
  const double error =
      (eta_ + (kLog2Error + 2 * kU) * log + 2 * kU * (std::fabs(top_) + log)) *
          kRoundUp +
      0x1p-140;
  const ValueSet set = StoredLse(profile_, row_.lse, error);
  const double unit = LseUnit(profile_);
  return {set, set, row_.lse * unit, error * unit, error * unit, false};
}

// For every judged row of the whole, what shards answer to it.
Result<std::vector<std::vector<RowPart>>> GatherParts(
    const AttentionForwardTrial& whole, const std::vector<int64_t>& rows,
    const std::vector<AttentionShard>& shards, const NumericProfile& profile,
    int threads, std::deque<Judged>* judged) {
  std::vector<std::vector<RowPart>> gathered(rows.size());
  for (const AttentionShard& shard : shards) {
    std::vector<int64_t> here;
    std::vector<size_t> own;
    for (const LinePair& pair : QueryLines(whole.data().problem, shard.pick)) {
      const auto at = std::lower_bound(rows.begin(), rows.end(), pair.own);
      if (at == rows.end() || *at != pair.own) continue;
      here.push_back(pair.here);
      own.push_back(static_cast<size_t>(at - rows.begin()));
    }
    if (here.empty()) continue;
    ASSIGN_OR_RETURN(const LawCall call, AttentionCallOf(whole, shard.pick));
    judged->emplace_back(static_cast<const AttentionForwardTrial&>(*call.trial),
                         profile, std::move(here), threads);
    for (size_t r = 0; r < own.size(); ++r) {
      gathered[own[r]].push_back({&judged->back(), r});
    }
  }
  return gathered;
}

class MergedAttention final : public AllowedElements {
 public:
  MergedAttention(const AttentionForwardTrial& whole, std::vector<int64_t> rows)
      : AllowedElements(whole, std::move(rows)),
        channels_(static_cast<size_t>(whole.data().problem.value_dim)) {}

  void Add(const MergedRow& row) {
    for (size_t c = 0; c < channels_; ++c) bounds_[0].push_back(row.Output(c));
    bounds_[1].push_back(row.Lse());
  }
  std::span<const double> truth() const override { return {}; }

 private:
  size_t Count(size_t t, size_t) const override {
    return t == 0 ? channels_ : 1;
  }
  lockstep::verify::Bounds Element(size_t t, size_t n,
                                   size_t i) const override {
    return bounds_[t][n * Count(t, n) + i];
  }

  size_t channels_;
  std::vector<lockstep::verify::Bounds> bounds_[2];  // of o and lse
};

}  // namespace

Result<std::unique_ptr<AllowedResults>> AllowMerged(
    const AttentionForwardTrial& whole,
    const std::vector<AttentionShard>& shards, const NumericProfile& profile,
    std::vector<int64_t> rows, int threads) {
  const Judged own(whole, profile, rows, threads);
  std::deque<Judged> judged;
  ASSIGN_OR_RETURN(auto gathered,
                   GatherParts(whole, rows, shards, profile, threads, &judged));
  auto made = std::make_unique<MergedAttention>(whole, rows);
  for (size_t n = 0; n < rows.size(); ++n) {
    const MergedRow row(own, n, profile, whole.data().problem.lane,
                        std::move(gathered[n]));
    if (!(row.Apart() <= 1)) {
      return Status::Error(
          "the truths of the shards do not add up to that of row " +
          std::to_string(rows[n]));
    }
    made->Add(row);
  }
  return std::unique_ptr<AllowedResults>(std::move(made));
}

}  // namespace lockstep::verify
