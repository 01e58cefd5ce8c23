#include "verify/allowed/attention_forward/errors_draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "verify/allowed/attention_forward/envelope_model.h"
#include "verify/allowed/attention_forward/errors.h"
#include "verify/base/binary64.h"
#include "verify/base/compare.h"
#include "verify/base/mixing.h"

namespace lockstep::verify {
namespace {

// Keys at which the scores of two queries are compared.
constexpr int64_t kKeysCompared = 16;

size_t Places(int64_t n) { return static_cast<size_t>(n); }

// Where a head's rows begin: the same number where heads share them.
int64_t Address(const LaneView& x, int64_t b, int64_t h) {
  return b * x.strides[0] + h * x.strides[1];
}

double Element(const LaneView& x, const std::array<int64_t, 4>& at) {
  return ElementValue(x.lane, ElementBits(x, at));
}

// The number of `key`, counted from 0 in the order of first sight.
template <typename Key>
size_t NumberOf(const Key& key, std::map<Key, size_t>* numbers) {
  return numbers->emplace(key, numbers->size()).first->second;
}

std::array<int64_t, 3> PlaceOf(const AttentionForwardProblem& p, int64_t row) {
  const int64_t head = row / p.q_len;
  return {head / p.q_heads, head % p.q_heads, row % p.q_len};
}

}  // namespace

std::string WhyNoStatistics(const NumericProfile& profile,
                            const AttentionForwardProblem& problem,
                            const EnvelopeModel& model) {
  if (profile.p == NumberType::kE4m3) {
    return "near weights round alike in e4m3";
  }
  if (model.biased || profile.out_round != Rounding::kNearest) {
    return "the profile allows roundings to one side";
  }
  if (model.correlated) {
    return "the profile allows one rounding to act on many keys";
  }
  const auto narrow = [](const Accumulator& sum) {
    return sum.kind == Accumulator::Kind::kBf16 ||
           sum.kind == Accumulator::Kind::kF16;
  };
  if (narrow(profile.acc_qk) || narrow(profile.acc_pv) ||
      narrow(profile.acc_l) || RoundoffOf(profile.state, problem.p_lane) > 0) {
    return "the profile allows sums in narrow types, which stagnate";
  }
  const bool rounds_weights = RoundoffOf(profile.p, problem.p_lane) > 0;
  if (problem.v_scales.by_key() && rounds_weights) {
    return "the largest weights times a value's scale round alike in all rows";
  }
  const bool rounds_k = profile.operand_qk != NumberType::kF32;
  const bool rounds_v = profile.operand_v != NumberType::kF32;
  if (!KeepsBits(problem.lane, profile.operand_qk) ||
      !KeepsBits(problem.lane, profile.operand_v) ||
      (problem.k_scales.any() && rounds_k) ||
      (problem.q_scales.any() && rounds_k) ||
      (problem.v_scales.any() && rounds_v)) {
    return "the profile allows rounded operands, which all rows share";
  }
  return "";
}

double Ulp(double x, Lane lane) {
  if (!(x > 0)) return 0;
  const LaneRow& row = LaneRowOf(lane);
  return std::ldexp(
      1.0, std::max(std::ilogb(x), row.min_exponent) - (row.digits - 1));
}

RowDraws::RowDraws(const AttentionErrorsRequest& request) : r_(request) {
  Number();
  Scores();
  Results();
}

void RowDraws::Number() {
  const AttentionForwardProblem& p = r_.problem;
  std::map<int64_t, size_t> keys;
  std::map<std::pair<int64_t, int64_t>, size_t> pairs;
  std::map<std::pair<int64_t, uint64_t>, size_t> draws;
  for (size_t place = 0; place < r_.rows.size(); ++place) {
    const auto [b, h, i] = PlaceOf(p, r_.rows[place]);
    const int64_t k = Address(r_.inputs.k, b, h / p.group());
    const int64_t v = Address(r_.inputs.v, b, h / p.group());
    uint64_t query = 0;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      query = Mix(query ^ ElementBits(r_.inputs.q, {b, h, i, c})) + 1;
    }
    keys_group_.push_back(NumberOf(k, &keys));
    pair_group_.push_back(NumberOf({k, v}, &pairs));
    draw_.push_back(static_cast<int64_t>(NumberOf({k, query}, &draws)));
    if (draws.size() > first_row_.size()) first_row_.push_back(place);
  }
  by_keys_.resize(keys.size());
  by_pair_.resize(pairs.size());
}

