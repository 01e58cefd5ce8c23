// What the gradients of a token are made of: steps 3 to 7 of clause N19.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "verify/oracle/mamba3_scan/functions.h"
#include "verify/oracle/mamba3_scan_backward/walk.h"

namespace lockstep::oracle {
namespace {

constexpr double kU = 0x1p-24;

}  // namespace

// A given one of the carry is rounded like any other.
Num GradientWalk::XOf(const Moment& at, size_t r, size_t c) const {
  return Exactly(
      at.x[r][c],
      (1 + scan_.param) * (1 + scan_.product) * (1 + scan_.input) - 1);
}

GradientWalk::Products GradientWalk::Multiply(const Weights& w,
                                              const Moment& now,
                                              const Moment& before,
                                              const std::vector<Nums>& d_o) {
  const auto& modes = forward_.modes();
  const double off = (1 + e_.read) * (1 + now.ends) - 1;
  Products made;
  made.q.assign(ranks_, Nums(states_));
  made.k = made.q;
  made.x.assign(ranks_, Nums(channels_));
  made.then = made.x;
  for (size_t r = 0; r < ranks_; ++r) {
    Nums of_q(modes.size()), of_k(modes.size()), of_then(modes.size());
    for (size_t m = 0; m < modes.size(); ++m) {
      const double turn = modes[m].second < 0 ? 0 : now.step_angle[m];
      const double k = now.of_k[r].seen[m];
      const double then = before.of_k[r].seen[m] * (1 + turn);
      for (size_t c = 0; c < channels_; ++c) {
        const Num state = {0, m_size_[m][c], WorstState(m, c)};
        const double lost = Lost(state.worst + k + then);
        of_q[m] += {0, now.size[m][c] * d_o[r][c].size,
                    now.seen[m][c] * Worst(d_o[r][c]) + lost};
        const Num now_x = state * XOf(now, r, c);
        const Num then_x = state * XOf(before, r, c);
        of_k[m] += {0, now_x.size, now_x.worst + lost};
        of_then[m] += {0, then_x.size, then_x.worst * (1 + turn) + lost};
        made.x[r][c] +=
            {0, m_size_[m][c] * now.of_k[r].plain[m], state.worst * k + lost};
        made.then[r][c] += {0, m_size_[m][c] * before.of_k[r].plain[m],
                            state.worst * then + lost};
      }
    }
    // Products of do and v, and of q and k.
    for (size_t m = 0; m < modes.size(); ++m) {
      of_k[m].worst += LostToQ(m);
      of_then[m].worst += LostToQ(m);
    }
    for (size_t c = 0; c < channels_; ++c) {
      made.x[r][c].worst += LostToDo(c);
      made.then[r][c].worst += LostToDo(c);
    }
    Vector q(states_), k(states_), then(states_);
    for (size_t n = 0; n < states_; ++n) {
      for (size_t c = 0; c < channels_; ++c) {
        q[n] += now.h[n][c] * d_o[r][c].value;
        k[n] += m_[n][c] * now.x[r][c];
        then[n] += m_[n][c] * before.x[r][c];
        made.x[r][c].value += m_[n][c] * now.k[r][n];
        made.then[r][c].value += m_[n][c] * before.k[r][n];
      }
    }
    for (Num& x : made.x[r]) x = Held(Off(x, off));
    for (Num& x : made.then[r]) x = Held(Off(x, off));
    for (size_t n = 0; n < states_; ++n) {
      const size_t m = mode_of_[n];
      const Num of_now = Held({k[n], of_k[m].size, of_k[m].worst});
      const Num of_last = Held({then[n], of_then[m].size, of_then[m].worst});
      made.q[r][n] = Held(Off({q[n], of_q[m].size, of_q[m].worst}, off));
      made.k[r][n] = Off(w.gamma * of_now, off) + k_[r][n];
      k_[r][n] = Off(w.alpha * w.before * of_last, off);
    }
  }
  return made;
}

void GradientWalk::Channels(int64_t t, const Weights& w, const Moment& now,
                            const Moment& before, const std::vector<Nums>& d_o,
                            const Products& products) {
  const size_t token = Z(t - at_.first);
  const double skip = forward_.head().Skip();
  const double product = (1 + scan_.product) * (1 + e_.sum) - 1;
  const Num beta = w.alpha * w.before;
  for (size_t c = 0; c < channels_; ++c) {
    Num d_v = v_[c];
    v_[c] = {};
    for (size_t r = 0; r < ranks_; ++r) {
      const Num psi = Exactly(forward_.psi()[r][c], scan_.param + product);
      Num dx = w.gamma * products.x[r][c];
      // The diagonal, which some form apart.
      dx.worst += dx.size * scan_.diagonal;
      if (p_.skip) dx += Exactly(skip, scan_.param + 2 * kU) * d_o[r][c];
      const Num then = beta * products.then[r][c];
      d_v += psi * dx;
      v_[c] += psi * then;
      AddTo(Gradient::kPsi, r * channels_ + c,
            Exactly(now.v[c], product) * dx +
                Exactly(before.v[c], product) * then);
      AddTo(Gradient::kD, 0, d_o[r][c] * XOf(now, r, c));
    }
    Store(Gradient::kV, token * channels_ + c, Off(d_v, e_.sum));
  }
}

// da, dtau, and of ddt what is not the angles'.
Num GradientWalk::Scalars(int64_t t, const Weights& w, const Moment& now,
                          const Moment& before, const Products& products) {
  const size_t token = Z(t - at_.first);
  const auto& modes = forward_.modes();
  Num own, then, state;
  for (size_t r = 0; r < ranks_; ++r) {
    for (size_t c = 0; c < channels_; ++c) {
      own += XOf(now, r, c) * products.x[r][c];
      then += XOf(before, r, c) * products.then[r][c];
    }
  }
  for (size_t m = 0; m < modes.size(); ++m) {
    const double turn = modes[m].second < 0 ? 0 : now.step_angle[m];
    for (size_t c = 0; c < channels_; ++c) {
      state += {0, m_size_[m][c] * before.size[m][c],
                WorstState(m, c) * before.seen[m][c] * (1 + turn) +
                    Lost(WorstState(m, c) + before.seen[m][c])};
    }
  }
  for (size_t n = 0; n < states_; ++n) {
    for (size_t c = 0; c < channels_; ++c) {
      state.value += m_[n][c] * before.h[n][c];
    }
  }
  // Sums over both n and p.
  const double off = (1 + e_.read) * (1 + now.ends) - 1;
  own = Off(own, off);
  then = Off(then, off);
  state = Off(state, 2 * off);
  const Num decayed = w.alpha * then;
  Store(Gradient::kA, token, Off(w.alpha * state + w.before * decayed, e_.sum));
  const Num slope = Off(w.lambda * w.rest, 4 * kU);
  Num tau = Off(slope * w.dt * (own - decayed), e_.sum);
  // Where lambda is next to 1, a wrong slope is as large as lambda.
  const double most = w.lambda.size * w.dt.size * (own.size + decayed.size);
  tau.worst += most - tau.size;
  tau.size = most;
  Store(Gradient::kTau, token, tau);
  return Off(w.lambda * own + w.rest * decayed, e_.sum);
}

void GradientWalk::Angles(int64_t t, const Weights& w, const Moment& now,
                          const Products& products, Num d_dt) {
  const size_t token = Z(t - at_.first);
  for (size_t s = 0; s < theta_.size(); ++s) {
    const auto u = Z(forward_.modes()[s].first);
    const auto v = Z(forward_.modes()[s].second);
    Num g;
    for (size_t r = 0; r < ranks_; ++r) {
      const Num& of_q = products.q[r][u];
      const Num& of_k = products.k[r][u];
      g += {products.q[r][v].value * now.q[r][u] -
                products.q[r][u].value * now.q[r][v] +
                products.k[r][v].value * now.k[r][u] -
                products.k[r][u].value * now.k[r][v],
            of_q.size * now.of_q[r].plain[s] + of_k.size * now.of_k[r].plain[s],
            Worst(of_q) * now.of_q[r].seen[s] +
                Worst(of_k) * now.of_k[r].seen[s] +
                Lost(Worst(of_q) + Worst(of_k))};
    }
    theta_[s] +=
        Exactly(kTwoPi, (4 * static_cast<double>(ranks_) + 6) * kU) * g;
    // A sum over the tokens, in any order.
    theta_[s] = Off(theta_[s], e_.sum);
    const double rate = ScanTanh(now.token.rate[s]);
    const Num tanh = Exactly(rate, scan_.tanh);
    const double slope = 1 - rate * rate;
    const Num of_rate =
        Within(slope, 2 * rate * rate * scan_.tanh + slope * 2 * kU + 2 * kU);
    const Num half = Off(theta_[s] * w.dt, 4 * kU) * Exactly(0.5);
    Store(Gradient::kVartheta, token * theta_.size() + s, half * of_rate);
    d_dt +=
        theta_[s] * tanh * Exactly(0.5, static_cast<double>(p_.angles) * kU);
  }
  Store(Gradient::kDt, token, Off(d_dt, e_.sum));
}

void GradientWalk::TurnBack(int64_t t, const Moment& now,
                            const std::vector<Nums>& x, Gradient to,
                            Gradient bias) {
  const size_t token = Z(t - at_.first);
  for (size_t r = 0; r < ranks_; ++r) {
    Nums turned = x[r];
    for (size_t s = 0; s < theta_.size(); ++s) {
      const SinCos turn = SinCosOfTurns(now.theta[s]);
      Num& u = turned[Z(forward_.modes()[s].first)];
      Num& v = turned[Z(forward_.modes()[s].second)];
      const double first = u.value * turn.cos + v.value * turn.sin;
      v.value = v.value * turn.cos - u.value * turn.sin;
      u.value = first;
      u = Off(u, now.local_angle[s]);
      v = Off(v, now.local_angle[s]);
      // Each is the sum of two products of either.
      u.lost = v.lost = u.lost + v.lost + 2;
    }
    for (size_t n = 0; n < states_; ++n) {
      const size_t i = r * states_ + n;
      const Num one = Off(turned[n], 4 * kU);
      Store(to, token * ranks_ * states_ + i, one);
      AddTo(bias, i, one);
    }
  }
}

}  // namespace lockstep::oracle
