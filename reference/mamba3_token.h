// One token of one head of the Mamba-3 scan: steps 1 to 5 of clause N15, and
// what else the scan and its gradients share. One spelling of each.
#ifndef LOCKSTEP_REFERENCE_MAMBA3_TOKEN_H_
#define LOCKSTEP_REFERENCE_MAMBA3_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"

namespace lockstep::reference {

// Row-major, so that m[i][j] reads as in the mathematics.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns)
      : columns_(columns), x_(static_cast<size_t>(rows * columns), 0.0f) {}
  float* operator[](int64_t row) { return x_.data() + row * columns_; }
  const float* operator[](int64_t row) const {
    return x_.data() + row * columns_;
  }
  std::vector<float>& elements() { return x_; }

 private:
  int64_t columns_;
  std::vector<float> x_;
};

// One head of one run: what the next token depends on.
struct Mamba3State {
  explicit Mamba3State(const Mamba3ScanProblem& p)
      : theta(static_cast<size_t>(p.angles), 0.0f),
        h(p.state_dim, p.head_dim),
        k(p.ranks, p.state_dim),
        v(static_cast<size_t>(p.head_dim), 0.0f),
        x(p.ranks, p.head_dim) {}

  std::vector<float> theta;  // turns
  Matrix h;                  // [n][p]
  Matrix k;                  // [r][n] of the last token, rotated
  std::vector<float> v;      // of the last token
  Matrix x;                  // [r][p] of the last token, psi v
};

// Where a token stands.
struct Mamba3Place {
  int64_t b = 0;
  int64_t t = 0;
  int64_t h = 0;
};

// 1: the weights of a token.
struct Mamba3Weights {
  float dt, lambda, alpha, gamma, beta;
};

// What a token yields in addition to the state: the rotated q, and o before the
// norm.
struct Mamba3Read {
  Matrix q;  // [r][n]
  Matrix o;  // [r][p]
};

class Mamba3Token {
 public:
  Mamba3Token(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs)
      : p_(problem), in_(inputs) {}

  // The state before a run's first token: its carry, or zeros.
  Mamba3State Start(int64_t run, int64_t head) const;
  // 1 to 5: the state goes from the token before to this one.
  Mamba3Read Advance(const Mamba3Place& at, Mamba3State& state) const;
  // 1
  Mamba3Weights Weigh(const Mamba3Place& at) const;
  // 2: how fast angle s turns, before the step size.
  float Rate(const Mamba3Place& at, int64_t s) const;
  // The coordinates that angle s turns.
  struct Pair {
    int64_t u, w;
  };
  Pair PairOf(int64_t s) const;
  // 6: 1 / sqrt(mean o^2 + epsilon) over the channels.
  float InverseNorm(const float* o) const;

 private:
  void AdvanceAngles(const Mamba3Place& at, float dt, Mamba3State& state) const;
  Matrix Rotated(const BasicLaneView<const void, 5>& x,
                 const TensorView<const float, 3>& bias, const Mamba3Place& at,
                 const Mamba3State& state) const;
  Matrix UpProjected(const std::vector<float>& v, int64_t head) const;
  void LoadCarry(int64_t run, int64_t head, Mamba3State& state) const;

  const Mamba3ScanProblem& p_;
  const Mamba3ScanInputs& in_;
};

// N11's sixteen stripes: element i is in stripe i mod 16 of its row; rows
// ascending, then the fold. Products of two, by fma; or sums.
float StripedDot(const float* x, const float* y, int64_t rows, int64_t columns);
float StripedSum(const std::vector<float>& x);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MAMBA3_TOKEN_H_
