// The walk back over one head of one run. Beside every number stand its size
// and its worst size, in which each factor is multiplied by (1 + its error), as
// in the worst legal kernel. The difference of the two bounds the error.
// Implemented in truth.cc (state), tokens.cc (what a token's gradients are made
// of) and output.cc (from dy to the cotangent of what the state gives).
#ifndef LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BACKWARD_WALK_H_
#define LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BACKWARD_WALK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "verify/oracle/mamba3_scan/bound.h"
#include "verify/oracle/mamba3_scan_backward/truth.h"

namespace lockstep::oracle {

using Rows = std::vector<Vector>;

// What the forward pass has at one token.
struct Moment {
  ScanToken token;
  Rows h, size, seen;  // behind it
  Rows k, q, x;
  std::vector<Moduli> of_k, of_q;
  Vector v, theta;
  Vector step_angle, local_angle, angle_error;
  Rows o, o_error;  // before norm and gate, [r][p]
  double ends = 0;  // of decays that are differences
  bool broken = false;
};

// The forward pass, which can be copied, and asked what it has.
class RecordedScan : public BoundedScan {
 public:
  using BoundedScan::BoundedScan;
  Moment Record() const;
  Moment Next(int64_t t);
  const std::vector<Mode>& modes() const { return modes_; }
  const Rows& psi() const { return psi_; }
  const Rows& zeta() const { return zeta_; }
  const Rows& phi() const { return phi_; }
  const Vector& norm() const { return norm_; }
  const ScanHead& head() const { return head_; }
};

// Below it no product of f32 overflows, whatever its roundings.
inline constexpr double kLargestProduct = 0x1p126;

// A value, its size, its worst size, and what underflow may have taken on the
// way whatever the sizes: each product loses up to the smallest number that the
// profile keeps (`tiny`), which what follows multiplies on.
struct Num {
  double value = 0, size = 0, worst = 0;
  double lost = 0;  // in units of `tiny`

  Num& operator+=(const Num& x) {
    value += x.value;
    size += x.size;
    worst += x.worst;
    lost += x.lost;
    return *this;
  }
};
inline Num operator*(const Num& x, const Num& y) {
  // What both lost counts at the largest `tiny`, 2^-126.
  return {x.value * y.value, x.size * y.size, x.worst * y.worst,
          1 + x.lost * y.worst + x.worst * y.lost + x.lost * y.lost * 0x1p-126};
}
inline Num operator+(Num x, const Num& y) { return x += y; }
inline Num operator-(const Num& x, const Num& y) {
  return {x.value - y.value, x.size + y.size, x.worst + y.worst,
          x.lost + y.lost};
}
// With another relative error.
inline Num Off(const Num& x, double relative) {
  return {x.value, x.size, x.worst * (1 + relative), x.lost * (1 + relative)};
}
// A number that is off by so much of itself. Such a one was rounded, and may
// have underflowed: x = psi v of a subnormal v meets a large cotangent.
inline Num Exactly(double x, double relative = 0) {
  const double size = x < 0 ? -x : x;
  return {x, size, size * (1 + relative), relative > 0 ? 1.0 : 0.0};
}
// One that may be anything within `error` of it.
inline Num Within(double x, double error) {
  const double size = x < 0 ? -x : x;
  return {x, size, size + error};
}
using Nums = std::vector<Num>;

class GradientWalk {
 public:
  GradientWalk(const Mamba3ScanBackwardProblem& problem,
               const Mamba3ScanBackwardInputs& inputs, const ScanPlace& place,
               const GradientErrors& errors);
  HeadGradients Run();

 private:
  // Weights of one token.
  struct Weights {
    Num dt, lambda, rest;      // rest = 1 - lambda
    Num gamma, before, alpha;  // before: (1 - lambda) dt
  };
  // What A, B, C and F of clause N19 are: products of the cotangent of the
  // state with k, k', x and x', over modes where they are sums over p.
  struct Products {
    std::vector<Nums> q;     // [r][n]
    std::vector<Nums> k;     // [r][n]: C, then dk~
    std::vector<Nums> x;     // [r][p]: A
    std::vector<Nums> then;  // [r][p]: B
  };

  void Start();
  void LoadCarry(const Moment& last);
  Weights WeightsOf(const ScanToken& token) const;
  void Reverse(int64_t t, const Moment& now, const Moment& before);
  std::vector<Nums> OutputStage(int64_t t, const Moment& now);
  Nums Normed(size_t r, const Moment& now, const Nums& d_value, Num* stretch,
              Nums* d_o);
  void Enter(const Moment& now, const std::vector<Nums>& d_o);
  void Meet(const Moment& now, const std::vector<Nums>& d_o);
  Products Multiply(const Weights& w, const Moment& now, const Moment& before,
                    const std::vector<Nums>& d_o);
  void Channels(int64_t t, const Weights& w, const Moment& now,
                const Moment& before, const std::vector<Nums>& d_o,
                const Products& products);
  Num Scalars(int64_t t, const Weights& w, const Moment& now,
              const Moment& before, const Products& products);
  void Angles(int64_t t, const Weights& w, const Moment& now,
              const Products& products, Num d_dt);
  void TurnBack(int64_t t, const Moment& now, const std::vector<Nums>& x,
                Gradient to, Gradient bias);
  void Decay(const Weights& w, const Moment& now);
  void StoreCarry();
  void Store(Gradient to, size_t i, const Num& x);
  void AddTo(Gradient to, size_t i, const Num& x);
  Num XOf(const Moment& at, size_t r, size_t c) const;
  double Worst(const Num& x) const { return x.worst + x.lost * scan_.tiny; }
  // `x`, without a bound if it may overflow before it meets a small factor.
  Num Held(Num x) const {
    if (!(Worst(x) < kLargestProduct)) x.worst = kInf;
    return x;
  }
  // `x` as one number from here on, whatever it was made of.
  Num AsOne(const Num& x) const { return Within(x.value, Worst(x) - x.size); }
  double Lost(double factors) const { return scan_.tiny * (4 + 4 * factors); }
  // What products with the later tokens of a chunk lose to underflow: each is
  // rounded once it has decayed, and meets a do or a q that has not.
  double LostToDo(size_t c) const { return 2 * scan_.tiny * met_do_[c]; }
  double LostToQ(size_t m) const { return 2 * scan_.tiny * met_q_[m]; }
  double WorstState(size_t m, size_t c) const {
    const double worst = m_worst_[m][c] + LostToDo(c) + LostToQ(m);
    return worst < kLargestProduct ? worst : kInf;
  }

  const Mamba3ScanBackwardProblem& problem_;
  const Mamba3ScanProblem& p_;
  const Mamba3ScanBackwardInputs& in_;
  ScanPlace at_;
  const GradientErrors& e_;
  const ScanErrors& scan_;
  RecordedScan forward_;
  std::vector<size_t> mode_of_;  // of a coordinate
  size_t ranks_, channels_, states_;
  // The cotangent of the carry behind a token: h [n][p] with sizes by mode,
  // k [r][n], v, theta.
  Rows m_, m_size_, m_worst_;
  // Magnitudes of do by channel and of q by mode, over the tokens of the chunk
  // so far; and those of each, where a chunk is shorter than the run.
  Vector met_do_, met_q_;
  std::deque<std::pair<Vector, Vector>> met_;
  std::vector<Nums> k_;
  Nums v_, theta_;
  bool broken_ = false;
  HeadGradients out_;
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_BACKWARD_WALK_H_
