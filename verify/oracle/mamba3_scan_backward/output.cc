// From the cotangent of y to that of what the state gives: ranks, gate, norm
// (step 1 of clause N19).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "verify/oracle/mamba3_scan/functions.h"
#include "verify/oracle/mamba3_scan_backward/walk.h"

namespace lockstep::oracle {
namespace {

template <typename View, typename... Index>
double Load(const View& x, Index... at) {
  return static_cast<double>(x.Float(at...));
}

// Whether a product of numbers up to these sizes may overflow on the way. They
// meet in any order, large ones first.
bool MayOverflow(std::initializer_list<double> sizes) {
  double most = 1;
  for (const double x : sizes) most *= std::max(std::fabs(x), 1.0);
  return !(most < kLargestProduct);
}

}  // namespace

// The normed output before its weight. `stretch`: what its factor may be off
// by; `d_o`: from the cotangent of the weighted value.
Nums GradientWalk::Normed(size_t r, const Moment& now, const Nums& d_value,
                          Num* stretch, Nums* d_o) {
  const auto channels = static_cast<double>(channels_);
  const auto epsilon =
      static_cast<double>(static_cast<float>(*p_.norm_epsilon));
  double squares = 0, moved = 0;
  for (size_t c = 0; c < channels_; ++c) {
    const double x = std::fabs(now.o[r][c]);
    squares += x * x;
    moved += (2 * x + now.o_error[r][c]) * now.o_error[r][c];
  }
  const double mean = squares / channels + epsilon;
  moved = moved / channels + mean * scan_.norm + scan_.tiny;
  const double most = moved < mean ? std::sqrt(mean / (mean - moved)) : kInf;
  *stretch = Exactly(1 / std::sqrt(mean), most * (1 + scan_.norm) - 1);
  Nums normed;
  Num dot;
  Nums scaled;
  for (size_t c = 0; c < channels_; ++c) {
    normed.push_back(Within(now.o[r][c], now.o_error[r][c]) * *stretch);
    scaled.push_back(d_value[c] *
                     Exactly(forward_.norm()[c], scan_.param + scan_.norm));
    dot += scaled[c] * normed[c];
  }
  const bool overflows = !(Worst(dot) < kLargestProduct);
  dot = Off(dot, scan_.norm) * Exactly(1 / channels);
  for (size_t c = 0; c < channels_; ++c) {
    const Num across = scaled[c] - normed[c] * dot;
    d_o->push_back(AsOne(Off(*stretch * across, scan_.norm)));
    if (overflows || MayOverflow({Worst(across), Worst(*stretch)})) {
      d_o->back().worst = kInf;
    }
  }
  return normed;
}

std::vector<Nums> GradientWalk::OutputStage(int64_t t, const Moment& now) {
  const size_t token = Z(t - at_.first);
  std::vector<Nums> d_o(ranks_);
  for (size_t r = 0; r < ranks_; ++r) {
    Nums normed, d_value, of_y;
    const auto rank = static_cast<int64_t>(p_.reduce ? 0 : r);
    Num stretch;
    // The value behind the norm, before the gate, is needed first.
    Nums value;
    if (p_.norm_epsilon) {
      Nums unused;
      normed = Normed(r, now, Nums(channels_), &stretch, &unused);
    }
    for (size_t c = 0; c < channels_; ++c) {
      const double dy =
          Load(in_.dy, at_.row, t, rank, at_.head, static_cast<int64_t>(c));
      of_y.push_back(Exactly(dy));
      value.push_back(p_.norm_epsilon
                          ? normed[c] * Exactly(forward_.norm()[c],
                                                scan_.param + scan_.norm)
                          : Within(now.o[r][c], now.o_error[r][c]));
      Num made = of_y[c];
      if (p_.reduce) {
        made =
            Off(made, scan_.rank) * Exactly(forward_.phi()[r][c], scan_.param);
      }
      Num silu = Exactly(1);
      if (p_.gate) {
        const double zeta = forward_.zeta()[r][c];
        const double z = now.token.z[c];
        const double u = zeta * z;
        const double sigma = ScanSigmoid(u);
        const double input =
            p_.mimo() ? (1 + scan_.param) * (1 + scan_.product) - 1 : 0;
        const double relative =
            2 * scan_.gate + input * (1 + std::fabs(u)) + kOwn;
        const double lost = scan_.tiny * (1 + std::fabs(u));
        silu = Within(u * sigma, std::fabs(u) * sigma * relative + lost);
        // A difference of what may cancel.
        Num slope = Within(sigma * (1 + u * (1 - sigma)),
                           sigma * (1 + std::fabs(u)) * relative + lost);
        // An infinite u times a sigma of 0 is NaN.
        if (MayOverflow({zeta, z})) silu.worst = slope.worst = kInf;
        Num d_u = made * value[c] * slope;
        if (MayOverflow(
                {Worst(made), Worst(value[c]), Worst(slope), zeta, z})) {
          d_u.worst = kInf;
        }
        AddTo(Gradient::kZ, token * channels_ + c,
              Off(d_u * Exactly(zeta, scan_.param), scan_.rank + scan_.gate));
        AddTo(Gradient::kZeta, r * channels_ + c,
              Off(d_u * Exactly(z), scan_.gate));
      }
      Num d_phi = of_y[c] * (value[c] * silu);
      if (MayOverflow({dy, Worst(value[c]), Worst(silu)})) d_phi.worst = kInf;
      AddTo(Gradient::kPhi, r * channels_ + c, d_phi);
      d_value.push_back(Off(made * silu, scan_.gate));
      if (MayOverflow({Worst(made), Worst(silu)})) d_value.back().worst = kInf;
    }
    if (p_.norm_epsilon) {
      for (size_t c = 0; c < channels_; ++c) {
        AddTo(Gradient::kNormWeight, c, d_value[c] * normed[c]);
      }
      Normed(r, now, d_value, &stretch, &d_o[r]);
    } else {
      for (const Num& one : d_value) {
        d_o[r].push_back(AsOne(one));
      }
    }
    for (Num& one : d_o[r]) one = Off(one, e_.cotangent);
  }
  return d_o;
}

}  // namespace lockstep::oracle
