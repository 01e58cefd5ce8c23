// One head of one run backwards, numbered as in clause N19 of docs/numerics.md:
// 1 output stage, 2 the state's cotangent, 3 its products, 4 channels and keys,
// 5 scalars, 6 angles, 7 back through the rotation, 8 the carry.
#include "reference/mamba3_head_backward.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/contract/coefficients.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/with_fma.h"
#include "reference/elementary.h"
#include "reference/mamba3_token.h"

namespace lockstep::reference {
namespace {

using Place = Mamba3Place;
using State = Mamba3State;

// to[c] + x y[c], of `count` channels.
LOCKSTEP_IN_BOTH inline void AddTimes(float x, const float* y, int64_t count,
                                      float* to) {
  for (int64_t c = 0; c < count; ++c) to[c] = std::fma(x, y[c], to[c]);
}

// One chain over `count` channels, ascending.
LOCKSTEP_IN_BOTH inline float Dot(const float* x, const float* y,
                                  int64_t count) {
  float sum = 0.0f;
  for (int64_t c = 0; c < count; ++c) sum = std::fma(x[c], y[c], sum);
  return sum;
}

// [n][p] times [r][n]: over n ascending.
Matrix OverStates(const Matrix& m, const Matrix& k,
                  const Mamba3ScanProblem& p) {
  Matrix y(p.ranks, p.head_dim);
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t r = 0; r < p.ranks; ++r) {
      for (int64_t n = 0; n < p.state_dim; ++n) {
        AddTimes(k[r][n], m[n], p.head_dim, y[r]);
      }
    }
  });
  return y;
}

// [n][p] times [r][p]: over p ascending.
Matrix OverChannels(const Matrix& m, const Matrix& x,
                    const Mamba3ScanProblem& p) {
  Matrix y(p.ranks, p.state_dim);
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t r = 0; r < p.ranks; ++r) {
      for (int64_t n = 0; n < p.state_dim; ++n) {
        y[r][n] = Dot(m[n], x[r], p.head_dim);
      }
    }
  });
  return y;
}

}  // namespace

// Pieces from the last to the first, each from its checkpoint.
HeadSums HeadBackward::Walk(int64_t checkpoint) {
  std::vector<State> starts;
  State state = token_.Start(index_, head_);
  for (int64_t t = run_.first; t < run_.end; ++t) {
    if ((t - run_.first) % checkpoint == 0) starts.push_back(state);
    token_.Advance({run_.row, t, head_}, state);
  }
  LoadCarry();
  for (size_t i = starts.size(); i-- > 0;) {
    const int64_t first = run_.first + static_cast<int64_t>(i) * checkpoint;
    RunPiece(starts[i], first, std::min(first + checkpoint, run_.end));
  }
  if (p_.carry_in) StoreCarry();
  return std::move(sums_);
}

void HeadBackward::LoadCarry() {
  if (!problem_.carry_grad) return;
  for (int64_t s = 0; s < p_.angles; ++s) {
    carry_.theta[s] = in_.dcarry.theta(index_, head_, s);
  }
  for (int64_t n = 0; n < p_.state_dim; ++n) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      carry_.h[n][c] = in_.dcarry.h(index_, head_, c, n);
    }
    for (int64_t r = 0; r < p_.ranks; ++r) {
      carry_.k[r][n] = in_.dcarry.k(index_, r, head_, n);
    }
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    carry_.v[c] = in_.dcarry.v(index_, head_, c);
  }
}

void HeadBackward::RunPiece(const State& start, int64_t first, int64_t end) {
  std::vector<State> states = {start};
  std::vector<Mamba3Read> reads;
  for (int64_t t = first; t < end; ++t) {
    State next = states.back();
    reads.push_back(token_.Advance({run_.row, t, head_}, next));
    states.push_back(std::move(next));
  }
  for (int64_t t = end; t-- > first;) {
    const auto i = static_cast<size_t>(t - first);
    Reverse({run_.row, t, head_}, {states[i], states[i + 1], reads[i]});
  }
}

// carry_ goes from behind the token to before it, a part at a time.
void HeadBackward::Reverse(const Place& at, const Moment& now) {
  const Mamba3Weights w = token_.Weigh(at);
  const Matrix d_o = OutputStage(at, now.read);           // 1
  ReadBack(d_o, now.read.q);                              // 2
  const Matrix d_q = OverChannels(now.after.h, d_o, p_);  // 3
  const Matrix of_x = OverStates(carry_.h, now.after.k, p_);
  const Matrix of_x_before = OverStates(carry_.h, now.before.k, p_);
  Channels(at, w, d_o, now, of_x, of_x_before);  // 4
  const Matrix d_k = Keys(w, now);
  const float d_dt = Scalars(at, w, now, of_x, of_x_before);  // 5
  Angles(at, w.dt, d_dt, d_q, d_k, now);                      // 6
  RotateBack(at, now.after, d_q, dq_, sums_.bq);              // 7
  RotateBack(at, now.after, d_k, dk_, sums_.bk);
  for (float& h : carry_.h.elements()) h = w.alpha * h;  // 8
}