bool RowDraws::Ordinary(size_t place) const {
  if (r_.truth.rows[place].kind != oracle::RowKind::kOrdinary) return false;
  for (size_t c = 0; c < Places(r_.truth.value_dim); ++c) {
    if (!std::isfinite(Truth(place, c))) return false;
  }
  return true;
}

double RowDraws::Truth(size_t place, size_t c) const {
  return r_.truth.o[place * Places(r_.truth.value_dim) + c];
}

// After the softcap, less their mean: what all keys have in common moves no
// weight.
std::vector<double> RowDraws::ScoresOf(size_t place) const {
  const AttentionForwardProblem& p = r_.problem;
  const auto [b, h, i] = PlaceOf(p, r_.rows[place]);
  const int64_t count = std::min(p.kv_len, kKeysCompared);
  std::vector<double> scores(Places(count), 0.0);
  double mean = 0;
  for (int64_t n = 0; n < count; ++n) {
    double& s = scores[Places(n)];
    const int64_t key = n * p.kv_len / count;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      s += Element(r_.inputs.q, {b, h, i, c}) *
           Element(r_.inputs.k, {b, h / p.group(), key, c});
    }
    s *= p.scale;
    if (p.softcap) s = *p.softcap * TanhDouble(s / *p.softcap);
    mean += s / static_cast<double>(count);
  }
  for (double& s : scores) s -= mean;
  return scores;
}

void RowDraws::Scores() {
  for (const size_t place : first_row_) {
    if (!Ordinary(place)) continue;
    Group& group = by_keys_[keys_group_[place]];
    const std::vector<double> scores = ScoresOf(place);
    group.mean.resize(scores.size());
    for (size_t n = 0; n < scores.size(); ++n) group.mean[n] += scores[n];
    ++group.draws;
  }
  for (Group& group : by_keys_) {
    for (double& x : group.mean) x /= static_cast<double>(group.draws);
  }
}

void RowDraws::Results() {
  const size_t channels = Places(r_.truth.value_dim);
  int64_t rows = 0;
  std::vector<std::vector<int64_t>> draws(by_pair_.size());
  for (size_t place = 0; place < r_.rows.size(); ++place) {
    if (!Ordinary(place)) continue;
    Group& group = by_pair_[pair_group_[place]];
    group.mean.resize(channels);
    for (size_t c = 0; c < channels; ++c) {
      group.mean[c] += Truth(place, c);
      mean_ += Truth(place, c);
    }
    draws[pair_group_[place]].push_back(draw_[place]);
    ++group.rows;
    ++rows;
  }
  mean_ /=
      std::max(static_cast<double>(rows) * static_cast<double>(channels), 1.0);
  for (size_t n = 0; n < by_pair_.size(); ++n) {
    Group& group = by_pair_[n];
    for (double& x : group.mean) x /= static_cast<double>(group.rows);
    std::sort(draws[n].begin(), draws[n].end());
    group.draws =
        std::unique(draws[n].begin(), draws[n].end()) - draws[n].begin();
  }
}

// The distance of scores whose weights round independently: from one number of
// the weights' type to the next, or of the scores'.
double RowDraws::ScorePeriod(size_t place) const {
  const double weights = RoundoffOf(r_.profile.p, r_.problem.p_lane);
  const double scores = RoundoffOf(r_.profile.score, r_.problem.p_lane) *
                        r_.truth.rows[place].largest_score;
  return 2 * std::max({weights, scores, 0x1p-23});
}

bool RowDraws::Varies(size_t place) const {
  if (!Ordinary(place)) return false;
  const Group& keys = by_keys_[keys_group_[place]];
  if (keys.draws > 1) {
    const std::vector<double> scores = ScoresOf(place);
    double squares = 0;
    for (size_t n = 0; n < scores.size(); ++n) {
      const double apart = scores[n] - keys.mean[n];
      squares += apart * apart;
    }
    const double period = ScorePeriod(place);
    if (squares < period * period * static_cast<double>(scores.size())) {
      return false;
    }
  }
  const Group& pair = by_pair_[pair_group_[place]];
  const size_t channels = Places(r_.truth.value_dim);
  double from_others = 0, from_all = 0;
  for (size_t c = 0; c < channels; ++c) {
    const double o = Truth(place, c);
    const double ulp = std::max(Ulp(std::fabs(o), r_.problem.lane), 0x1p-149);
    const double others = (o - pair.mean[c]) / ulp;
    const double all = (o - mean_) / ulp;
    from_others += others * others;
    from_all += all * all;
  }
  const auto least = static_cast<double>(channels);
  return from_all >= least && (pair.draws < 2 || from_others >= least);
}

}  // namespace lockstep::verify
