// The Mamba-3 recurrence, one token at a time, numbered as in clause N15 of
// docs/numerics.md: 1 weights, 2 angles, 3 rotation, 4 state, 5 read-out,
// 6 norm, gate, ranks. What it means: docs/ops/mamba3_scan.md.
#include "reference/mamba3_scan.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mamba3_step.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"
#include "reference/elementary.h"
#include "reference/runs.h"

namespace lockstep::reference {
namespace {

using Problem = Mamba3ScanProblem;
using Inputs = Mamba3ScanInputs;
using Outputs = Mamba3ScanOutputs;

// An element of a tensor of either lane, widened to f32.
template <typename View, typename... Index>
float Load(const View& x, Index... at) {
  return x.lane == Lane::kF32 ? ToFloat(x.template As<float>()(at...))
                              : ToFloat(x.template As<Bf16>()(at...));
}

// Row-major, so that m[i][j] reads as in the mathematics.
class Matrix {
 public:
  Matrix(int64_t rows, int64_t columns)
      : columns_(columns), x_(static_cast<size_t>(rows * columns), 0.0f) {}
  float* operator[](int64_t row) { return x_.data() + row * columns_; }
  const float* operator[](int64_t row) const {
    return x_.data() + row * columns_;
  }

 private:
  int64_t columns_;
  std::vector<float> x_;
};

// One head of one run: what the next token depends on.
struct State {
  explicit State(const Problem& p)
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
struct Token {
  int64_t b = 0;
  int64_t t = 0;
  int64_t h = 0;
};

class Scan {
 public:
  Scan(const Problem& problem, const Inputs& inputs, const Outputs& outputs)
      : p_(problem), in_(inputs), out_(outputs) {}

  // One head of one run, from its first token to its carry.
  void RunHead(const Run& run, int64_t index, int64_t head) const {
    State state(p_);
    if (p_.carry_in) LoadCarry(index, head, state);
    for (int64_t t = run.first; t < run.end; ++t) {
      Advance({run.row, t, head}, state);
    }
    if (out_.carry.given()) StoreCarry(index, head, state);
  }

 private:
  void Advance(const Token& at, State& state) const;
  void AdvanceAngles(const Token& at, float dt, State& state) const;
  Matrix Rotated(const BasicLaneView<const void, 5>& x,
                 const TensorView<const float, 3>& bias, const Token& at,
                 const State& state) const;
  Matrix UpProjected(const std::vector<float>& v, int64_t head) const;
  void Normalise(int64_t head, float* o) const;
  void WriteToken(const Token& at, const Matrix& o) const;
  void LoadCarry(int64_t run, int64_t head, State& state) const;
  void StoreCarry(int64_t run, int64_t head, const State& state) const;

  const Problem& p_;
  const Inputs& in_;
  const Outputs& out_;
};

// Zeros stay for a run without carry: its first token does the same arithmetic.
void Scan::Advance(const Token& at, State& state) const {
  // 1
  const float dt = in_.dt(at.b, at.h, at.t);
  const float lambda = Sigmoid(Load(in_.tau, at.b, at.h, at.t));
  const float alpha = Exp(in_.a(at.b, at.h, at.t));
  const float gamma = lambda * dt;
  const float beta = ((1.0f - lambda) * dt) * alpha;

  AdvanceAngles(at, dt, state);                        // 2
  const Matrix q = Rotated(in_.q, in_.bq, at, state);  // 3
  const Matrix k = Rotated(in_.k, in_.bk, at, state);
  std::vector<float> v(static_cast<size_t>(p_.head_dim));
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    v[c] = Load(in_.v, at.b, at.t, at.h, c);
  }
  const Matrix x = UpProjected(v, at.h);

  // 4: h_t = alpha h_{t-1} + beta x_{t-1} k_{t-1}^T + gamma x_t k_t^T
  for (int64_t n = 0; n < p_.state_dim; ++n) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      float h = alpha * state.h[n][c];
      for (int64_t r = 0; r < p_.ranks; ++r) {
        h = std::fma(beta * state.k[r][n], state.x[r][c], h);
        h = std::fma(gamma * k[r][n], x[r][c], h);
      }
      state.h[n][c] = h;
    }
  }

  // 5: o_r = h q_r + D x_r
  Matrix o(p_.ranks, p_.head_dim);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        o[r][c] = std::fma(q[r][n], state.h[n][c], o[r][c]);
      }
      if (p_.skip) o[r][c] = std::fma(in_.d(at.h), x[r][c], o[r][c]);
    }
    if (p_.norm_epsilon) Normalise(at.h, o[r]);  // 6
  }
  WriteToken(at, o);
  state.k = k;
  state.v = v;
  state.x = x;
}

