#include "verify/ops/attention_backward/handed_back.h"

#include "verify/allowed/attention_backward/envelope.h"

namespace lockstep::verify {

HandedBack::HandedBack(const AttentionBackwardTrial& trial,
                       const NumericProfile& profile,
                       const std::vector<int64_t>& rows, int threads)
    : envelope_(
          profile, trial.data().problem.forward,
          static_cast<double>(rows.size()) *
              static_cast<double>(trial.data().problem.forward.value_dim + 1),
          1e-3, RangeOf(trial.data().inputs.forward, profile)) {
  const AttentionForwardProblem& p = trial.data().problem.forward;
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
    range_.wrong.push_back(UnseenLseError(envelope_, truth_, r));
  }
}

Bounds HandedBack::O(size_t n, size_t c) const {
  return envelope_.Output(truth_, place_[n], c, slack_[place_[n]]);
}

Bounds HandedBack::Lse(size_t n) const {
  return envelope_.Lse(truth_, place_[n]);
}

}  // namespace lockstep::verify
