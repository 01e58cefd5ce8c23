#include "verify/oracle/mamba3_scan/head.h"

#include <algorithm>
#include <cmath>

namespace lockstep::oracle {
namespace {

template <typename View, typename... Index>
double Load(const View& x, Index... at) {
  return static_cast<double>(x.Float(at...));
}

bool Finite(const Vector& x) {
  for (const double value : x) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

std::vector<Mode> ModesOf(const Mamba3ScanProblem& problem,
                          bool other_pairing) {
  std::vector<Mode> modes;
  std::vector<bool> turned(static_cast<size_t>(problem.state_dim));
  for (int64_t s = 0; s < problem.angles; ++s) {
    Mode mode{2 * s, 2 * s + 1};
    if (problem.mimo() != other_pairing) mode = {s, s + problem.state_dim / 2};
    turned[static_cast<size_t>(mode.first)] = true;
    turned[static_cast<size_t>(mode.second)] = true;
    modes.push_back(mode);
  }
  for (int64_t n = 0; n < problem.state_dim; ++n) {
    if (!turned[static_cast<size_t>(n)]) modes.push_back({n, -1});
  }
  return modes;
}

ScanToken ScanHead::Token(int64_t t) const {
  const int64_t b = at_.row;
  const int64_t h = at_.head;
  const int64_t group = h / (p_.heads / p_.groups);
  ScanToken token;
  token.a = static_cast<double>(in_.a(b, h, t));
  token.dt = static_cast<double>(in_.dt(b, h, t));
  token.tau = Load(in_.tau, b, h, t);
  // lambda = 1 or 0 exactly: the scan without a look-ahead, or with nothing
  // else.
  token.finite = token.tau == token.tau;
  for (int64_t r = 0; r < p_.ranks; ++r) {
    Vector q, k;
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      q.push_back(Load(in_.q, b, t, r, group, n));
      k.push_back(Load(in_.k, b, t, r, group, n));
    }
    token.finite = token.finite && Finite(q) && Finite(k);
    token.q.push_back(q);
    token.k.push_back(k);
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    token.v.push_back(Load(in_.v, b, t, h, c));
    if (p_.gate) token.z.push_back(Load(in_.z, b, t, h, c));
  }
  for (int64_t s = 0; s < p_.angles; ++s) {
    token.rate.push_back(Load(in_.vartheta, b, t, h, s));
  }
  token.finite = token.finite && Finite(token.v) && Finite(token.rate);
  token.adds_finite = token.tau == token.tau && Finite(token.v) &&
                      Finite(token.rate) &&
                      std::all_of(token.k.begin(), token.k.end(), Finite);
  return token;
}

ScanCarry ScanHead::Carry() const {
  ScanCarry carry;
  const auto& from = in_.carry;
  const bool given = from.given();
  const auto value = [&](const auto& view, auto... at) {
    return given ? static_cast<double>(view(at_.run, at...)) : 0.0;
  };
  for (int64_t s = 0; s < p_.angles; ++s) {
    carry.theta.push_back(value(from.theta, at_.head, s));
  }
  for (int64_t n = 0; n < p_.state_dim; ++n) {
    Vector row;
    for (int64_t c = 0; c < p_.head_dim; ++c) {
      row.push_back(value(from.h, at_.head, c, n));
    }
    carry.h.push_back(row);
  }
  for (int64_t r = 0; r < p_.ranks; ++r) {
    Vector row;
    for (int64_t n = 0; n < p_.state_dim; ++n) {
      row.push_back(value(from.k, r, at_.head, n));
    }
    carry.k.push_back(row);
  }
  for (int64_t c = 0; c < p_.head_dim; ++c) {
    carry.v.push_back(value(from.v, at_.head, c));
  }
  return carry;
}

std::vector<Vector> ScanHead::Ranked(const TensorView<const float, 3>& x,
                                     int64_t channels, double absent) const {
  std::vector<Vector> rows;
  for (int64_t r = 0; r < p_.ranks; ++r) {
    Vector row(static_cast<size_t>(channels), absent);
    for (int64_t c = 0; c < channels && x.data != nullptr; ++c) {
      row[static_cast<size_t>(c)] = static_cast<double>(x(at_.head, r, c));
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<Vector> ScanHead::Bias(bool of_query) const {
  return Ranked(of_query ? in_.bq : in_.bk, p_.state_dim, 0);
}
std::vector<Vector> ScanHead::Psi() const {
  return Ranked(in_.psi, p_.head_dim, 1);
}
std::vector<Vector> ScanHead::Zeta() const {
  return Ranked(in_.zeta, p_.head_dim, 1);
}
std::vector<Vector> ScanHead::Phi() const {
  return Ranked(in_.phi, p_.head_dim, 1);
}
Vector ScanHead::NormWeight() const {
  Vector weight;
  for (int64_t c = 0; c < p_.head_dim && p_.norm_epsilon; ++c) {
    weight.push_back(static_cast<double>(in_.norm_weight(at_.head, c)));
  }
  return weight;
}
double ScanHead::Skip() const {
  return p_.skip ? static_cast<double>(in_.d(at_.head)) : 0;
}

}  // namespace lockstep::oracle