// 2: in turns, where the reduction to [0, 1) is exact and there is no pi.
void Scan::AdvanceAngles(const Token& at, float dt, State& state) const {
  for (int64_t s = 0; s < p_.angles; ++s) {
    const float rate = TanhCore(Load(in_.vartheta, at.b, at.t, at.h, s));
    const float theta = state.theta[s] + (rate * dt) * 0.5f;
    const float reduced = theta - std::floor(theta);
    state.theta[s] = reduced == 1.0f ? 0.0f : reduced;
  }
}

// 3: [r][n], biased, then each pair (u, w) turned by its angle.
Matrix Scan::Rotated(const BasicLaneView<const void, 5>& x,
                     const TensorView<const float, 3>& bias, const Token& at,
                     const State& state) const {
  const int64_t group = at.h / p_.group();
  Matrix y(p_.ranks, p_.state_dim);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      y[r][n] = Load(x, at.b, at.t, r, group, n);
      if (p_.bias) y[r][n] = y[r][n] + bias(at.h, r, n);
    }
    for (int64_t s = 0; s < p_.angles; ++s) {
      const SinCos turn = SinCosTurnsCore(state.theta[s]);
      float& u = y[r][p_.mimo() ? s : 2 * s];
      float& w = y[r][p_.mimo() ? s + p_.state_dim / 2 : 2 * s + 1];
      const float turned = std::fma(u, turn.cos, -(w * turn.sin));
      w = std::fma(u, turn.sin, w * turn.cos);
      u = turned;
    }
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      if (p_.rotated_lane == Lane::kBf16) y[r][n] = RoundToBf16Lane(y[r][n]);
    }
  }
  return y;
}

// x_r = psi_r v; SISO: x = v.
Matrix Scan::UpProjected(const std::vector<float>& v, int64_t head) const {
  Matrix x(p_.ranks, p_.head_dim);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      x[r][c] = p_.mimo() ? in_.psi(head, r, c) * v[c] : v[c];
    }
  }
  return x;
}

// 6: o / sqrt(mean o^2 + epsilon) * weight; sixteen stripes and N11's fold.
void Scan::Normalise(int64_t head, float* o) const {
  float l[kStripes] = {};
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    l[c % kStripes] = std::fma(o[c], o[c], l[c % kStripes]);
  }
  for (int w = kStripes / 2; w >= 1; w /= 2) {
    for (int r = 0; r < w; ++r) l[r] += l[r + w];
  }
  const float mean = l[0] / static_cast<float>(p_.head_dim);
  const auto epsilon = static_cast<float>(*p_.norm_epsilon);
  const float inverse = 1.0f / std::sqrt(mean + epsilon);
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    o[c] = (o[c] * inverse) * in_.norm_weight(head, c);
  }
}

// N2, N11: round, add +0 so that no output is -0, canonical NaN.
float Finish(float x, Lane lane) {
  if (lane == Lane::kBf16) x = RoundToBf16Lane(x);
  return CanonicalNaN(x + 0.0f);
}

// 6: y_r = o_r silu(zeta_r z), and with reduce the sum of phi_r y_r. A factor
// that the problem does not have is skipped, not multiplied by one.
void Scan::WriteToken(const Token& at, const Matrix& o) const {
  const auto store = [&](int64_t r, int64_t c, float y) {
    if (p_.lane == Lane::kF32) {
      out_.y.As<float>()(at.b, at.t, r, at.h, c) = Finish(y, p_.lane);
    } else {
      out_.y.As<Bf16>()(at.b, at.t, r, at.h, c) =
          RoundToBf16(Finish(y, p_.lane));
    }
  };
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    float sum = 0.0f;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      float y = o[r][c];
      if (p_.gate) {
        const float z = Load(in_.z, at.b, at.t, at.h, c);
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

void Scan::LoadCarry(int64_t run, int64_t head, State& state) const {
  for (int64_t s = 0; s < p_.angles; ++s) {
    state.theta[s] = in_.carry.theta(run, head, s);
  }
  for (int64_t n = 0; n < p_.state_dim; ++n) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      state.h[n][c] = in_.carry.h(run, head, c, n);
    }
    for (int64_t r = 0; r < p_.ranks; ++r) {
      state.k[r][n] = in_.carry.k(run, r, head, n);
    }
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    state.v[c] = in_.carry.v(run, head, c);
  }
  state.x = UpProjected(state.v, head);
}

void Scan::StoreCarry(int64_t run, int64_t head, const State& state) const {
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
