// The first witness, and the running bound. Beside every state element stand a
// companion (the same sum with every term replaced by its magnitude, a turned
// pair by its modulus) and the same companion as the worst legal kernel would
// have it: each factor (1 + its error), each step of decay (1 + the step's).
// Their difference bounds the error (docs/envelopes.md, "Scans").
#include "verify/oracle/mamba3_scan/truth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "verify/oracle/mamba3_scan/bound.h"
#include "verify/oracle/mamba3_scan/functions.h"

namespace lockstep::oracle {
void BoundedScan::Start() {
  ScanCarry carry = head_.Carry();
  theta_ = carry.theta;
  angle_error_.assign(theta_.size(), e_.angle_start);
  step_angle_ = local_angle_ = Vector(theta_.size());
  for (const double turns : theta_) {
    angle_size_.push_back(std::fabs(turns) * kTwoPi);
    broken_ = broken_ || !std::isfinite(turns);
  }
  rate_sums_.assign(theta_.size(), Vector{0});
  angle_steps_.assign(theta_.size(), Vector{e_.angle_start});
  rate_error_.assign(theta_.size(), 0);
  h_ = carry.h;
  v_ = carry.v;
  // Sums of a chunk on the row's grid begin before the run.
  const int64_t first = head_.place().first;
  for (int64_t t = std::max<int64_t>(first - e_.chunk, 0); t < first; ++t) {
    decay_sums_.push_back(decay_sums_.back() + std::fabs(head_.LogDecay(t)));
  }
  for (const Mode& mode : modes_) {
    Vector size = h_[Z(mode.first)];
    for (size_t c = 0; c < size.size(); ++c) {
      size[c] = mode.second < 0 ? std::fabs(size[c])
                                : Modulus(size[c], h_[Z(mode.second)][c]);
      broken_ = broken_ || !std::isfinite(size[c]);
    }
    size_.push_back(size);
  }
  wide_ = seen_ = absolute_ = high_ = size_;
  // A carry given in the middle of a chunk decays by a difference of its sums.
  const double ends =
      e_.prefix ? e_.exp + e_.decay * Window(decay_sums_, e_.chunk) : 0;
  for (Rows* rows : {&seen_, &absolute_}) {
    for (Vector& row : *rows) {
      for (double& x : row) x *= 1 + ends;
    }
  }
  whole_ = absolute_;
  k_ = carry.k;
  for (size_t r = 0; r < k_.size(); ++r) {
    Vector x(v_.size());
    for (size_t c = 0; c < v_.size(); ++c) x[c] = psi_[r][c] * v_[c];
    x_.push_back(x);
    Moduli moduli;
    for (const Mode& mode : modes_) {
      const double alone = k_[r][Z(mode.first)];
      const double size = mode.second < 0
                              ? std::fabs(alone)
                              : Modulus(alone, k_[r][Z(mode.second)]);
      moduli.plain.push_back(size);
      broken_ = broken_ || !std::isfinite(size);
      // A given k is scaled like any other.
      moduli.seen.push_back(size * (1 + e_.scaled + e_.key));
    }
    moduli.wide = moduli.plain;
    moduli.absolute = moduli.seen;
    moduli_.push_back(moduli);
    for (const double value : x) broken_ = broken_ || !std::isfinite(value);
  }
  Remember(moduli_, 0);
}

// The sum over the last chunk of a cumulative sum.
double BoundedScan::Window(const Vector& sums, int64_t chunk) const {
  const size_t tokens = chunk > 0 ? Z(chunk) : sums.size();
  const size_t last = sums.size() - 1;
  return sums[last] - sums[last > tokens ? last - tokens : 0];
}

// The chunk that ends here may have begun at any of its last tokens; adding a
// rate of zero is exact.
double BoundedScan::AngleError(size_t s) const {
  const Vector& sums = rate_sums_[s];
  const Vector& before = angle_steps_[s];
  const size_t last = sums.size() - 1;
  const double rate = sums[last] - sums[last - 1];
  if (e_.unreduced) {
    return before.back() + (rate > 0 ? e_.angle_step * angle_size_[s] : 0);
  }
  if (e_.angle_chunk == 0) {
    return before.back() + (rate > 0 ? e_.angle_step : 0);
  }
  double worst = before.back(), partials = 0, added = 0;
  for (size_t n = 1; n <= std::min(last, Z(e_.angle_chunk)); ++n) {
    const size_t start = last - n;
    const double rate_here = sums[start + 1] - sums[start];
    if (!(rate_here > 0)) continue;
    // It is part of every sum behind it.
    partials += ++added * rate_here;
    worst = std::max(worst, before[start] + e_.angle_step +
                                e_.angle_add * partials +
                                e_.angle_reduce * (sums[last] - sums[start]));
  }
  return worst;
}

void BoundedScan::Turn(const ScanToken& token, double dt) {
  for (size_t s = 0; s < theta_.size(); ++s) {
    const double rate = ScanTanh(token.rate[s]) * dt * 0.5;
    theta_[s] += rate;
    theta_[s] -= std::floor(theta_[s]);
    const double radians = std::fabs(rate) * kTwoPi;
    angle_size_[s] += radians;
    rate_sums_[s].push_back(rate_sums_[s].back() + radians);
    rate_error_[s] += radians * e_.tanh + kOwn;
    angle_steps_[s].push_back(AngleError(s));
    const double error = angle_steps_[s].back() + rate_error_[s];
    step_angle_[s] = error - angle_error_[s];
    angle_error_[s] = error;
    local_angle_[s] = e_.angle_store + 2 * e_.trig +
                      e_.angle_sum * Window(rate_sums_[s], e_.angle_chunk) +
                      kOwn;
  }
}

BoundedScan::Rows BoundedScan::Rotated(const Rows& x, const Rows& bias) const {
  Rows rotated = x;
  for (size_t r = 0; r < x.size(); ++r) {
    Vector& y = rotated[r];
    for (size_t n = 0; n < y.size(); ++n) y[n] += bias[r][n];
    for (size_t s = 0; s < theta_.size(); ++s) {
      const SinCos turn = SinCosOfTurns(theta_[s]);
      double& u = y[Z(modes_[s].first)];
      double& w = y[Z(modes_[s].second)];
      const double first = u * turn.cos - w * turn.sin;
      w = u * turn.sin + w * turn.cos;
      u = first;
    }
  }
  return rotated;
}

// `roundings`: relative, after the rotation.
Moduli BoundedScan::ModuliOf(const Vector& x, const Vector& bias,
                             double roundings, bool of_key) const {
  Moduli moduli;
  const auto sum = [&](int64_t n) { return x[Z(n)] + bias[Z(n)]; };
  const auto error = [&](int64_t n) {
    return e_.bias * std::fabs(sum(n)) + e_.param * std::fabs(bias[Z(n)]) +
           (e_.bias > 0 ? e_.tiny : 0);
  };
  const auto wide = [&](int64_t n) {
    return e_.param > 0 ? std::fabs(x[Z(n)]) + std::fabs(bias[Z(n)]) : sum(n);
  };
  for (size_t m = 0; m < modes_.size(); ++m) {
    const Mode& mode = modes_[m];
    const bool pair = mode.second >= 0;
    const double plain = pair ? Modulus(sum(mode.first), sum(mode.second))
                              : std::fabs(sum(mode.first));
    const double perturbed =
        plain + error(mode.first) + (pair ? error(mode.second) : 0);
    const double local = pair ? local_angle_[m] : 0;
    const double total = pair ? local + angle_error_[m] : 0;
    moduli.plain.push_back(plain);
    moduli.wide.push_back(pair ? Modulus(wide(mode.first), wide(mode.second))
                               : std::fabs(wide(mode.first)));
    moduli.seen.push_back(perturbed * (1 + local) * (1 + roundings + kOwn) +
                          e_.tiny);
    moduli.absolute.push_back(perturbed * (1 + (of_key ? total : local)) *
                                  (1 + roundings + kOwn) +
                              e_.tiny);
  }
  return moduli;
}

// own = lambda dt, before = (1 - lambda) dt.
void BoundedScan::Update(const ScanToken& token, double own, double before,
                         double alpha) {
  const double weights = (1 + e_.sigmoid) * (1 + e_.dt) * (1 + e_.weight) - 1;
  const double own_worst = own * (1 + weights) + e_.tiny;
  // lambda's error is relative to lambda, whatever 1 - lambda is.
  const double before_worst =
      before * (1 + weights) + own * e_.sigmoid * (1 + weights) + e_.tiny;
  const double drift =
      (1 + e_.exp) * (1 + e_.decay * std::fabs(token.a)) * (1 + e_.step);
  const double ends =
      e_.prefix ? e_.exp + e_.decay * Window(decay_sums_, e_.chunk) : 0;
  const double factors =
      (1 + e_.param) * (1 + e_.product) * (1 + e_.input) * (1 + ends);
  const auto ranks = x_.size();
  for (size_t m = 0; m < modes_.size(); ++m) {
    const bool pair = modes_[m].second >= 0;
    const double turn = pair ? step_angle_[m] : 0;
    for (size_t c = 0; c < v_.size(); ++c) {
      double then = 0, then_wide = 0, then_seen = 0, then_absolute = 0;
      double now = 0, now_wide = 0, now_seen = 0, now_absolute = 0;
      double sizes = 1;
      for (size_t r = 0; r < ranks; ++r) {
        const double last = std::fabs(x_[r][c]);
        const double x = std::fabs(x_now_[r][c]);
        then += last * moduli_[r].plain[m];
        then_wide += last * moduli_[r].wide[m];
        then_seen += last * moduli_[r].seen[m];
        then_absolute += last * moduli_[r].absolute[m];
        now += x * moduli_now_[r].plain[m];
        now_wide += x * moduli_now_[r].wide[m];
        now_seen += x * moduli_now_[r].seen[m];
        now_absolute += x * moduli_now_[r].absolute[m];
        sizes += last + x + moduli_[r].plain[m] + moduli_now_[r].plain[m];
      }
      whole_[m][c] += sizes + factors * (before_worst * then_absolute +
                                         own_worst * now_absolute);
      const double lost =
          e_.tiny * (4 * sizes + (e_.chunk > 1 ? whole_[m][c] : 0));
      size_[m][c] = alpha * (size_[m][c] + before * then) + own * now;
      wide_[m][c] = alpha * (wide_[m][c] + before * then_wide) + own * now_wide;
      const double seen = seen_[m][c] + before_worst * then_seen * factors;
      seen_[m][c] = (alpha * drift + e_.tiny) * (1 + turn + kOwn) * seen +
                    own_worst * now_seen * factors + lost;
      const double far =
          absolute_[m][c] + before_worst * then_absolute * factors;
      absolute_[m][c] = (alpha * drift + e_.tiny) * (1 + kOwn) * far +
                        own_worst * now_absolute * factors + lost;
    }
  }
  for (size_t n = 0; n < h_.size(); ++n) {
    for (size_t c = 0; c < v_.size(); ++c) {
      double h = h_[n][c];
      for (size_t r = 0; r < ranks; ++r) h += before * k_[r][n] * x_[r][c];
      h *= alpha;
      for (size_t r = 0; r < ranks; ++r) {
        h += own * k_now_[r][n] * x_now_[r][c];
      }
      h_[n][c] = h;
    }
  }
}

void BoundedScan::Step(int64_t t) {
  const ScanToken token = head_.Token(t);
  const auto channels = v_.size();
  broken_ = broken_ || !token.finite;
  if (broken_) {
    const size_t outputs = channels * Z(p_.output_ranks());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    truth_.y.insert(truth_.y.end(), outputs, nan);
    truth_.y_error.insert(truth_.y_error.end(), outputs, kInf);
    truth_.y_companion.insert(truth_.y_companion.end(), outputs, kInf);
    truth_.y_range.insert(truth_.y_range.end(), outputs, kInf);
    v_ = token.v;
    return;
  }
  decay_sums_.push_back(decay_sums_.back() + std::fabs(token.a));
  Turn(token, token.dt);
  const double own = ScanSigmoid(token.tau) * token.dt;
  const double before = ScanSigmoid(-token.tau) * token.dt;
  q_now_ = Rotated(token.q, bq_);
  const Rows& q = q_now_;
  k_now_ = Rotated(token.k, bk_);
  moduli_now_.clear();
  of_q_.clear();
  for (size_t r = 0; r < q.size(); ++r) {
    const double key = (1 + e_.key) * (1 + e_.scaled) - 1;
    moduli_now_.push_back(ModuliOf(token.k[r], bk_[r], key, true));
    of_q_.push_back(ModuliOf(token.q[r], bq_[r], e_.query, false));
  }
  x_now_.assign(q.size(), Vector(channels));
  for (size_t r = 0; r < q.size(); ++r) {
    for (size_t c = 0; c < channels; ++c) {
      x_now_[r][c] = psi_[r][c] * token.v[c];
    }
  }
  Remember(moduli_now_, token.dt);
  // The last token's x, too: it may be a given one that meets a given k.
  for (const Rows* rows : {&x_, &x_now_}) {
    for (const Vector& row : *rows) {
      for (const double x : row) broken_ = broken_ || !(Added(x) < e_.largest);
    }
  }
  Update(token, own, before, ScanExp(token.a));
  k_ = k_now_;
  x_ = x_now_;
  moduli_ = moduli_now_;
  v_ = token.v;
  ReadOut(token, q, of_q_);
}

ScanTruth ComputeScan(const Mamba3ScanProblem& problem,
                      const Mamba3ScanInputs& inputs, const ScanPlace& place,
                      const ScanErrors& errors) {
  BoundedScan scan(problem, inputs, place, errors);
  for (int64_t t = place.first; t < place.end; ++t) scan.Step(t);
  ScanTruth truth = scan.Finish();
  const std::vector<bool> reached =
      ReachedByLater(problem, inputs, place, errors.nan_reach, errors.largest);
  const size_t outputs = Z(problem.head_dim * problem.output_ranks());
  for (size_t t = 0; t < reached.size(); ++t) {
    if (!reached[t]) continue;
    std::fill_n(
        truth.y_error.begin() + static_cast<std::ptrdiff_t>(t * outputs),
        outputs, kInf);
  }
  if (errors.nan_propagates) {
    MarkNaN(problem, inputs, place, errors.other_pairing, &truth);
  }
  return truth;
}

}  // namespace lockstep::oracle
