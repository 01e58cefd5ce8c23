#include "verify/ops/attention_backward/handed_back.h"

#include <algorithm>

#include "verify/allowed/attention_backward/envelope.h"
#include "verify/allowed/rounding.h"

namespace lockstep::verify {

HandedBack::HandedBack(const AttentionBackwardTrial& trial,
                       const NumericProfile& profile,
                       const std::vector<int64_t>& rows, int threads,
                       bool probe)
    : profile_(profile),
      lane_(trial.data().problem.forward.lane),
      envelope_(
          profile, trial.data().problem.forward,
          static_cast<double>(rows.size()) *
              static_cast<double>(trial.data().problem.forward.value_dim + 1),
          1e-3, RangeOf(trial.data().inputs.forward, profile)) {
  const AttentionForwardProblem& p = trial.data().problem.forward;
  if (probe) probe_ = OwnForwardProbe::Make(p, profile);
  const bool every = !trial.data().own.lse;
  std::vector<int64_t> queries;
  for (const int64_t row : rows) {
    const BackwardRow at = trial.RowAt(row);
    const bool query = at.kind == BackwardRow::Kind::kQuery;
    const int64_t flat = (at.b * p.q_heads + at.head) * p.q_len + at.position;
    place_.push_back(every ? static_cast<size_t>(flat) : queries.size());
    if (query) queries.push_back(flat);
  }
  oracle::TruthOptions options;
  options.rows = every ? nullptr : &queries;
  options.threads = threads;
  truth_ = oracle::ComputeTruth(p, trial.data().inputs.forward,
                                envelope_.error_model(), options);
  for (size_t r = 0; r < truth_.rows.size(); ++r) {
    slack_.push_back(envelope_.ForRow(truth_.rows[r]));
    if (!every) continue;
    range_.lse.push_back(truth_.rows[r].lse);
    range_.wrong.push_back(UnseenLse(r));
  }
}

namespace {

// What is nearer of the two; a row without a key has one answer.
Bounds Nearer(const oracle::RowTruth& row, const Bounds& bounds,
              const ValueSet& set, double error) {
  const bool counts = row.kind == oracle::RowKind::kOrdinary &&
                      row.visible > 0 && error < bounds.error;
  if (!counts) return bounds;
  return {set, set, bounds.truth, error, error, false};
}

}  // namespace

double HandedBack::UnseenLse(size_t place) const {
  const double error = UnseenLseError(envelope_, truth_, place);
  const oracle::RowTruth& row = truth_.rows[place];
  if (!probe_ || row.visible == 0) return error;
  const double exact = probe_->OfLse(static_cast<double>(row.visible)) +
                       envelope_.model().division + 4 * kU;
  return std::min(error, exact);
}

Bounds HandedBack::O(size_t n, size_t c) const {
  const size_t r = place_[n];
  const Bounds bounds = envelope_.Output(truth_, r, c, slack_[r]);
  const oracle::RowTruth& row = truth_.rows[r];
  if (!probe_ || row.visible == 0) return bounds;
  const double error =
      probe_->OfO(static_cast<double>(row.visible), bounds.truth);
  return Nearer(row, bounds,
                RoundedSet(bounds.truth - error, bounds.truth + error, lane_,
                           profile_.out_round),
                error);
}

Bounds HandedBack::Lse(size_t n) const {
  const size_t r = place_[n];
  const Bounds bounds = envelope_.Lse(truth_, r);
  const oracle::RowTruth& row = truth_.rows[r];
  if (!probe_ || row.visible == 0) return bounds;
  const double error = probe_->OfLse(static_cast<double>(row.visible));
  return Nearer(row, bounds, StoredLse(profile_, row.lse, error), error);
}

}  // namespace lockstep::verify
