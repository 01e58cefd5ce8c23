// From dy to the cotangent of what the state gives; angles.
#include <cmath>
#include <cstddef>

#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/emulator/mamba3_scan_backward/head.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

using F = ScanGradFault;

constexpr float kTwoPi = 6.2831853071795864769f;

}  // namespace

// The norm of a rank's o: its cotangent from that of the weighted value.
void GradHead::Normed(Output* rank, const Floats& d_value) const {
  const auto channels = static_cast<float>(rank->o.size());
  float squares = 0;
  for (const float o : rank->o) squares = row_.math.MulAdd(o, o, squares);
  const float factor =
      1 / std::sqrt(squares / channels + static_cast<float>(*p_.norm_epsilon));
  rank->normed.clear();
  for (const float o : rank->o) rank->normed.push_back(o * factor);
  if (d_value.empty()) return;
  Floats scaled = d_value;
  for (size_t c = 0; c < scaled.size(); ++c) {
    if (!Is(F::kNormWeightMissing)) scaled[c] *= row_.norm_weight[c];
  }
  float dot = row_.math.Dot(scaled, rank->normed) / channels;
  if (Is(F::kNormDotMissing)) dot = 0;
  for (size_t c = 0; c < scaled.size(); ++c) {
    if (Is(F::kNormPerChannel)) dot = scaled[c] * rank->normed[c] / channels;
    rank->d_o.push_back(factor *
                        row_.math.MulAdd(-rank->normed[c], dot, scaled[c]));
  }
}

float GradHead::Cotangent(int64_t t, int64_t r, int64_t c) const {
  const float x = Load(in_.dy, b_, t, r, head_, c);
  if (Is(F::kF16ThroughBf16)) return RoundTo(x, NumberType::kBf16);
  return Is(F::kF16CotangentFlushed) ? FlushedInF16(x) : x;
}

FloatRows GradHead::OutputStage(int64_t t, const RowState& state,
                                TokenGradients* to, WeightGradients* sums) {
  const ScanNumeric& sites = row_.math.sites();
  const size_t channels = Z(p_.head_dim);
  FloatRows all;
  to->z.assign(channels, 0.0f);
  for (int64_t r = 0; r < p_.ranks; ++r) {
    Output rank;
    for (size_t c = 0; c < channels; ++c) {
      Floats column;
      for (const Floats& row : state.h)
        column.push_back(Operand(row[c], sites.state, sites));
      rank.o.push_back(Dot(row_.q[Z(t)][Z(r)], column));
      if (p_.skip) {
        rank.o[c] =
            row_.math.MulAdd(row_.skip, row_.x[Z(t)][Z(r)][c], rank.o[c]);
      }
    }
    rank.value = rank.o;
    if (p_.norm_epsilon) {
      Normed(&rank, {});
      for (size_t c = 0; c < channels; ++c) {
        rank.value[c] = rank.normed[c] * row_.norm_weight[c];
      }
    }
    Floats d_value;
    for (size_t c = 0; c < channels; ++c) {
      const float dy = Cotangent(t, p_.reduce ? 0 : r, static_cast<int64_t>(c));
      const bool phi = p_.reduce && !Is(F::kPhiMissing);
      const float made = phi ? dy * row_.phi[Z(r)][c] : dy;
      float silu = 1;
      if (p_.gate) {
        const float zeta = p_.mimo() ? row_.zeta[Z(r)][c] : 1;
        const float z = row_.z[Z(t)][c];
        const float u = zeta * z;
        const float sigma = row_.math.Sigmoid(u);
        silu = Cast(u * sigma, sites.gate);
        float slope = sigma * row_.math.MulAdd(u, 1 - sigma, 1);
        if (Is(F::kSlopeOfSigmoid)) slope = sigma * (1 - sigma);
        const float d_u = made * rank.value[c] * slope;
        if (!Is(F::kDzOfRank0) || r == 0) {
          to->z[c] =
              row_.math.MulAdd(d_u, Is(F::kDzWithoutZeta) ? 1 : zeta, to->z[c]);
        }
        sums->zeta[Z(r)][c] = Add(sums->zeta[Z(r)][c], d_u * z);
      }
      const float of_y =
          Is(F::kPhiOfGated) ? rank.value[c] : rank.value[c] * silu;
      sums->phi[Z(r)][c] = Add(sums->phi[Z(r)][c], dy * of_y);
      d_value.push_back(Is(F::kSiluMissing) ? made : made * silu);
    }
    if (p_.norm_epsilon) {
      for (size_t c = 0; c < channels; ++c) {
        sums->norm[c] = Add(sums->norm[c], d_value[c] * rank.normed[c]);
      }
      Normed(&rank, d_value);
    } else {
      rank.d_o = d_value;
    }
    for (float& x : rank.d_o) {
      if (Is(F::kF16Cotangent)) x = RoundTo(x, NumberType::kF16);
      x = Is(F::kCotangentInBf16) ? RoundTo(x, NumberType::kBf16)
                                  : Operand(x, sites.grad_do, sites);
    }
    all.push_back(rank.d_o);
  }
  return all;
}

void GradHead::Angles(int64_t t, const Products& made, CarryGradients* carry,
                      TokenGradients* to) const {
  const bool other = row_.math.sites().OtherPairing(p_.mimo());
  const bool halves = p_.mimo() != other;
  const auto half = static_cast<float>(0.5);
  for (int64_t s = 0; s < p_.angles; ++s) {
    const size_t u = Z(halves ? s : 2 * s);
    const size_t w = Z(halves ? s + p_.state_dim / 2 : 2 * s + 1);
    float g = 0;
    for (size_t r = 0; r < made.q.size(); ++r) {
      const Floats& q = row_.q[Z(t)][r];
      const Floats& k = row_.k[Z(t)][r];
      g = row_.math.MulAdd(made.q[r][w], q[u], g);
      g = row_.math.MulAdd(-made.q[r][u], q[w], g);
      if (Is(F::kThetaOfQueries)) continue;
      g = row_.math.MulAdd(made.k[r][w], k[u], g);
      g = row_.math.MulAdd(-made.k[r][u], k[w], g);
    }
    if (Is(F::kThetaSign)) g = -g;
    const float turn = Is(F::kThetaPerRadian) ? 1 : kTwoPi;
    float& theta = carry->theta[Z(s)];
    if (Is(F::kThetaNotSummed)) theta = 0;
    theta = row_.math.MulAdd(turn, g, theta);
    const float rate =
        row_.math.Tanh(Load(in_.forward.vartheta, b_, t, head_, s));
    const float slope =
        Is(F::kTanhSlopeMissing) ? 1 : row_.math.MulAdd(-rate, rate, 1);
    const float dt = row_.dt[Z(t)];
    to->rate.push_back(theta * (dt * half) * slope);
    if (!Is(F::kDdtWithoutAngles)) {
      to->dt = row_.math.MulAdd(half * theta, rate, to->dt);
    }
  }
}

FloatRows GradHead::TurnBack(int64_t t, const FloatRows& x, bool key) const {
  if (Is(F::kNotTurnedBack) || (key && Is(F::kKeyNotTurnedBack))) return x;
  Floats back = row_.theta[Z(t)];
  for (float& angle : back) {
    angle = Cast(angle, row_.math.sites().angle);
    if (!Is(F::kTurnedForward)) angle = -angle;
  }
  FloatRows turned;
  for (const Floats& one : x) turned.push_back(row_.Rotate(one, back, false));
  return turned;
}

}  // namespace lockstep::verify
