#include "verify/allowed/attention_forward/errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "reference/contract/team.h"
#include "verify/allowed/attention_forward/errors_cut.h"
#include "verify/allowed/attention_forward/errors_draws.h"
#include "verify/allowed/attention_forward/errors_head.h"
#include "verify/allowed/rounding.h"
#include "verify/base/binary64.h"
#include "verify/base/compare.h"

namespace lockstep::verify {
namespace {

constexpr int64_t kColumnTile = 16;
constexpr int64_t kRowBlock = 64;
constexpr int64_t kKeyTile = 64;

size_t Size(int64_t n) { return static_cast<size_t>(n); }
size_t Index(ErrorDirection d) { return static_cast<size_t>(d); }

// One row: its errors, their deviations, and what they look like along every
// direction.
struct Row {
  bool usable = false;
  RowErrors errors;
  std::vector<HeadOfValues::Run> runs;
  std::vector<float> by_key;  // of the runs' keys, one after the other
};

// How much of a weight's rounding a row's keys have in common: near the softcap
// scores crowd, and what lies in one interval of weights that round to one
// number errs by one amount, in every row. Over an interval of length u in the
// score, at the distance t from the cap, the density of the scores changes by
// its share u / t, and no more than this of the rounding fails to cancel.
struct RoundedAlike {
  std::vector<float> share;  // of each visible key, relative to its weight
  double unit = 0;           // of one rounding
  double largest = 0;
  double squares = 0;
  double mean = 0;  // by weight

  RoundedAlike() = default;
  RoundedAlike(const AttentionErrorsRequest& r,
               const HeadOfValues::Weights& weights)
      : share(weights.weight.size(), 0.0f),
        unit(RoundoffOf(r.profile.p, r.problem.p_lane)) {
    if (!r.problem.softcap || unit == 0) return;
    for (size_t j = 0; j < share.size(); ++j) {
      const double apart =
          *r.problem.softcap - std::fabs(double{weights.score[j]});
      const double common = unit * (apart > unit ? unit / apart : 1.0);
      share[j] = static_cast<float>(common);
      largest = std::max(largest, common);
      squares += common * common;
      mean += common * double{weights.weight[j]};
    }
  }

  // Sums over rows at one key see chance only where next to nothing is common.
  void LeaveOut(std::vector<float>* by_key) const {
    const double most = unit / 256;
    for (size_t j = 0; j < share.size(); ++j) {
      if (mean > most || double{share[j]} > most) (*by_key)[j] = 0;
    }
  }
};

class RowReader {
 public:
  RowReader(const AttentionErrorsRequest& request, const RowDraws& draws,
            const HeadOfValues& head)
      : r_(request),
        draws_(draws),
        head_(head),
        channels_(Size(request.truth.value_dim)),
        model_(request.envelope.model()) {}

  void Read(size_t place, Row* row) {
    place_ = place;
    const oracle::RowTruth& truth = r_.truth.rows[place];
    if (!Tells(truth) || !draws_.Varies(place) || !Deviations()) return;
    head_.Weigh(r_.rows[place], truth, &weights_);
    kappa_ = Kappa(truth);
    cut_ = CutOf(truth);
    alike_ = RoundedAlike(r_, weights_);
    row->usable = true;
    row->runs = weights_.runs;
    Squares(&row->errors);
    Directions();
    Project(row);
  }

 private:
  // Whether roundings of the row are like random signs: none of its weights
  // may be alone, for then the result is the nearest neighbour of one value,
  // and they must differ by more than a rounding.
  bool Tells(const oracle::RowTruth& row) const {
    if (row.kind != oracle::RowKind::kOrdinary || row.visible < 2) return false;
    const double keys = 1 - row.sink_weight;
    const double squares =
        (row.square_sum - row.sink_weight * row.sink_weight) /
        std::max(keys * keys, 1e-300);
    const double spread = static_cast<double>(row.visible) * squares - 1;
    return keys > 0x1p-10 && squares < 0.85 && spread > 0x1p-10 &&
           row.eta + row.unsure < 0.25;
  }

