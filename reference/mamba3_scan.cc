// The Mamba-3 recurrence, one token at a time, numbered as in clause N15 of
// docs/numerics.md: 1 weights, 2 angles, 3 rotation, 4 state and 5 read-out are
// in mamba3_token.cc; here is 6, norm, gate and ranks, and the walk over the
// tokens. What it means: docs/ops/mamba3_scan.md.
#include "reference/mamba3_scan.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mamba3_step.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "reference/mamba3_token.h"
#include "reference/runs.h"

namespace lockstep::reference {
namespace {

using Problem = Mamba3ScanProblem;
using Inputs = Mamba3ScanInputs;
using Outputs = Mamba3ScanOutputs;

class Scan {
 public:
  Scan(const Problem& problem, const Inputs& inputs, const Outputs& outputs)
      : p_(problem), in_(inputs), out_(outputs), token_(problem, inputs) {}

  // One head of one run, from its first token to its carry.
  void RunHead(const Run& run, int64_t index, int64_t head) const {
    Mamba3State state = token_.Start(index, head);
    for (int64_t t = run.first; t < run.end; ++t) {
      const Mamba3Place at{run.row, t, head};
      Matrix o = token_.Advance(at, state).o;
      for (int64_t r = 0; p_.norm_epsilon && r < p_.ranks; ++r) {
        Normalise(head, o[r]);
      }
      WriteToken(at, o);
    }
    if (out_.carry.given()) StoreCarry(index, head, state);
  }

 private:
  void Normalise(int64_t head, float* o) const;
  void WriteToken(const Mamba3Place& at, const Matrix& o) const;
  void StoreCarry(int64_t run, int64_t head, const Mamba3State& state) const;

  const Problem& p_;
  const Inputs& in_;
  const Outputs& out_;
  Mamba3Token token_;
};

// 6: o / sqrt(mean o^2 + epsilon) * weight.
void Scan::Normalise(int64_t head, float* o) const {
  const float inverse = token_.InverseNorm(o);
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    o[c] = (o[c] * inverse) * in_.norm_weight(head, c);
  }
}

// 6: y_r = o_r silu(zeta_r z), and with reduce the sum of phi_r y_r. A factor
// that the problem does not have is skipped, not multiplied by one.
void Scan::WriteToken(const Mamba3Place& at, const Matrix& o) const {
  const auto store = [&](int64_t r, int64_t c, float y) {
    StoreElement(out_.y, y, at.b, at.t, r, at.h, c);
  };
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    float sum = 0.0f;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      float y = o[r][c];
      if (p_.gate) {
        const float z = in_.z.Float(at.b, at.t, at.h, c);
        y = y * Silu(p_.mimo() ? in_.zeta(at.h, r, c) * z : z);
      }
      if (p_.reduce) {
        sum = std::fma(in_.phi(at.h, r, c), y, sum);
      } else {
        store(r, c, y);
      }
    }
    if (p_.reduce) store(0, c, sum);
  }
}

void Scan::StoreCarry(int64_t run, int64_t head,
                      const Mamba3State& state) const {
  for (int64_t s = 0; s < p_.angles; ++s) {
    out_.carry.theta(run, head, s) = CanonicalNaN(state.theta[s]);
  }
  for (int64_t n = 0; n < p_.state_dim; ++n) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      out_.carry.h(run, head, c, n) = CanonicalNaN(state.h[n][c]);
    }
    for (int64_t r = 0; r < p_.ranks; ++r) {
      out_.carry.k(run, r, head, n) = CanonicalNaN(state.k[r][n]);
    }
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    out_.carry.v(run, head, c) = CanonicalNaN(state.v[c]);
  }
}

}  // namespace

Status Mamba3Scan(const Problem& problem, const Inputs& inputs,
                  const Outputs& outputs) {
  Status valid = Validate(problem, inputs, outputs);
  if (valid.ok()) ComputeMamba3Scan(problem, inputs, outputs);
  return valid;
}

void ComputeMamba3Scan(const Problem& problem, const Inputs& inputs,
                       const Outputs& outputs) {
  const Scan scan(problem, inputs, outputs);
  const std::vector<Run> runs = ListRuns(problem, inputs);
  for (size_t i = 0; i < runs.size(); ++i) {
    for (int64_t head = 0; head < problem.heads; ++head) {
      scan.RunHead(runs[i], static_cast<int64_t>(i), head);
    }
  }
}

Status Mamba3Step(const Problem& problem, const Inputs& inputs,
                  const Outputs& outputs) {
  Status valid = ValidateStep(problem, inputs, outputs);
  if (!valid.ok()) return valid;
  const Scan scan(problem, inputs, outputs);
  for (int64_t row = 0; row < problem.batch; ++row) {
    for (int64_t head = 0; head < problem.heads; ++head) {
      scan.RunHead({row, 0, 1}, row, head);
    }
  }
  return valid;
}

}  // namespace lockstep::reference
