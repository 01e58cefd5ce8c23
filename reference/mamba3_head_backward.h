// The gradients of one head of one run, from its last token to its first: steps
// 1 to 8 of clause N19, which mamba3_scan_backward.cc puts together.
#ifndef LOCKSTEP_REFERENCE_MAMBA3_HEAD_BACKWARD_H_
#define LOCKSTEP_REFERENCE_MAMBA3_HEAD_BACKWARD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "reference/mamba3_token.h"
#include "reference/runs.h"

namespace lockstep::reference {

// Gradients of what a head has once: of one run, then over all runs.
struct HeadSums {
  explicit HeadSums(const Mamba3ScanProblem& p)
      : bq(p.ranks, p.state_dim),
        bk(p.ranks, p.state_dim),
        psi(p.ranks, p.head_dim),
        zeta(p.ranks, p.head_dim),
        phi(p.ranks, p.head_dim),
        norm_weight(1, p.head_dim),
        d(1, p.head_dim) {}

  // 9
  void AddRun(HeadSums& run) {
    for (Matrix HeadSums::* part :
         {&HeadSums::bq, &HeadSums::bk, &HeadSums::psi, &HeadSums::zeta,
          &HeadSums::phi, &HeadSums::norm_weight}) {
      std::vector<float>& sum = (this->*part).elements();
      const std::vector<float>& x = (run.*part).elements();
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += x[i];
    }
    skip += StripedSum(run.d.elements());
  }

  Matrix bq, bk;          // [r][n]
  Matrix psi, zeta, phi;  // [r][p]
  Matrix norm_weight;     // [1][p]
  Matrix d;               // [1][p] of one run
  float skip = 0.0f;      // over all runs
};

// The cotangent of the carry behind a token, which a token turns into that of
// the carry before it. It starts as what the caller gives, or zeros, and ends
// as the gradient of the initial carry.
struct CarryCotangent {
  explicit CarryCotangent(const Mamba3ScanProblem& p)
      : theta(static_cast<size_t>(p.angles), 0.0f),
        h(p.state_dim, p.head_dim),
        k(p.ranks, p.state_dim),
        v(static_cast<size_t>(p.head_dim), 0.0f) {}

  std::vector<float> theta;  // [s] per turn
  Matrix h;                  // [n][p]
  Matrix k;                  // [r][n]
  std::vector<float> v;      // [p]
};

// A token's forward values: the state before, the state after, q and o.
struct Moment {
  const Mamba3State& before;
  const Mamba3State& after;
  const Mamba3Read& read;
};

// One head of one run.
class HeadBackward {
 public:
  // `dq`, `dk` [token of the run * r][n]: the head adds its part.
  HeadBackward(const Mamba3ScanBackwardProblem& problem,
               const Mamba3ScanBackwardInputs& inputs,
               const Mamba3ScanBackwardOutputs& outputs, const Run& run,
               int64_t index, int64_t head, Matrix& dq, Matrix& dk)
      : problem_(problem),
        p_(problem.forward),
        in_(inputs),
        out_(outputs),
        run_(run),
        index_(index),
        head_(head),
        dq_(dq),
        dk_(dk),
        token_(problem.forward, inputs.forward),
        sums_(problem.forward),
        carry_(problem.forward) {}

  // All of it: what has one value a token is written, sums are returned.
  //   Requires: checkpoint >= 1.
  HeadSums Walk(int64_t checkpoint);

 private:
  void LoadCarry();
  void RunPiece(const Mamba3State& start, int64_t first, int64_t end);
  void Reverse(const Mamba3Place& at, const Moment& now);
  Matrix OutputStage(const Mamba3Place& at, const Mamba3Read& read);
  void GateAndSum(const Mamba3Place& at, const Matrix& value, Matrix& d_value);
  void ReadBack(const Matrix& d_o, const Matrix& q);
  void Channels(const Mamba3Place& at, const Mamba3Weights& w,
                const Matrix& d_o, const Moment& now, const Matrix& of_x,
                const Matrix& of_x_before);
  Matrix Keys(const Mamba3Weights& w, const Moment& now);
  float Scalars(const Mamba3Place& at, const Mamba3Weights& w,
                const Moment& now, const Matrix& of_x,
                const Matrix& of_x_before);
  void Angles(const Mamba3Place& at, float dt, float d_dt, const Matrix& d_q,
              const Matrix& d_k, const Moment& now);
  void RotateBack(const Mamba3Place& at, const Mamba3State& after, Matrix x,
                  Matrix& to, Matrix& bias);
  void StoreCarry();

  const Mamba3ScanBackwardProblem& problem_;
  const Mamba3ScanProblem& p_;
  const Mamba3ScanBackwardInputs& in_;
  const Mamba3ScanBackwardOutputs& out_;
  const Run& run_;
  int64_t index_, head_;
  Matrix& dq_;
  Matrix& dk_;
  Mamba3Token token_;
  HeadSums sums_;
  CarryCotangent carry_;
};

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_MAMBA3_HEAD_BACKWARD_H_