  bool Deviations() {
    const RowSlack slack = r_.envelope.ForRow(r_.truth.rows[place_]);
    if (slack.excluded || !slack.bounded) return false;
    error_.resize(channels_);
    variance_.resize(channels_);
    const auto [b, h, i] = head_.Place(r_.rows[place_]);
    for (size_t c = 0; c < channels_; ++c) {
      const double o = Truth(c);
      const std::array<int64_t, 4> at = {b, h, i, static_cast<int64_t>(c)};
      error_[c] =
          ElementValue(r_.produced.lane, ElementBits(r_.produced, at)) - o;
      const double before = r_.envelope.Variance(r_.truth, place_, c, slack);
      const double ulp = Ulp(std::fabs(o) + std::sqrt(before), r_.problem.lane);
      variance_[c] = before + ulp * ulp / 12;
      if (!std::isfinite(error_[c]) || !(variance_[c] > 0x1p-200)) return false;
    }
    return true;
  }

  double Truth(size_t c) const { return r_.truth.o[place_ * channels_ + c]; }

  // How far ln(weight) of a key may be off in the same way for all keys of the
  // same score: functions are no random draws. Weights' own roundings have a
  // mean of second order.
  double Kappa(const oracle::RowTruth& row) const {
    const oracle::WeightModel& bound = model_.weights.bound;
    const double moves = std::min(
        row.rescales, 2 * LogDouble(static_cast<double>(row.visible)) + 8);
    const double scores = bound.score * row.largest_score;
    const double rounded = model_.numerator_weight + scores;
    return (1 + moves) * r_.profile.exp_rel + scores +
           bound.distance * 2 * row.largest_score +
           bound.argument * std::fabs(r_.problem.scale) * row.largest_product +
           rounded * rounded / 2 + row.floor;
  }

  CutRow CutOf(const oracle::RowTruth& row) const {
    double largest = 0, abs_sum = 0;
    for (size_t c = 0; c < channels_; ++c) {
      largest = std::max(largest, std::fabs(Truth(c)));
      abs_sum += r_.truth.abs_sum[place_ * channels_ + c];
    }
    return {model_, row, largest, abs_sum / static_cast<double>(channels_)};
  }

  // Results nearer to zero are the likelier ones: of a rounding's cell, too.
  double OutputDrift() const {
    const double unit = LaneRowOf(r_.problem.lane).roundoff;
    return unit * unit;
  }

  void Squares(RowErrors* errors) const {
    const size_t tile = Size(kColumnTile);
    errors->squares.assign((channels_ + tile - 1) / tile, 0.0);
    for (size_t c = 0; c < channels_; ++c) {
      const size_t at = place_ * channels_ + c;
      const double size = std::fabs(Truth(c));
      const double alike =
          std::min(alike_.largest * r_.truth.abs_sum[at],
                   std::sqrt(alike_.squares * r_.truth.square_sum[at]));
      const double drift = kappa_ * (r_.truth.abs_sum[at] + size) + alike +
                           (OutputDrift() + alike_.mean) * size +
                           cut_.Most(size, r_.truth.square_sum[at],
                                     std::fabs(r_.problem.scale) *
                                         r_.truth.rows[place_].largest_product);
      const double left = std::max(std::fabs(error_[c]) - drift, 0.0);
      errors->squares[c / tile] += left * left / variance_[c];
    }
  }

  // Of unit deviation; zeros where the row has no such direction.
  void SetDirection(size_t d, const std::vector<double>& a) {
    double norm = 0;
    for (size_t c = 0; c < channels_; ++c) norm += a[c] * a[c] * variance_[c];
    const double inverse = norm > 0 ? 1 / std::sqrt(norm) : 0;
    directions_[d].resize(channels_);
    for (size_t c = 0; c < channels_; ++c) {
      directions_[d][c] = static_cast<float>(a[c] * inverse);
    }
  }

