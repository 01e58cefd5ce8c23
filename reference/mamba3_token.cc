#include "reference/mamba3_token.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"
#include "reference/contract/with_fma.h"
#include "reference/elementary.h"

namespace lockstep::reference {
namespace {

// to[c] + x y[c], of `count` channels.
LOCKSTEP_IN_BOTH inline void AddTimes(float x, const float* y, int64_t count,
                                      float* to) {
  for (int64_t c = 0; c < count; ++c) to[c] = std::fma(x, y[c], to[c]);
}

}  // namespace

float StripedDot(const float* x, const float* y, int64_t rows,
                 int64_t columns) {
  float l[kStripes] = {};
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t i = r * columns + c;
        l[c % kStripes] = std::fma(x[i], y[i], l[c % kStripes]);
      }
    }
  });
  return Fold(l);
}

float StripedSum(const std::vector<float>& x) {
  float l[kStripes] = {};
  for (size_t i = 0; i < x.size(); ++i) l[i % kStripes] += x[i];
  return Fold(l);
}

Mamba3State Mamba3Token::Start(int64_t run, int64_t head) const {
  Mamba3State state(p_);
  if (p_.carry_in) LoadCarry(run, head, state);
  return state;
}

// 1
Mamba3Weights Mamba3Token::Weigh(const Mamba3Place& at) const {
  const float dt = in_.dt(at.b, at.h, at.t);
  const float lambda = Sigmoid(in_.tau.Float(at.b, at.h, at.t));
  const float alpha = Exp(in_.a(at.b, at.h, at.t));
  const float gamma = lambda * dt;
  const float beta = ((1.0f - lambda) * dt) * alpha;
  return {dt, lambda, alpha, gamma, beta};
}

float Mamba3Token::Rate(const Mamba3Place& at, int64_t s) const {
  return TanhCore(in_.vartheta.Float(at.b, at.t, at.h, s));
}

Mamba3Token::Pair Mamba3Token::PairOf(int64_t s) const {
  return {p_.mimo() ? s : 2 * s, p_.mimo() ? s + p_.state_dim / 2 : 2 * s + 1};
}

// Zeros stay for a run without carry: its first token does the same arithmetic.
Mamba3Read Mamba3Token::Advance(const Mamba3Place& at,
                                Mamba3State& state) const {
  const auto [dt, lambda, alpha, gamma, beta] = Weigh(at);  // 1
  AdvanceAngles(at, dt, state);                             // 2
  const Matrix q = Rotated(in_.q, in_.bq, at, state);       // 3
  const Matrix k = Rotated(in_.k, in_.bk, at, state);
  std::vector<float> v(static_cast<size_t>(p_.head_dim));
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    v[c] = in_.v.Float(at.b, at.t, at.h, c);
  }
  const Matrix x = UpProjected(v, at.h);

  // 4: h_t = alpha h_{t-1} + beta x_{t-1} k_{t-1}^T + gamma x_t k_t^T
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      float* const h = state.h[n];
      for (int64_t c = 0; c < p_.head_dim; ++c) h[c] = alpha * h[c];
      for (int64_t r = 0; r < p_.ranks; ++r) {
        AddTimes(beta * state.k[r][n], state.x[r], p_.head_dim, h);
        AddTimes(gamma * k[r][n], x[r], p_.head_dim, h);
      }
    }
  });

  // 5: o_r = h q_r + D x_r
  Matrix o(p_.ranks, p_.head_dim);
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t r = 0; r < p_.ranks; ++r) {
      for (int64_t n = 0; n < p_.state_dim; ++n) {
        AddTimes(q[r][n], state.h[n], p_.head_dim, o[r]);
      }
      if (p_.skip) AddTimes(in_.d(at.h), x[r], p_.head_dim, o[r]);
    }
  });
  state.k = k;
  state.v = v;
  state.x = x;
  return {q, o};
}

// 2: in turns, where the reduction to [0, 1) is exact and there is no pi.
void Mamba3Token::AdvanceAngles(const Mamba3Place& at, float dt,
                                Mamba3State& state) const {
  for (int64_t s = 0; s < p_.angles; ++s) {
    const float theta = state.theta[s] + (Rate(at, s) * dt) * 0.5f;
    const float reduced = theta - std::floor(theta);
    state.theta[s] = reduced == 1.0f ? 0.0f : reduced;
  }
}

// 3: [r][n], biased, then each pair (u, w) turned by its angle.
Matrix Mamba3Token::Rotated(const BasicLaneView<const void, 5>& x,
                            const TensorView<const float, 3>& bias,
                            const Mamba3Place& at,
                            const Mamba3State& state) const {
  const int64_t group = at.h / p_.group();
  Matrix y(p_.ranks, p_.state_dim);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      y[r][n] = x.Float(at.b, at.t, r, group, n);
      if (p_.bias) y[r][n] = y[r][n] + bias(at.h, r, n);
    }
    for (int64_t s = 0; s < p_.angles; ++s) {
      const SinCos turn = SinCosTurnsCore(state.theta[s]);
      float& u = y[r][PairOf(s).u];
      float& w = y[r][PairOf(s).w];
      const float turned = std::fma(u, turn.cos, -(w * turn.sin));
      w = std::fma(u, turn.sin, w * turn.cos);
      u = turned;
    }
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      y[r][n] = RoundToLane(y[r][n], p_.rotated_lane);
    }
  }
  return y;
}

// x_r = psi_r v; SISO: x = v.
Matrix Mamba3Token::UpProjected(const std::vector<float>& v,
                                int64_t head) const {
  Matrix x(p_.ranks, p_.head_dim);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      x[r][c] = p_.mimo() ? in_.psi(head, r, c) * v[c] : v[c];
    }
  }
  return x;
}

// 6: sixteen stripes and N11's fold.
float Mamba3Token::InverseNorm(const float* o) const {
  const float mean =
      StripedDot(o, o, 1, p_.head_dim) / static_cast<float>(p_.head_dim);
  const auto epsilon = static_cast<float>(*p_.norm_epsilon);
  return 1.0f / std::sqrt(mean + epsilon);
}

void Mamba3Token::LoadCarry(int64_t run, int64_t head,
                            Mamba3State& state) const {
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

}  // namespace lockstep::reference
