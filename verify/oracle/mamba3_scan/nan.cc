// Where NaN goes in a scan: which results depend on one, and which tokens one
// of a later token of their chunk may reach through a mask that multiplies.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify/oracle/mamba3_scan/bound.h"
#include "verify/oracle/mamba3_scan/head.h"
#include "verify/oracle/mamba3_scan/truth.h"

namespace lockstep::oracle {
namespace {

using Flags = std::vector<bool>;
using FlagRows = std::vector<Flags>;

bool AnyOf(const Flags& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// The recurrence of docs/ops/mamba3_scan.md over "is NaN": NaN times anything,
// plus anything, is NaN.
class NaNScan {
 public:
  NaNScan(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
          const ScanPlace& place, bool other_pairing)
      : p_(problem),
        head_(problem, inputs, place),
        modes_(ModesOf(problem, other_pairing)),
        bq_(head_.Bias(true)),
        bk_(head_.Bias(false)),
        psi_(head_.Psi()),
        zeta_(head_.Zeta()) {
    const ScanCarry carry = head_.Carry();
    theta_ = NaNsOf(carry.theta);
    for (const Vector& row : carry.h) h_.push_back(NaNsOf(row));
    for (const Vector& row : carry.k) k_.push_back(NaNsOf(row));
    x_ = Projected(carry.v);
  }

  void Step(int64_t t) {
    const ScanToken token = head_.Token(t);
    for (size_t s = 0; s < theta_.size(); ++s) {
      theta_[s] = theta_[s] || std::isnan(token.rate[s]);
    }
    const FlagRows q = Turned(token.q, bq_);
    const FlagRows last_k = k_;
    const FlagRows last_x = x_;
    k_ = Turned(token.k, bk_);
    x_ = Projected(token.v);
    for (size_t n = 0; n < h_.size(); ++n) {
      for (size_t c = 0; c < h_[n].size(); ++c) {
        bool here = h_[n][c] || std::isnan(token.tau);
        for (size_t r = 0; r < k_.size(); ++r) {
          here = here || k_[r][n] || x_[r][c] || last_k[r][n] || last_x[r][c];
        }
        h_[n][c] = here;
      }
    }
    ReadOut(token, q);
  }

  void Finish(ScanTruth* truth) {
    truth->y_nan = std::move(y_);
    truth->theta_nan = theta_;
    for (size_t c = 0; c < Z(p_.head_dim); ++c) {
      for (const Flags& row : h_) truth->h_nan.push_back(row[c]);
    }
    for (const Flags& row : k_) {
      truth->k_nan.insert(truth->k_nan.end(), row.begin(), row.end());
    }
  }

 private:
  static Flags NaNsOf(const Vector& x) {
    Flags flags;
    for (const double value : x) flags.push_back(std::isnan(value));
    return flags;
  }

  FlagRows Projected(const Vector& v) const {
    FlagRows rows;
    for (const Vector& psi : psi_) {
      Flags row = NaNsOf(v);
      for (size_t c = 0; c < row.size(); ++c) {
        row[c] = row[c] || std::isnan(psi[c]);
      }
      rows.push_back(row);
    }
    return rows;
  }

  // Of q or k, biased and rotated: a pair that an angle turns is one.
  FlagRows Turned(const std::vector<Vector>& x,
                  const std::vector<Vector>& bias) const {
    FlagRows rows;
    for (size_t r = 0; r < x.size(); ++r) {
      Flags row = NaNsOf(x[r]);
      for (size_t n = 0; n < row.size(); ++n) {
        row[n] = row[n] || std::isnan(bias[r][n]);
      }
      for (size_t s = 0; s < theta_.size(); ++s) {
        const size_t first = Z(modes_[s].first);
        const size_t second = Z(modes_[s].second);
        row[first] = row[second] = theta_[s] || row[first] || row[second];
      }
      rows.push_back(row);
    }
    return rows;
  }

  void ReadOut(const ScanToken& token, const FlagRows& q) {
    const auto channels = Z(p_.head_dim);
    Flags sum(channels);
    for (size_t r = 0; r < q.size(); ++r) {
      Flags o(channels, AnyOf(q[r]));
      for (size_t c = 0; c < channels; ++c) {
        for (const Flags& row : h_) o[c] = o[c] || row[c];
        o[c] = o[c] || (p_.skip && x_[r][c]);
      }
      if (p_.norm_epsilon) o.assign(channels, AnyOf(o));
      for (size_t c = 0; c < channels && p_.gate; ++c) {
        o[c] = o[c] || std::isnan(token.z[c] * zeta_[r][c]);
      }
      if (!p_.reduce) y_.insert(y_.end(), o.begin(), o.end());
      for (size_t c = 0; c < channels; ++c) sum[c] = sum[c] || o[c];
    }
    if (p_.reduce) y_.insert(y_.end(), sum.begin(), sum.end());
  }

  const Mamba3ScanProblem& p_;
  ScanHead head_;
  std::vector<Mode> modes_;
  std::vector<Vector> bq_, bk_, psi_, zeta_;
  Flags theta_;
  FlagRows h_;      // [n][p]
  FlagRows k_, x_;  // [r][n] and [r][p] of the last token
  Flags y_;
};

// The largest sum of |x| + |bias| over the coordinates of a rank; numbers only.
double LargestSum(const std::vector<Vector>& x,
                  const std::vector<Vector>& bias) {
  double largest = 0;
  for (size_t r = 0; r < x.size(); ++r) {
    double sum = 0;
    for (size_t n = 0; n < x[r].size(); ++n) {
      const double size = std::fabs(x[r][n]) + std::fabs(bias[r][n]);
      sum += std::isfinite(size) ? size : 0;
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

void MarkNaN(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
             const ScanPlace& place, bool other_pairing, ScanTruth* truth) {
  NaNScan scan(problem, inputs, place, other_pairing);
  for (int64_t t = place.first; t < place.end; ++t) scan.Step(t);
  scan.Finish(truth);
}

bool AllFinite(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
               const ScanPlace& place) {
  const ScanHead head(problem, inputs, place);
  for (int64_t t = place.first; t < place.end; ++t) {
    if (!head.Token(t).finite) return false;
  }
  return true;
}

std::vector<bool> ReachedByLater(const Mamba3ScanProblem& problem,
                                 const Mamba3ScanInputs& inputs,
                                 const ScanPlace& place, int64_t reach,
                                 double largest) {
  std::vector<bool> reached(Z(place.end - place.first));
  if (reach == 0) return reached;
  const ScanHead head(problem, inputs, place);
  const std::vector<Vector> bq = head.Bias(true), bk = head.Bias(false);
  // A score that overflows in front of the mask is an infinity, too.
  double query = 0, step = 0;
  for (int64_t t = place.first; t < place.end; ++t) {
    const ScanToken token = head.Token(t);
    query = std::max(query, LargestSum(token.q, bq));
    step = std::max(step, token.dt);
  }
  for (int64_t t = place.first; t < place.end; ++t) {
    const ScanToken token = head.Token(t);
    const double key = LargestSum(token.k, bk);
    if (token.adds_finite && query * key * (1 + 2 * step) < largest) continue;
    // A look-ahead makes the weight of the token before NaN.
    const int64_t more = std::isnan(token.tau) ? 1 : 0;
    for (int64_t s = std::max(place.first, t - reach - more); s < t; ++s) {
      reached[Z(s - place.first)] = true;
    }
  }
  return reached;
}

}  // namespace lockstep::oracle