// 1: the cotangent of o before the norm.
Matrix HeadBackward::OutputStage(const Place& at, const Mamba3Read& read) {
  Matrix normal = read.o;
  Matrix value = read.o;
  std::vector<float> inverse(static_cast<size_t>(p_.ranks), 0.0f);
  for (int64_t r = 0; p_.norm_epsilon && r < p_.ranks; ++r) {
    inverse[r] = token_.InverseNorm(read.o[r]);
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      normal[r][c] = read.o[r][c] * inverse[r];
      value[r][c] = normal[r][c] * in_.forward.norm_weight(head_, c);
    }
  }
  Matrix d_o(p_.ranks, p_.head_dim);
  GateAndSum(at, value, d_o);
  for (int64_t r = 0; p_.norm_epsilon && r < p_.ranks; ++r) {
    float* d = d_o[r];
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      float& sum = sums_.norm_weight[0][c];
      sum = std::fma(d[c], normal[r][c], sum);
      d[c] = d[c] * in_.forward.norm_weight(head_, c);
    }
    const float mean = StripedDot(d, normal[r], 1, p_.head_dim) /
                       static_cast<float>(p_.head_dim);
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      d[c] = inverse[r] * std::fma(-normal[r][c], mean, d[c]);
    }
  }
  return d_o;
}

// 1: from y back to what the gate is given, `value`.
void HeadBackward::GateAndSum(const Place& at, const Matrix& value,
                              Matrix& d_value) {
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    float d_z = 0.0f;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      const float dy = in_.dy.Float(at.b, at.t, p_.reduce ? 0 : r, head_, c);
      float y = value[r][c];
      float d = p_.reduce ? dy * in_.forward.phi(head_, r, c) : dy;
      if (p_.gate) {
        const float z = in_.forward.z.Float(at.b, at.t, head_, c);
        const float u = p_.mimo() ? in_.forward.zeta(head_, r, c) * z : z;
        const float sigma = Sigmoid(u);
        const float slope = sigma * std::fma(u, 1.0f - sigma, 1.0f);
        const float d_u = (d * y) * slope;
        y = y * Silu(u);
        d = d * Silu(u);
        if (p_.mimo()) {
          d_z = std::fma(d_u, in_.forward.zeta(head_, r, c), d_z);
          sums_.zeta[r][c] = std::fma(d_u, z, sums_.zeta[r][c]);
        } else {
          d_z = d_u;
        }
      }
      if (p_.reduce) sums_.phi[r][c] = std::fma(dy, y, sums_.phi[r][c]);
      d_value[r][c] = d;
    }
    if (p_.gate) StoreElement(out_.dz, d_z, at.b, at.t, head_, c);
  }
}

// 2: what the token's own read-out adds to the cotangent of its state.
void HeadBackward::ReadBack(const Matrix& d_o, const Matrix& q) {
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      for (int64_t r = 0; r < p_.ranks; ++r) {
        AddTimes(q[r][n], d_o[r], p_.head_dim, carry_.h[n]);
      }
    }
  });
}

// 4: x and what it is made of, the token's own and, through beta, that of the
// token before.
void HeadBackward::Channels(const Place& at, const Mamba3Weights& w,
                            const Matrix& d_o, const Moment& now,
                            const Matrix& of_x, const Matrix& of_x_before) {
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    float d_v = 0.0f;
    float d_v_before = 0.0f;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      float d_x = w.gamma * of_x[r][c];
      const float d_x_before = w.beta * of_x_before[r][c];
      if (p_.skip) {
        d_x = std::fma(in_.forward.d(head_), d_o[r][c], d_x);
        sums_.d[0][c] = std::fma(d_o[r][c], now.after.x[r][c], sums_.d[0][c]);
      }
      if (p_.mimo()) {
        const float psi = in_.forward.psi(head_, r, c);
        float& sum = sums_.psi[r][c];
        d_v = std::fma(psi, d_x, d_v);
        d_v_before = std::fma(psi, d_x_before, d_v_before);
        sum = std::fma(d_x, now.after.v[c], sum);
        sum = std::fma(d_x_before, now.before.v[c], sum);
      } else {
        d_v = d_x;
        d_v_before = d_x_before;
      }
    }
    StoreElement(out_.dv, d_v + carry_.v[c], at.b, at.t, head_, c);
    carry_.v[c] = d_v_before;
  }
}

