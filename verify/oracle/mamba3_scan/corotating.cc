// The second witness: the state g in the frame that turns with it,
//   g = alpha R(-w) (g + (1 - lambda) dt x' k'^T) + gamma x k^T,  o = g q + D x
// with k and q biased but not rotated. There is no cumulative angle, no
// reduction.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify/oracle/mamba3_scan/functions.h"
#include "verify/oracle/mamba3_scan/head.h"
#include "verify/oracle/mamba3_scan/truth.h"

namespace lockstep::oracle {
namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

size_t Z(int64_t n) { return static_cast<size_t>(n); }

// Turns the pairs of x, element `at` apart by `stride`, by angles in radians.
class Frame {
 public:
  Frame(const Mamba3ScanProblem& problem, bool other_pairing)
      : modes_(ModesOf(problem, other_pairing)), angles_(Z(problem.angles)) {}

  // x: one vector over n.
  void Turn(const Vector& radians, Vector* x) const {
    for (size_t s = 0; s < angles_; ++s) {
      double& u = (*x)[Z(modes_[s].first)];
      double& w = (*x)[Z(modes_[s].second)];
      const SinCos turn = SinCosOfTurns(radians[s] / kTwoPi);
      const double c = turn.cos;
      const double d = turn.sin;
      const double turned = u * c - w * d;
      w = u * d + w * c;
      u = turned;
    }
  }

 private:
  std::vector<Mode> modes_;
  size_t angles_;
};

double SiLu(double x) { return x / (1 + ScanExp(-x)); }

class Corotating {
 public:
  Corotating(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
             const ScanPlace& place, bool other_pairing)
      : p_(problem),
        head_(problem, inputs, place),
        frame_(problem, other_pairing),
        bq_(head_.Bias(true)),
        bk_(head_.Bias(false)),
        psi_(head_.Psi()),
        zeta_(head_.Zeta()),
        phi_(head_.Phi()),
        norm_(head_.NormWeight()),
        total_(Z(problem.angles)) {
    ScanCarry carry = head_.Carry();
    for (size_t s = 0; s < total_.size(); ++s) {
      total_[s] = carry.theta[s] * kTwoPi;
    }
    const Vector back = Negated(total_);
    // g by channel: [p][n], each a vector over n.
    g_.assign(Z(p_.head_dim), Vector(Z(p_.state_dim)));
    for (size_t c = 0; c < g_.size(); ++c) {
      for (size_t n = 0; n < g_[c].size(); ++n) g_[c][n] = carry.h[n][c];
      frame_.Turn(back, &g_[c]);
    }
    k_ = carry.k;
    for (Vector& k : k_) frame_.Turn(back, &k);
    v_ = carry.v;
  }

  void Step(int64_t t, Vector* y) {
    const ScanToken token = head_.Token(t);
    const double lambda = 1 / (1 + ScanExp(-token.tau));
    const double rest = 1 / (1 + ScanExp(token.tau));
    Vector rates;
    for (const double rate : token.rate) {
      rates.push_back(ScanTanh(rate) * token.dt * (kTwoPi / 2));
    }
    const Vector back = Negated(rates);
    for (size_t s = 0; s < total_.size(); ++s) total_[s] += rates[s];
    const std::vector<Vector> q = Sum(token.q, bq_);
    const std::vector<Vector> k = Sum(token.k, bk_);
    const double alpha = ScanExp(token.a);
    for (size_t c = 0; c < g_.size(); ++c) {
      Vector& g = g_[c];
      for (size_t n = 0; n < g.size(); ++n) {
        for (size_t r = 0; r < k_.size(); ++r) {
          g[n] += rest * token.dt * psi_[r][c] * v_[c] * k_[r][n];
        }
      }
      frame_.Turn(back, &g);
      for (size_t n = 0; n < g.size(); ++n) {
        g[n] *= alpha;
        for (size_t r = 0; r < k.size(); ++r) {
          g[n] += lambda * token.dt * psi_[r][c] * token.v[c] * k[r][n];
        }
      }
    }
    k_ = k;
    v_ = token.v;
    Finish(token, q, y);
  }

  ScanTruth Carry() {
    ScanTruth truth;
    for (const double x : total_) truth.theta.push_back(x / kTwoPi);
    for (Vector& g : g_) {
      frame_.Turn(total_, &g);
      truth.h.insert(truth.h.end(), g.begin(), g.end());
    }
    for (Vector& k : k_) {
      frame_.Turn(total_, &k);
      truth.k.insert(truth.k.end(), k.begin(), k.end());
    }
    truth.v = v_;
    return truth;
  }

 private:
  static Vector Negated(Vector x) {
    for (double& value : x) value = -value;
    return x;
  }
  static std::vector<Vector> Sum(std::vector<Vector> x,
                                 const std::vector<Vector>& y) {
    for (size_t r = 0; r < x.size(); ++r) {
      for (size_t n = 0; n < x[r].size(); ++n) x[r][n] += y[r][n];
    }
    return x;
  }

  void Finish(const ScanToken& token, const std::vector<Vector>& q,
              Vector* y) const {
    const size_t ranks = q.size();
    std::vector<Vector> o(ranks, Vector(g_.size()));
    for (size_t r = 0; r < ranks; ++r) {
      double squares = 0;
      for (size_t c = 0; c < g_.size(); ++c) {
        o[r][c] = head_.Skip() * psi_[r][c] * token.v[c];
        for (size_t n = 0; n < q[r].size(); ++n) {
          o[r][c] += q[r][n] * g_[c][n];
        }
        squares += o[r][c] * o[r][c];
      }
      for (size_t c = 0; c < g_.size(); ++c) {
        if (p_.norm_epsilon) {
          const auto epsilon =
              static_cast<double>(static_cast<float>(*p_.norm_epsilon));
          o[r][c] *=
              norm_[c] /
              std::sqrt(squares / static_cast<double>(g_.size()) + epsilon);
        }
        if (p_.gate) o[r][c] *= SiLu(zeta_[r][c] * token.z[c]);
      }
    }
    if (!p_.reduce) {
      for (const Vector& one : o) y->insert(y->end(), one.begin(), one.end());
      return;
    }
    for (size_t c = 0; c < g_.size(); ++c) {
      double sum = 0;
      for (size_t r = 0; r < ranks; ++r) sum += phi_[r][c] * o[r][c];
      y->push_back(sum);
    }
  }

  const Mamba3ScanProblem& p_;
  ScanHead head_;
  Frame frame_;
  std::vector<Vector> bq_, bk_, psi_, zeta_, phi_;
  Vector norm_;
  Vector total_;  // for the exported carry alone
  std::vector<Vector> g_;
  std::vector<Vector> k_;
  Vector v_;
};

}  // namespace

ScanTruth ComputeScanCorotating(const Mamba3ScanProblem& problem,
                                const Mamba3ScanInputs& inputs,
                                const ScanPlace& place, bool other_pairing) {
  Corotating scan(problem, inputs, place, other_pairing);
  Vector y;
  for (int64_t t = place.first; t < place.end; ++t) scan.Step(t, &y);
  ScanTruth truth = scan.Carry();
  truth.y = std::move(y);
  return truth;
}

}  // namespace lockstep::oracle
