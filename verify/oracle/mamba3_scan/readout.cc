// What a scan's state gives: outputs and carries with their bounds.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "verify/oracle/mamba3_scan/bound.h"
#include "verify/oracle/mamba3_scan/functions.h"

namespace lockstep::oracle {

void BoundedScan::Remember(const std::vector<Moduli>& keys, double dt) {
  peak_.resize(modes_.size());
  longest_ = std::max(longest_, dt);
  for (const Moduli& key : keys) {
    for (size_t m = 0; m < peak_.size(); ++m) {
      peak_[m] = std::max(peak_[m], key.seen[m]);
    }
  }
}

double BoundedScan::Added(double x) const {
  double key = 1;
  for (const double peak : peak_) key = std::max(key, peak);
  // A chunk scales its keys before they meet x.
  return std::max(std::fabs(x), 1.0) * key * (1 + 2 * longest_);
}

bool BoundedScan::MayOverflow(const Moduli& q, const Vector& sums) const {
  double score = 0, squares = 0;
  for (size_t m = 0; m < peak_.size(); ++m) score += q.seen[m] * peak_[m];
  for (const double sum : sums) squares += sum * sum;
  // A chunk reads the state that it began with before it lets that decay.
  double read = 0;
  for (size_t c = 0; c < sums.size(); ++c) {
    double sum = 0;
    for (size_t m = 0; m < high_.size(); ++m) sum += q.seen[m] * high_[m][c];
    read = std::max(read, sum);
  }
  // Weights of two step sizes; the norm squares.
  return broken_ || !(read < e_.largest) ||
         !(score * (1 + 2 * longest_) < e_.largest) ||
         !(std::sqrt(squares) < e_.largest) ||
         (p_.norm_epsilon && !(squares < e_.largest));
}

void BoundedScan::ReadOut(const ScanToken& token, const Rows& q,
                          const std::vector<Moduli>& moduli) {
  const size_t channels = v_.size();
  const size_t ranks = q.size();
  const double own = ScanSigmoid(token.tau) * token.dt;
  const double ends =
      e_.prefix ? e_.exp + e_.decay * Window(decay_sums_, e_.chunk) : 0;
  const double reading = (1 + e_.output) * (1 + ends) * (1 + kOwn);
  const double skip = head_.Skip();
  const double product = (1 + e_.param) * (1 + e_.product) - 1;
  std::vector<Sums> sums(ranks, Sums(channels));
  for (size_t r = 0; r < ranks; ++r) {
    Vector worst(channels), diagonal(channels);
    auto& [o, error, companion, range] = sums[r];
    for (size_t m = 0; m < modes_.size(); ++m) {
      const double plain = moduli[r].plain[m];
      const double seen = moduli[r].seen[m];
      const double both = (modes_[m].second >= 0 ? 2 : 1) * moduli[r].wide[m];
      for (size_t c = 0; c < channels; ++c) {
        high_[m][c] = std::max(high_[m][c], seen_[m][c]);
        error[c] -= plain * size_[m][c];
        worst[c] += seen * seen_[m][c] + e_.tiny * (1 + seen);
        companion[c] += both * wide_[m][c];
      }
      for (size_t s = 0; s < ranks; ++s) {
        for (size_t c = 0; c < channels; ++c) {
          diagonal[c] += seen * moduli_[s].seen[m] * std::fabs(x_[s][c]) * own;
        }
      }
    }
    for (size_t n = 0; n < h_.size(); ++n) {
      for (size_t c = 0; c < channels; ++c) o[c] += q[r][n] * h_[n][c];
    }
    for (size_t c = 0; c < channels; ++c) {
      const double added = std::fabs(skip * x_[r][c]);
      o[c] += skip * x_[r][c];
      // `error` held minus the companion of the products.
      error[c] += worst[c] * reading + 2 * diagonal[c] * e_.diagonal +
                  added * ((1 + product) * (1 + e_.diagonal) * reading - 1) +
                  e_.tiny * 4 + e_.fixed;
      companion[c] += added;
    }
    range = companion;
    if (MayOverflow(moduli[r], companion)) error.assign(channels, kInf);
    double read = 1;
    for (const double seen : moduli[r].seen) read += seen;
    for (double& size : companion) size += e_.floor * read;
  }
  read_ = sums;
  for (size_t r = 0; r < ranks; ++r) {
    if (sums[r].error[0] == kInf) continue;
    if (p_.norm_epsilon) Normalise(&sums[r]);
    if (p_.gate) Gate(token, r, &sums[r]);
  }
  Store(sums);
}

// No channel of a vector over its root mean square exceeds sqrt(P). A computed
// one neither, whatever it was computed from: the computed mean holds its own
// square, up to the norm's roundings and a sum's underflow, which any ordinary
// epsilon outweighs.
void BoundedScan::Normalise(Sums* sums) const {
  auto& [o, error, companion, range] = *sums;
  double squares = 0, moved = 0, worst = 0;
  const auto channels = static_cast<double>(o.size());
  for (size_t c = 0; c < o.size(); ++c) {
    const double x = std::fabs(o[c]);
    squares += x * x;
    moved += (2 * x + error[c]) * error[c];
    worst += (x + error[c]) * (x + error[c]);
  }
  const auto epsilon =
      static_cast<double>(static_cast<float>(*p_.norm_epsilon));
  const double mean = squares / channels + epsilon;
  moved = moved / channels + mean * e_.norm + e_.tiny;
  const double stretch = moved < mean ? std::sqrt(mean / (mean - moved)) : kInf;
  const double factor = 1 / std::sqrt(mean);
  const bool holds = worst < e_.largest && epsilon > 0x1p20 * e_.tiny;
  for (size_t c = 0; c < o.size(); ++c) {
    const double weight = factor * std::fabs(norm_[c]);
    const double x = std::fabs(o[c]);
    const double largest = std::fabs(norm_[c]) * std::sqrt(channels);
    range[c] = largest / 4;
    error[c] =
        weight * ((x + error[c]) * stretch * (1 + e_.norm) - x) + e_.tiny;
    const double most = largest * (1 + 2 * e_.norm) + weight * x + e_.tiny;
    if (holds && !(error[c] < most)) error[c] = most;
    o[c] *= factor * norm_[c];
    companion[c] *= weight;
  }
}

void BoundedScan::Gate(const ScanToken& token, size_t r, Sums* sums) const {
  auto& [o, error, companion, range] = *sums;
  const double product = (1 + e_.param) * (1 + e_.product) - 1;
  for (size_t c = 0; c < o.size(); ++c) {
    const double z = zeta_[r][c] * token.z[c];
    const double gate = z * ScanSigmoid(z);
    const double size = std::fabs(gate);
    // A sigmoid that underflows is off by a subnormal.
    const double relative =
        e_.gate + (p_.mimo() ? product * (1 + std::fabs(z)) : 0) + kOwn;
    const double x = std::fabs(o[c]);
    if (!(std::fabs(z) < e_.largest)) {
      error[c] = kInf;
      continue;
    }
    error[c] = (x + error[c]) *
                   (size * (1 + relative) + e_.tiny * (1 + std::fabs(z))) *
                   (1 + e_.gate) -
               x * size + e_.tiny;
    o[c] *= gate;
    companion[c] *= size;
    range[c] *= size;
  }
}

void BoundedScan::Store(const std::vector<Sums>& ranks) {
  const auto put = [&](double y, double bound, double size, double range) {
    const bool sound = std::isfinite(y) && bound >= 0 &&
                       std::fabs(y) + bound < e_.largest && size < e_.largest;
    truth_.y.push_back(y);
    truth_.y_error.push_back(sound ? bound + std::fabs(y) * kOwn : kInf);
    truth_.y_companion.push_back(size);
    truth_.y_range.push_back(range);
  };
  for (const Sums& one : ranks) {
    for (size_t c = 0; c < one.o.size() && !p_.reduce; ++c) {
      put(one.o[c], one.error[c], one.companion[c], one.range[c]);
    }
  }
  for (size_t c = 0; c < v_.size() && p_.reduce; ++c) {
    double sum = 0, bound = 0, size = 0, range = 0;
    for (size_t r = 0; r < ranks.size(); ++r) {
      const double weight = std::fabs(phi_[r][c]);
      const double x = std::fabs(ranks[r].o[c]);
      sum += phi_[r][c] * ranks[r].o[c];
      bound +=
          weight *
              ((x + ranks[r].error[c]) * (1 + e_.param) * (1 + e_.rank) - x) +
          e_.tiny;
      size += weight * ranks[r].companion[c];
      range += weight * ranks[r].range[c];
    }
    put(sum, bound, size, range);
  }
  // A state that may overflow poisons everything after it.
  for (const Vector& row : seen_) {
    for (const double x : row) broken_ = broken_ || !(x < e_.largest);
  }
}

ScanTruth BoundedScan::Finish() {
  for (size_t s = 0; s < theta_.size(); ++s) {
    truth_.theta.push_back(theta_[s]);
    truth_.angle_drift = std::max(truth_.angle_drift, angle_error_[s]);
    truth_.theta_error.push_back(
        broken_ ? kInf
                : (angle_error_[s] + local_angle_[s] + e_.carry_angle +
                   (e_.unreduced ? 0x1p-22 * angle_size_[s] : 0)) /
                      kTwoPi);
  }
  const size_t channels = v_.size();
  std::vector<size_t> mode_of(h_.size());
  for (size_t m = 0; m < modes_.size(); ++m) {
    mode_of[Z(modes_[m].first)] = m;
    if (modes_[m].second >= 0) mode_of[Z(modes_[m].second)] = m;
  }
  for (size_t c = 0; c < channels; ++c) {
    for (size_t n = 0; n < h_.size(); ++n) {
      const size_t m = mode_of[n];
      const double size = size_[m][c];
      const double error = absolute_[m][c] - size + size * kOwn;
      truth_.h.push_back(h_[n][c]);
      truth_.h_error.push_back(
          broken_ || !(absolute_[m][c] < e_.largest) ? kInf : error);
      truth_.h_companion.push_back(wide_[m][c]);
    }
  }
  for (size_t r = 0; r < k_.size(); ++r) {
    for (size_t n = 0; n < k_[r].size(); ++n) {
      const size_t m = mode_of[n];
      const double size = moduli_[r].plain[m];
      truth_.k.push_back(k_[r][n]);
      truth_.k_range.push_back(size);
      // It is exported before it is scaled.
      const double kept = moduli_[r].absolute[m] / (1 + e_.scaled) * (1 + kOwn);
      truth_.k_error.push_back(
          broken_ ? kInf : kept * (1 + e_.carry_key) - size + e_.tiny);
    }
  }
  truth_.v = v_;
  return std::move(truth_);
}

}  // namespace lockstep::oracle