// 4: the cotangents of the rotated k, the token's own and that before.
Matrix HeadBackward::Keys(const Mamba3Weights& w, const Moment& now) {
  const Matrix of_k = OverChannels(carry_.h, now.after.x, p_);
  const Matrix of_k_before = OverChannels(carry_.h, now.before.x, p_);
  Matrix d_k(p_.ranks, p_.state_dim);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      d_k[r][n] = w.gamma * of_k[r][n] + carry_.k[r][n];
      carry_.k[r][n] = w.beta * of_k_before[r][n];
    }
  }
  return d_k;
}

// 5: da, dtau, and ddt without the angles' part.
float HeadBackward::Scalars(const Place& at, const Mamba3Weights& w,
                            const Moment& now, const Matrix& of_x,
                            const Matrix& of_x_before) {
  const auto dot = [&](const Matrix& x, const Matrix& y) {
    return StripedDot(x[0], y[0], p_.ranks, p_.head_dim);
  };
  const float current = dot(now.after.x, of_x);
  const float before = dot(now.before.x, of_x_before);
  std::vector<float> state(static_cast<size_t>(p_.state_dim), 0.0f);
  WithFma([&]() LOCKSTEP_IN_BOTH {
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      state[n] = Dot(carry_.h[n], now.before.h[n], p_.head_dim);
    }
  });
  const float rest = 1.0f - w.lambda;
  const float decayed = w.alpha * before;
  const float d_a = std::fma(w.alpha, StripedSum(state), w.beta * before);
  out_.da(at.b, at.h, at.t) = FinishElement(d_a, Lane::kF32);
  StoreElement(out_.dtau, ((current - decayed) * w.dt) * (w.lambda * rest),
               at.b, at.h, at.t);
  return std::fma(rest, decayed, w.lambda * current);
}

// 6: the sum over this token and those after it, of the angles' gradients by
// turns.
void HeadBackward::Angles(const Place& at, float dt, float d_dt,
                          const Matrix& d_q, const Matrix& d_k,
                          const Moment& now) {
  const Matrix& q = now.read.q;
  const Matrix& k = now.after.k;
  std::vector<float> rate(static_cast<size_t>(p_.angles));
  for (int64_t s = 0; s < p_.angles; ++s) {
    const auto [u, w] = token_.PairOf(s);
    float turn = 0.0f;
    for (int64_t r = 0; r < p_.ranks; ++r) {
      turn = std::fma(d_q[r][w], q[r][u], turn);
      turn = std::fma(-d_q[r][u], q[r][w], turn);
      turn = std::fma(d_k[r][w], k[r][u], turn);
      turn = std::fma(-d_k[r][u], k[r][w], turn);
    }
    float& theta = carry_.theta[s];
    theta = std::fma(kTwoPi, turn, theta);
    rate[s] = token_.Rate(at, s);
    const float slope = std::fma(-rate[s], rate[s], 1.0f);
    StoreElement(out_.dvartheta, (theta * (dt * 0.5f)) * slope, at.b, at.t,
                 head_, s);
  }
  if (p_.angles > 0) {
    const float sum =
        StripedDot(carry_.theta.data(), rate.data(), 1, p_.angles);
    d_dt = std::fma(0.5f, sum, d_dt);
  }
  out_.ddt(at.b, at.h, at.t) = FinishElement(d_dt, Lane::kF32);
}

// 7: into the sums over the heads of the group and over the run.
void HeadBackward::RotateBack(const Place& at, const State& after, Matrix x,
                              Matrix& to, Matrix& bias) {
  for (int64_t r = 0; r < p_.ranks; ++r) {
    for (int64_t s = 0; s < p_.angles; ++s) {
      const SinCos turn = SinCosTurnsCore(after.theta[s]);
      float& u = x[r][token_.PairOf(s).u];
      float& w = x[r][token_.PairOf(s).w];
      const float turned = std::fma(u, turn.cos, w * turn.sin);
      w = std::fma(w, turn.cos, -(u * turn.sin));
      u = turned;
    }
    float* sum = to[(at.t - run_.first) * p_.ranks + r];
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      sum[n] = sum[n] + x[r][n];
      bias[r][n] = bias[r][n] + x[r][n];
    }
  }
}

// 8: an empty run passes on what it was given.
void HeadBackward::StoreCarry() {
  const auto finish = [](float x) { return FinishElement(x, Lane::kF32); };
  for (int64_t s = 0; s < p_.angles; ++s) {
    out_.dcarry.theta(index_, head_, s) = finish(carry_.theta[s]);
  }
  for (int64_t n = 0; n < p_.state_dim; ++n) {
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      out_.dcarry.h(index_, head_, c, n) = finish(carry_.h[n][c]);
    }
    for (int64_t r = 0; r < p_.ranks; ++r) {
      out_.dcarry.k(index_, r, head_, n) = finish(carry_.k[r][n]);
    }
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    out_.dcarry.v(index_, head_, c) = finish(carry_.v[c]);
  }
}

}  // namespace lockstep::reference