  void Directions() {
    std::vector<double> scale, cap;
    head_.Slopes(weights_, &scale, &cap);
    std::array<std::vector<double>, kErrorDirections + 1> a;
    for (auto& one : a) one.resize(channels_);
    for (size_t c = 0; c < channels_; ++c) {
      const double o = Truth(c);
      const double weight = 1 / variance_[c];
      const double deviation = std::sqrt(weight);
      a[Index(ErrorDirection::kAwayFromZero)][c] = o > 0   ? deviation
                                                   : o < 0 ? -deviation
                                                           : 0;
      a[Index(ErrorDirection::kGain)][c] = o * weight;
      a[Index(ErrorDirection::kUp)][c] = deviation;
      a[Index(ErrorDirection::kScale)][c] =
          (scale[c] - weights_.mean_score * o) * weight;
      a[Index(ErrorDirection::kCap)][c] =
          (cap[c] - weights_.mean_slope * o) * weight;
      a[kErrorDirections][c] = error_[c] * weight;
    }
    for (size_t d = 0; d < a.size(); ++d) SetDirection(d, a[d]);
  }

  void Project(Row* row) {
    head_.Along(weights_, directions_, &products_);
    for (size_t d = 0; d <= kErrorDirections; ++d) {
      double sum = 0, mean = 0, size = 0;
      for (size_t c = 0; c < channels_; ++c) {
        const double a = directions_[d][c];
        sum += a * error_[c];
        mean += a * Truth(c);
        size += std::fabs(a * Truth(c));
      }
      std::vector<float>& product = products_[d];
      const size_t first = place_ * channels_;
      const CutRow::Mean cut =
          cut_.Along(directions_[d], weights_, product, &r_.truth.o[first],
                     &r_.truth.square_sum[first]);
      double drift = 0, alike = 0;
      for (size_t j = 0; j < product.size(); ++j) {
        const double w = weights_.weight[j];
        const double apart = w * (double{product[j]} - mean);
        drift += std::fabs(apart);
        alike += std::fabs(apart) * double{alike_.share[j]};
        product[j] = static_cast<float>(apart);
      }
      if (d == kErrorDirections) break;
      row->errors.along[d] = sum - cut.middle;
      row->errors.drift[d] = kappa_ * drift + alike + OutputDrift() * size +
                             alike_.mean * std::fabs(mean) + cut.apart;
    }
    row->by_key = products_[kErrorDirections];
    alike_.LeaveOut(&row->by_key);
  }

  const AttentionErrorsRequest& r_;
  const RowDraws& draws_;
  const HeadOfValues& head_;
  size_t channels_;
  const EnvelopeModel& model_;
  size_t place_ = 0;
  double kappa_ = 0;
  CutRow cut_;
  HeadOfValues::Weights weights_;
  RoundedAlike alike_;
  std::vector<double> error_, variance_;
  std::array<std::vector<float>, kErrorDirections + 1> directions_;
  std::array<std::vector<float>, kErrorDirections + 1> products_;
};

// Sums by key, by offset from the diagonal, and by tile of keys, over the first
// row of each draw.
class Pools {
 public:
  explicit Pools(const AttentionErrorsRequest& request)
      : r_(request), keys_(request.problem.kv_len) {
    const int64_t reach = keys_ + request.problem.q_len;
    pools_ = {{"key", 0, {}}, {"offset", -reach, {}}, {"tile", 0, {}}};
    pools_[0].places.resize(Size(keys_));
    pools_[1].places.resize(Size(2 * reach + 1));
    pools_[2].places.resize(Size((keys_ + kKeyTile - 1) / kKeyTile));
  }

