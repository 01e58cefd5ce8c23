// The Mamba-3 scan in f32, token by token, as a kernel that Lockstep judges:
//   g++ -std=c++17 -O2 -fPIC -shared -I PREFIX/include scan.cc -o scan.so
//   lockstep verify 'mamba3_scan t=100 h=2 n=16 p=8 s=4 cu=0,40,100 carry=yes'
//     --candidate so:./scan.so --profile from-candidate
// The judge makes one tensor of whatever says which tokens belong together: segments.
#include <cmath>
#include <vector>

#include "lockstep/candidate.h"

namespace {
using Call = lockstep_mamba3_scan_call;
using Tensor = const lockstep_tensor*;
using Row = std::vector<float>;

template <typename T = float, typename... Index>
T& At(Tensor x, Index... index) {
  const int64_t at[] = {index...};
  char* data = static_cast<char*>(x->data);
  for (int axis = 0; axis < x->rank; ++axis) data += at[axis] * x->strides[axis];
  return *reinterpret_cast<T*>(data);
}

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
float Psi(const Call& c, int64_t h, int64_t r, int64_t p) {
  return c.mimo ? At(c.psi, h, r, p) : 1;
}

// One head of one run: what its next token depends on.
struct State {
  Row theta;              // turns
  std::vector<Row> h, k;  // [p][n]; [r][n] of the last token, rotated
  Row v;                  // of the last token

  // From a carry of the call, or to one.
  void Move(const Call& c, int64_t run, int64_t head, bool to, const Tensor (&carry)[4]) {
    const auto move = [to](float& mine, float& other) { (to ? other : mine) = to ? mine : other; };
    for (int64_t s = 0; s < c.s; ++s) move(theta[s], At(carry[0], run, head, s));
    for (int64_t p = 0; p < c.p; ++p) move(v[p], At(carry[3], run, head, p));
    for (int64_t n = 0; n < c.n; ++n) {
      for (int64_t p = 0; p < c.p; ++p) move(h[p][n], At(carry[1], run, head, p, n));
      for (int64_t r = 0; r < c.r; ++r) move(k[r][n], At(carry[2], run, r, head, n));
    }
  }
};

// q or k of a token with its bias, each pair of coordinates turned.
std::vector<Row> Rotated(const Call& c, Tensor x, Tensor bias, int64_t b, int64_t t, int64_t head,
                         const Row& theta) {
  std::vector<Row> y(c.r, Row(c.n));
  for (int64_t r = 0; r < c.r; ++r) {
    for (int64_t n = 0; n < c.n; ++n) {
      y[r][n] = At(x, b, t, r, head / (c.h / c.g), n) + (c.bias ? At(bias, head, r, n) : 0);
    }
    for (int64_t s = 0; s < c.s; ++s) {
      float &u = y[r][c.mimo ? s : 2 * s], &w = y[r][c.mimo ? s + c.n / 2 : 2 * s + 1];
      const float angle = 2 * 3.14159265358979 * theta[s], u0 = u;
      u = u0 * std::cos(angle) - w * std::sin(angle);
      w = u0 * std::sin(angle) + w * std::cos(angle);
    }
  }
  return y;
}

void Advance(const Call& c, int64_t b, int64_t t, int64_t head, State* state) {
  const float dt = At(c.dt, b, head, t), lambda = Sigmoid(At(c.tau, b, head, t));
  const float alpha = std::exp(At(c.a, b, head, t));
  const float gamma = lambda * dt, beta = (1 - lambda) * dt * alpha;
  for (int64_t s = 0; s < c.s; ++s) {
    const float turns = state->theta[s] + std::tanh(At(c.vartheta, b, t, head, s)) * dt / 2;
    state->theta[s] = turns - std::floor(turns) == 1 ? 0 : turns - std::floor(turns);
  }
  const auto q = Rotated(c, c.q, c.bq, b, t, head, state->theta);
  const auto k = Rotated(c, c.k, c.bk, b, t, head, state->theta);
  std::vector<Row> o(c.r, Row(c.p));
  Row squares(c.r), sums(c.p);
  for (int64_t p = 0; p < c.p; ++p) {
    const float v = At(c.v, b, t, head, p);
    for (int64_t n = 0; n < c.n; ++n) {
      float& h = state->h[p][n] *= alpha;
      for (int64_t r = 0; r < c.r; ++r) {
        h += beta * state->k[r][n] * (Psi(c, head, r, p) * state->v[p]);
        h += gamma * k[r][n] * (Psi(c, head, r, p) * v);
      }
      for (int64_t r = 0; r < c.r; ++r) o[r][p] += q[r][n] * h;
    }
    for (int64_t r = 0; r < c.r; ++r) {
      if (c.skip) o[r][p] += At(c.d, head) * (Psi(c, head, r, p) * v);
      squares[r] += o[r][p] * o[r][p];
    }
    state->v[p] = v;
  }
  state->k = k;
  for (int64_t i = 0; i < c.r * c.p; ++i) {
    const int64_t r = i / c.p, p = i % c.p;
    float y = o[r][p];
    if (c.norm_weight)
      y *= At(c.norm_weight, head, p) / std::sqrt(squares[r] / c.p + float(c.norm_epsilon));
    const float z = c.gate ? (c.mimo ? At(c.zeta, head, r, p) : 1) * At(c.z, b, t, head, p) : 0;
    if (c.gate) y *= z * Sigmoid(z);
    if (c.reduce) y = sums[p] += At(c.phi, head, r, p) * y;
    At(c.y, b, t, c.reduce ? 0 : r, head, p) = y;
  }
}
}  // namespace

int lockstep_describe(lockstep_description* d) {
  d->abi = LOCKSTEP_ABI;
  d->name = "example-scan";
  d->lanes = "f32";
  d->wants = "segments";
  d->profile = "base = scan-f32\nname = example-scan\n";
  return 0;
}

int lockstep_mamba3_scan(lockstep_handle*, const Call* call, lockstep_receipt*) {
  const Call& c = *call;
  if (c.rotated != LOCKSTEP_F32) return LOCKSTEP_UNSUPPORTED;
  const State start = {Row(c.s), {size_t(c.p), Row(c.n)}, {size_t(c.r), Row(c.n)}, Row(c.p)};
  for (int64_t i = 0; i < c.b * c.h; ++i) {
    const int64_t b = i / c.h, head = i % c.h;
    State state = start;
    for (int64_t t = 0; t < c.t; ++t) {
      const auto run = [&](int64_t at) { return At<int32_t>(c.segments, b, at); };
      if (t > 0 && run(t) != run(t - 1)) state = start;
      const bool first = t == 0 || run(t) != run(t - 1),
                 last = t + 1 == c.t || run(t) != run(t + 1);
      if (first && c.carry_in)
        state.Move(c, run(t), head, false, {c.init_theta, c.init_h, c.init_k, c.init_v});
      Advance(c, b, t, head, &state);
      if (last) state.Move(c, run(t), head, true, {c.carry_theta, c.carry_h, c.carry_k, c.carry_v});
    }
  }
  return LOCKSTEP_DONE;
}
