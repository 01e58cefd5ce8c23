#include "verify/oracle/mamba3_scan_backward/truth.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "verify/oracle/mamba3_scan/functions.h"
#include "verify/oracle/mamba3_scan_backward/walk.h"

namespace lockstep::oracle {
namespace {

constexpr double kU = 0x1p-24;

template <typename View, typename... Index>
double Load(const View& x, Index... at) {
  return static_cast<double>(x.Float(at...));
}

}  // namespace

bool FiniteCotangents(const Mamba3ScanBackwardInputs& in,
                      const Mamba3ScanProblem& p, const ScanPlace& at) {
  for (int64_t t = at.first; t < at.end; ++t) {
    for (int64_t r = 0; r < p.output_ranks(); ++r) {
      for (int64_t c = 0; c < p.head_dim; ++c) {
        if (!std::isfinite(Load(in.dy, at.row, t, r, at.head, c))) return false;
      }
    }
  }
  return true;
}

Moment RecordedScan::Record() const {
  Moment now;
  now.h = h_;
  now.size = size_;
  now.seen = seen_;
  now.k = k_;
  now.x = x_;
  now.v = v_;
  now.of_k = moduli_;
  now.q = q_now_;
  now.of_q = of_q_;
  now.theta = theta_;
  now.step_angle = step_angle_;
  now.local_angle = local_angle_;
  now.angle_error = angle_error_;
  now.ends = e_.prefix ? e_.exp + e_.decay * Window(decay_sums_, e_.chunk) : 0;
  now.broken = broken_;
  for (const Sums& sums : read_) {
    now.o.push_back(sums.o);
    now.o_error.push_back(sums.error);
  }
  return now;
}

Moment RecordedScan::Next(int64_t t) {
  Step(t);
  // What is exported of y is not looked at.
  truth_.y.clear();
  truth_.y_error.clear();
  truth_.y_companion.clear();
  truth_.y_range.clear();
  Moment now = Record();
  now.token = head_.Token(t);
  return now;
}

GradientWalk::GradientWalk(const Mamba3ScanBackwardProblem& problem,
                           const Mamba3ScanBackwardInputs& inputs,
                           const ScanPlace& place, const GradientErrors& errors)
    : problem_(problem),
      p_(problem.forward),
      in_(inputs),
      at_(place),
      e_(errors),
      scan_(errors.scan),
      forward_(problem.forward, inputs.forward, place, errors.scan),
      mode_of_(Z(p_.state_dim)),
      ranks_(Z(p_.ranks)),
      channels_(Z(p_.head_dim)),
      states_(Z(p_.state_dim)) {
  for (size_t m = 0; m < forward_.modes().size(); ++m) {
    const Mode& mode = forward_.modes()[m];
    mode_of_[Z(mode.first)] = m;
    if (mode.second >= 0) mode_of_[Z(mode.second)] = m;
  }
  Start();
}

void GradientWalk::Start() {
  const size_t tokens = Z(at_.end - at_.first);
  const size_t angles = Z(p_.angles);
  const size_t sizes[kGradients] = {tokens * channels_,
                                    tokens * ranks_ * states_,
                                    tokens * ranks_ * states_,
                                    tokens,
                                    tokens,
                                    tokens,
                                    tokens * angles,
                                    tokens * channels_,
                                    ranks_ * states_,
                                    ranks_ * states_,
                                    1,
                                    ranks_ * channels_,
                                    ranks_ * channels_,
                                    ranks_ * channels_,
                                    channels_,
                                    angles,
                                    channels_ * states_,
                                    ranks_ * states_,
                                    channels_};
  for (size_t i = 0; i < kGradients; ++i) out_[i].Resize(sizes[i]);
  m_.assign(states_, Vector(channels_));
  m_size_.assign(forward_.modes().size(), Vector(channels_));
  m_worst_ = m_size_;
  met_do_.assign(channels_, 0);
  met_q_.assign(forward_.modes().size(), 0);
  k_.assign(ranks_, Nums(states_));
  v_.assign(channels_, {});
  theta_.assign(angles, {});
}

// The cotangents of the carry that the run leaves. Its angles are absolute,
// those of all else relative to the token's.
void GradientWalk::LoadCarry(const Moment& last) {
  const auto& given = in_.dcarry;
  if (!given.given()) return;
  const auto turned = [&](size_t m) {
    return forward_.modes()[m].second < 0
               ? 0.0
               : last.angle_error[m] + last.local_angle[m];
  };
  for (size_t s = 0; s < theta_.size(); ++s) {
    theta_[s] = Exactly(static_cast<double>(
        given.theta(at_.run, at_.head, static_cast<int64_t>(s))));
    broken_ = broken_ || !std::isfinite(theta_[s].value);
  }
  for (size_t c = 0; c < channels_; ++c) {
    const auto channel = static_cast<int64_t>(c);
    v_[c] = Exactly(static_cast<double>(given.v(at_.run, at_.head, channel)));
    broken_ = broken_ || !std::isfinite(v_[c].value);
    for (size_t n = 0; n < states_; ++n) {
      m_[n][c] = static_cast<double>(
          given.h(at_.run, at_.head, channel, static_cast<int64_t>(n)));
      broken_ = broken_ || !std::isfinite(m_[n][c]);
    }
    for (size_t m = 0; m < m_size_.size(); ++m) {
      const Mode& mode = forward_.modes()[m];
      const double u = m_[Z(mode.first)][c];
      m_size_[m][c] =
          mode.second < 0 ? std::fabs(u) : Modulus(u, m_[Z(mode.second)][c]);
      m_worst_[m][c] = m_size_[m][c] * (1 + turned(m));
    }
  }
  for (size_t r = 0; r < ranks_; ++r) {
    const auto k = [&](int64_t n) {
      return static_cast<double>(
          given.k(at_.run, static_cast<int64_t>(r), at_.head, n));
    };
    for (size_t n = 0; n < states_; ++n) {
      const size_t m = mode_of_[n];
      const Mode& mode = forward_.modes()[m];
      const double size = mode.second < 0
                              ? std::fabs(k(mode.first))
                              : Modulus(k(mode.first), k(mode.second));
      k_[r][n] = {k(static_cast<int64_t>(n)), size, size * (1 + turned(m))};
      broken_ = broken_ || !std::isfinite(size);
    }
  }
}

GradientWalk::Weights GradientWalk::WeightsOf(const ScanToken& token) const {
  const double lambda = ScanSigmoid(token.tau);
  const double rest = ScanSigmoid(-token.tau);
  Weights w;
  w.dt = Exactly(token.dt, scan_.dt);
  w.lambda = Exactly(lambda, scan_.sigmoid);
  // lambda's error is relative to lambda, whatever 1 - lambda is.
  w.rest = Within(rest, rest * 2 * kU + lambda * scan_.sigmoid + scan_.tiny);
  w.gamma = Off(w.lambda * w.dt, scan_.weight);
  w.before = Off(w.rest * w.dt, scan_.weight);
  const double alpha = ScanExp(token.a);
  const double drift = (1 + scan_.exp) *
                           (1 + scan_.decay * std::fabs(token.a)) *
                           (1 + scan_.step) -
                       1;
  w.alpha = Within(alpha, alpha * drift + scan_.tiny);
  return w;
}

void GradientWalk::Enter(const Moment& now, const std::vector<Nums>& d_o) {
  const double off = (1 + e_.enter) * (1 + now.ends);
  for (size_t r = 0; r < ranks_; ++r) {
    for (size_t c = 0; c < channels_; ++c) {
      const Num& d = d_o[r][c];
      for (size_t n = 0; n < states_; ++n) m_[n][c] += d.value * now.q[r][n];
      for (size_t m = 0; m < m_size_.size(); ++m) {
        m_size_[m][c] += d.size * now.of_q[r].plain[m];
        m_worst_[m][c] += Worst(d) * now.of_q[r].seen[m] * off +
                          Lost(d.size + now.of_q[r].seen[m]);
      }
    }
  }
  for (const Vector& row : m_worst_) {
    for (const double x : row) broken_ = broken_ || !(x < scan_.largest);
  }
}

// What a token's do and q add to those that earlier tokens of its chunk meet.
void GradientWalk::Meet(const Moment& now, const std::vector<Nums>& d_o) {
  if (scan_.chunk <= 1) return;
  Vector by_channel(channels_), by_mode(met_q_.size());
  for (size_t r = 0; r < ranks_; ++r) {
    for (size_t c = 0; c < channels_; ++c) by_channel[c] += Worst(d_o[r][c]);
    for (size_t m = 0; m < by_mode.size(); ++m) {
      by_mode[m] += now.of_q[r].seen[m];
    }
  }
  const auto add = [](const Vector& x, double sign, Vector* sum) {
    for (size_t i = 0; i < x.size(); ++i) (*sum)[i] += sign * x[i];
  };
  add(by_channel, 1, &met_do_);
  add(by_mode, 1, &met_q_);
  if (scan_.chunk >= at_.end - at_.first) return;
  met_.emplace_back(std::move(by_channel), std::move(by_mode));
  if (met_.size() <= Z(scan_.chunk)) return;
  add(met_.front().first, -1, &met_do_);
  add(met_.front().second, -1, &met_q_);
  met_.pop_front();
}

void GradientWalk::Decay(const Weights& w, const Moment& now) {
  for (Vector& row : m_) {
    for (double& x : row) x *= w.alpha.value;
  }
  for (size_t m = 0; m < m_size_.size(); ++m) {
    const double turn = forward_.modes()[m].second < 0 ? 0 : now.step_angle[m];
    for (size_t c = 0; c < channels_; ++c) {
      m_size_[m][c] *= w.alpha.size;
      m_worst_[m][c] = m_worst_[m][c] * w.alpha.worst * (1 + turn + kOwn) +
                       Lost(m_worst_[m][c]);
    }
  }
}

void GradientWalk::Reverse(int64_t t, const Moment& now, const Moment& before) {
  const Weights w = WeightsOf(now.token);
  const std::vector<Nums> d_o = OutputStage(t, now);
  Enter(now, d_o);
  Meet(now, d_o);
  const Products products = Multiply(w, now, before, d_o);
  Channels(t, w, now, before, d_o, products);
  const Num d_dt = Scalars(t, w, now, before, products);
  Angles(t, w, now, products, d_dt);
  TurnBack(t, now, products.q, Gradient::kQ, Gradient::kBq);
  TurnBack(t, now, products.k, Gradient::kK, Gradient::kBk);
  Decay(w, now);
}

void GradientWalk::StoreCarry() {
  for (size_t s = 0; s < theta_.size(); ++s) {
    Store(Gradient::kInitTheta, s, theta_[s]);
  }
  for (size_t c = 0; c < channels_; ++c) {
    Store(Gradient::kInitV, c, v_[c]);
    for (size_t n = 0; n < states_; ++n) {
      const size_t m = mode_of_[n];
      Store(Gradient::kInitH, c * states_ + n,
            {m_[n][c], m_size_[m][c], WorstState(m, c)});
    }
  }
  for (size_t r = 0; r < ranks_; ++r) {
    for (size_t n = 0; n < states_; ++n) {
      Store(Gradient::kInitK, r * states_ + n, k_[r][n]);
    }
  }
}

void GradientWalk::Store(Gradient to, size_t i, const Num& x) {
  AddTo(to, i, x);
}

void GradientWalk::AddTo(Gradient to, size_t i, const Num& x) {
  GradientValues& out = out_[static_cast<size_t>(to)];
  out.value[i] += x.value;
  out.size[i] += x.size;
  out.error[i] += Worst(x) - x.size + x.size * kOwn * 64 + scan_.tiny * 16;
}

HeadGradients GradientWalk::Run() {
  const int64_t length = at_.end - at_.first;
  const auto piece = std::max<int64_t>(
      1, static_cast<int64_t>(std::sqrt(static_cast<double>(length))));
  std::vector<RecordedScan> kept;
  Moment last = forward_.Record();
  for (int64_t t = at_.first; t < at_.end; ++t) {
    if ((t - at_.first) % piece == 0) kept.push_back(forward_);
    last = forward_.Next(t);
  }
  broken_ = last.broken || !FiniteCotangents(in_, p_, at_);
  LoadCarry(last);
  for (int64_t n = static_cast<int64_t>(kept.size()) - 1; n >= 0 && !broken_;
       --n) {
    RecordedScan again = kept[Z(n)];
    kept.pop_back();
    const int64_t first = at_.first + n * piece;
    std::vector<Moment> moments = {again.Record()};
    for (int64_t t = first; t < std::min(first + piece, at_.end); ++t) {
      moments.push_back(again.Next(t));
    }
    for (size_t i = moments.size() - 1; i > 0; --i) {
      Reverse(first + static_cast<int64_t>(i) - 1, moments[i], moments[i - 1]);
    }
  }
  StoreCarry();
  for (GradientValues& out : out_) {
    for (size_t i = 0; i < out.value.size(); ++i) {
      const bool sound = !broken_ && std::isfinite(out.value[i]) &&
                         out.error[i] >= 0 &&
                         out.size[i] + out.error[i] < scan_.largest;
      if (!sound) out.error[i] = kInf;
    }
  }
  return std::move(out_);
}

HeadGradients ComputeScanGradients(const Mamba3ScanBackwardProblem& problem,
                                   const Mamba3ScanBackwardInputs& inputs,
                                   const ScanPlace& place,
                                   const GradientErrors& errors) {
  return GradientWalk(problem, inputs, place, errors).Run();
}

}  // namespace lockstep::oracle