  void Add(const Row& row, int64_t b, int64_t i) {
    if (!met_.insert(row.errors.draw).second) return;
    const int64_t diagonal = i + r_.inputs.Offset(r_.problem, b);
    size_t at = 0;
    int64_t tile = -1;
    double in_tile = 0;
    for (const HeadOfValues::Run& run : row.runs) {
      for (int64_t key = run.begin; key < run.end; ++key, ++at) {
        const double x = row.by_key[at];
        pools_[0].places[Size(key)].Add(x);
        const int64_t offset = key - diagonal - pools_[1].first;
        if (offset >= 0 && Size(offset) < pools_[1].places.size()) {
          pools_[1].places[Size(offset)].Add(x);
        }
        if (key / kKeyTile != tile) {
          if (tile >= 0) pools_[2].places[Size(tile)].Add(in_tile);
          tile = key / kKeyTile;
          in_tile = 0;
        }
        in_tile += x;
      }
    }
    if (tile >= 0) pools_[2].places[Size(tile)].Add(in_tile);
  }

  std::vector<ErrorPool> Take() { return std::move(pools_); }

 private:
  const AttentionErrorsRequest& r_;
  int64_t keys_;
  std::set<int64_t> met_;  // draws
  std::vector<ErrorPool> pools_;
};

// Whether what functions err is small beside the roundings: only then is a
// sum over rows at one key one of random signs.
bool RoundingsLead(const AttentionErrorsRequest& r, const EnvelopeModel& m) {
  const double rounding =
      std::max(m.numerator_weight, LaneRowOf(r.problem.lane).roundoff);
  const double cut = m.cut_score + kU * (m.pv.cuts + m.l.cuts);
  return m.common_weight == 0 &&
         std::max({r.profile.exp_rel,
                   r.problem.softcap ? r.profile.tanh_rel : 0,
                   m.weights.bound.argument, m.weights.bound.score,
                   m.weights.bound.distance, cut}) < rounding / 256;
}

}  // namespace

ErrorSample AttentionErrors(const AttentionErrorsRequest& request) {
  ErrorSample sample;
  sample.tensor = "o";
  sample.judged = static_cast<int64_t>(request.rows.size());
  sample.columns = request.truth.value_dim;
  sample.column_tile = kColumnTile;
  const EnvelopeModel& model = request.envelope.model();
  sample.why_not = WhyNoStatistics(request.profile, request.problem, model);
  if (!sample.why_not.empty()) return sample;
  const RowDraws draws(request);
  Pools pools(request);
  const int threads = request.threads > 0 ? request.threads : DefaultThreads();
  const oracle::Visibility visibility(request.problem, request.inputs);
  for (size_t begin = 0; begin < request.rows.size();) {
    const HeadOfValues head(request.problem, request.inputs, visibility,
                            request.rows[begin]);
    size_t end = begin;
    while (end < request.rows.size() && head.Holds(request.rows[end])) ++end;
    // A row's keys wait until the rows before it are in.
    constexpr size_t kAtOnce = 64;
    for (size_t first = begin; first < end; first += kAtOnce) {
      const size_t count = std::min(kAtOnce, end - first);
      std::vector<Row> rows(count);
      ForEach(
          static_cast<int64_t>(count), count > 1 ? threads : 1,
          [&](int) { return RowReader(request, draws, head); },
          [&](int64_t n, RowReader& reader) {
            reader.Read(first + Size(n), &rows[Size(n)]);
          });
      for (size_t n = 0; n < count; ++n) {
        if (!rows[n].usable) continue;
        const auto [b, h, i] = head.Place(request.rows[first + n]);
        RowErrors& errors = rows[n].errors;
        errors.row = request.rows[first + n];
        errors.draw = draws.DrawOf(first + n);
        errors.head = b * request.problem.q_heads + h;
        errors.block = errors.head * (request.problem.q_len / kRowBlock + 1) +
                       i / kRowBlock;
        pools.Add(rows[n], b, i);
        sample.rows.push_back(std::move(errors));
      }
    }
    begin = end;
  }
  if (RoundingsLead(request, model)) sample.pools = pools.Take();
  return sample;
}

}  // namespace lockstep::verify
