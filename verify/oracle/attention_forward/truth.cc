#include "verify/oracle/attention_forward/truth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "reference/contract/team.h"
#include "verify/oracle/attention_forward/equal_weights.h"
#include "verify/oracle/attention_forward/packed_head.h"
#include "verify/oracle/attention_forward/visibility.h"
#include "verify/oracle/elementary.h"
#include "verify/oracle/kernels.h"

namespace lockstep::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnit = 0x1p-53;
// The oracle is itself a computation of this model: its own coefficients.
WeightModel WithOwnError(WeightModel m, int64_t head_dim) {
  m.constant += 4 * kExpError;
  m.product += static_cast<double>(head_dim + 4) * kUnit;
  m.argument += 8 * kUnit;
  m.score += 2 * kTanhError;
  m.distance += 4 * kUnit;
  return m;
}

// Up to kTileRows rows of one head, walked together.
class Tile {
 public:
  Tile(const AttentionForwardProblem& problem,
       const AttentionForwardInputs& inputs, const ErrorModel& model,
       const Kernels& kernels, const Visibility& visibility)
      : p_(problem),
        in_(inputs),
        model_(model),
        kernels_(kernels),
        visibility_(visibility) {}

  // rows: flat numbers of the same (b, h); `first`: place in the truth.
  void Run(const PackedHead& head, std::span<const int64_t> rows, size_t first,
           AttentionTruth* truth) {
    const int64_t flat = rows[0] / p_.q_len;
    b_ = flat / p_.q_heads;
    h_ = flat % p_.q_heads;
    count_ = rows.size();
    for (size_t r = 0; r < count_; ++r) {
      query_[r] = rows[r] % p_.q_len;
      keys_[r] = visibility_.VisibleKeys(b_, h_, query_[r]);
    }
    Scores(head);
    for (size_t r = 0; r < kTileRows; ++r) {
      inverse_[r] = 0;
      if (r < count_) truth->rows[first + r] = Weights(r);
    }
    Values(head, first, truth);
    for (size_t r = 0; r < count_; ++r) Finish(head, r, first + r, truth);
  }

 private:
  double* Row(std::vector<double>& x, size_t r) { return &x[r * stride_]; }

  void ListPanels() {
    KeySet any;
    for (size_t r = 0; r < count_; ++r) any = Unite(any, keys_[r]);
    panels_.clear();
    for (const KeyInterval& run : any) {
      constexpr auto kStep = static_cast<int64_t>(kPanel);
      int64_t panel = run.begin / kStep;
      if (!panels_.empty()) panel = std::max(panel, panels_.back() + 1);
      for (; panel * kStep < run.end; ++panel) panels_.push_back(panel);
    }
    stride_ = panels_.size() * kPanel;
  }

  void Scores(const PackedHead& head) {
    ListPanels();
    const size_t lanes = std::max<size_t>(stride_ * kTileRows, 1);
    for (auto* x : {&score_, &product_, &argument_}) x->assign(lanes, 0.0);
    visible_.resize(stride_ + 1);
    q_.assign(kTileRows * Size(p_.head_dim), 0.0);
    for (size_t r = 0; r < count_; ++r) {
      LoadRow(in_.q, b_, h_, query_[r], &q_[r * Size(p_.head_dim)], 1);
    }
    kernels_.score_tile({.q = q_.data(),
                         .k = head.k.data(),
                         .head_dim = Size(p_.head_dim),
                         .panels = panels_.data(),
                         .panel_count = panels_.size(),
                         .dot = score_.data(),
                         .product = product_.data(),
                         .stride = stride_});
  }

  void MarkVisible(const KeySet& keys) {
    std::fill(visible_.begin(), visible_.end(), 0.0);
    for (const KeyInterval& run : keys) {
      const auto panel = run.begin / static_cast<int64_t>(kPanel);
      const auto slot =
          Size(std::lower_bound(panels_.begin(), panels_.end(), panel) -
               panels_.begin());
      const size_t at = slot * kPanel + Size(run.begin) % kPanel;
      std::fill_n(&visible_[at], run.end - run.begin, 1.0);
    }
  }

  // N12, N13 and the sink around the kernels' sums.
  RowTruth Weights(size_t r) {
    RowTruth row;
    row.visible = CountKeys(keys_[r]);
    MarkVisible(keys_[r]);
    LogitRow logits{.keys = stride_,
                    .visible = visible_.data(),
                    .score = Row(score_, r),
                    .product = Row(product_, r),
                    .argument = Row(argument_, r),
                    .scale = p_.scale,
                    .cap = p_.softcap.value_or(0.0),
                    .bound = model_.bound};
    kernels_.logit_row(&logits);
    row.largest_product = logits.largest_product;
    const double sink = p_.sink ? static_cast<double>(in_.sink(h_)) : -kInf;
    row.max = std::max(logits.max, sink);
    const bool bad =
        logits.bad || !(sink < kInf) || (row.visible > 0 && row.max == -kInf);
    if (bad || row.max == -kInf) {
      row.kind = bad ? RowKind::kNaN : RowKind::kEmpty;
      row.lse = bad ? kNaN : -kInf;
      for (auto* x : {&score_, &product_, &argument_}) {
        std::fill_n(Row(*x, r), stride_, 0.0);
      }
      return row;
    }
    row.largest_score =
        std::max(logits.largest_score, sink > -kInf ? std::fabs(sink) : 0.0);
    row.rescales =
        static_cast<double>(std::min(row.visible, model_.most_rescales));
    row_model_.bound = ForRow(model_.bound, row);
    row_model_.spread = ForRow(model_.spread, row);
    WeightRow weights{.keys = stride_,
                      .max = row.max,
                      .score = Row(score_, r),
                      .product = Row(product_, r),
                      .argument = Row(argument_, r),
                      .model = row_model_};
    kernels_.weight_row(&weights);
    AddSink(sink, row.max, r, &weights);
    const double inverse = 1 / weights.weight;
    inverse_[r] = inverse;
    row.kind = row.visible > 0 ? RowKind::kOrdinary : RowKind::kEmpty;
    row.weight_sum = weights.weight;
    row.lse = row.max + Log(weights.weight);
    row.sink_weight = sink_weight_[r] * inverse;
    row.least_weight = weights.least < kInf ? weights.least * inverse : 0;
    row.square_sum = weights.square * inverse * inverse;
    row.eta = weights.eta * inverse;
    row.phi = weights.phi * inverse;
    row.floor = weights.floor * inverse;
    row.spread = weights.spread * inverse * inverse;
    for (size_t i = 0; i < 5; ++i) row.parts[i] = weights.parts[i] * inverse;
    row.own_error = static_cast<double>(stride_ + 16) * kUnit;
    return row;
  }

  // Terms that are the same for all keys of the row, folded into two.
  WeightModel ForRow(WeightModel m, const RowTruth& row) const {
    m.constant += row.rescales * m.rescale;
    m.constant +=
        row.largest_score * (m.reference + row.rescales * m.reference_rescale);
    if (model_.fixed_reference) {
      const double apart = *model_.fixed_reference - row.max;
      // Never below the largest weight's own: quotients of a sum, too, round
      // near zero.
      m.floor *= Exp(ScalarLane(std::clamp(apart, 0.0, -kLeastExp))).value;
    }
    return m;
  }

  // One more weight, without a value row.
  void AddSink(double sink, double max, size_t r, WeightRow* sums) {
    sink_weight_[r] = sink_phi_[r] = sink_spread_[r] = 0;
    if (!(sink > -kInf)) return;
    const WeightModel& bound = row_model_.bound;
    const WeightModel& spread = row_model_.spread;
    const double p = Exp(ScalarLane{sink - max}).value;
    const double score = bound.score * std::fabs(sink);
    const double distance = bound.distance * (max - sink);
    const double eta = std::min(bound.constant + score + distance, -kLeastExp);
    sink_weight_[r] = p;
    sink_phi_[r] = p * ExpMinusOne(ScalarLane{eta}).value + bound.floor;
    sink_spread_[r] = p * p *
                          (spread.constant * spread.constant +
                           spread.score * sink * (spread.score * sink) +
                           spread.distance * (max - sink) *
                               (spread.distance * (max - sink))) +
                      spread.floor * spread.floor;
    sums->weight += p;
    sums->square += p * p;
    sums->eta += p * eta;
    sums->phi += sink_phi_[r];
    sums->floor += bound.floor;
    sums->spread += sink_spread_[r];
    sums->parts[0] += p * bound.constant;
    sums->parts[3] += p * score;
    sums->parts[4] += p * distance;
  }

  // Calls kernel(tile) for all keys and channels: keys in chunks that stay in
  // the cache for all channels, 8 rows' weights of 256 keys being 16 KiB.
  void ForValues(const PackedHead& head, void (*kernel)(const ValueTile&)) {
    constexpr size_t kChunk = 256 / kPanel;
    const size_t padded = (Size(p_.kv_len) + kPanel - 1) / kPanel * kPanel;
    for (size_t slot = 0; slot < panels_.size(); slot += kChunk) {
      for (size_t c = 0; c * kPanel < Size(p_.value_dim); ++c) {
        kernel({.p = score_.data() + slot * kPanel,
                .phi = product_.data() + slot * kPanel,
                .spread = argument_.data() + slot * kPanel,
                .v = &head.v[c * padded * kPanel],
                .panels = panels_.data() + slot,
                .panel_count = std::min(kChunk, panels_.size() - slot),
                .stride = stride_,
                .o = Sums(0, c),
                .abs_sum = Sums(1, c),
                .square_sum = Sums(2, c),
                .phi_sum = Sums(3, c),
                .spread_sum = Sums(4, c)});
      }
    }
  }

  // [kTileRows][kPanel] of one kind of sum and one panel of channels.
  double* Sums(size_t kind, size_t channel_panel) {
    const size_t panels = (Size(p_.value_dim) + kPanel - 1) / kPanel;
    return &sums_[(kind * panels + channel_panel) * kTileRows * kPanel];
  }

  // Sums of one kind times 1 / sum p, `times` times, to their place.
  void Normalise(size_t kind, int times, size_t first,
                 std::vector<double>* to) {
    const size_t dv = Size(p_.value_dim);
    for (size_t r = 0; r < count_; ++r) {
      for (size_t c = 0; c < dv; ++c) {
        double& sum = Sums(kind, c / kPanel)[r * kPanel + c % kPanel];
        for (int n = 0; n < times; ++n) sum = sum * inverse_[r];
        (*to)[(first + r) * dv + c] = sum;
      }
    }
  }

  void Values(const PackedHead& head, size_t first, AttentionTruth* truth) {
    const size_t panels = (Size(p_.value_dim) + kPanel - 1) / kPanel;
    sums_.assign(5 * panels * kTileRows * kPanel, 0.0);
    ForValues(head, kernels_.value_sums);
    Normalise(0, 1, first, &truth->o);
    Normalise(1, 1, first, &truth->abs_sum);
    Normalise(2, 2, first, &truth->square_sum);
    ForValues(head, kernels_.value_spread);
    Normalise(3, 1, first, &truth->phi_sum);
    Normalise(4, 2, first, &truth->spread_sum);
  }

  void Finish(const PackedHead& head, size_t r, size_t place,
              AttentionTruth* truth) {
    const size_t dv = Size(p_.value_dim);
    double* o = &truth->o[place * dv];
    RowTruth& row = truth->rows[place];
    row.largest_value = head.largest_value;
    for (const KeyInterval& run : keys_[r]) {
      for (int64_t key = run.begin; key < run.end; ++key) {
        row.visible_value =
            std::max(row.visible_value, head.largest[Size(key)]);
      }
    }
    if (row.kind != RowKind::kOrdinary) {
      std::fill_n(o, dv, row.kind == RowKind::kNaN ? kNaN : 0.0);
      return;
    }
    const double phi = sink_phi_[r] * inverse_[r];
    const double spread = sink_spread_[r] * inverse_[r] * inverse_[r];
    for (size_t c = 0; c < dv; ++c) {
      truth->phi_sum[place * dv + c] += phi * std::fabs(o[c]);
      truth->spread_sum[place * dv + c] += spread * (o[c] * o[c]);
    }
    const WeightedRow weighted = {{Row(score_, r), stride_},
                                  {Row(argument_, r), stride_},
                                  inverse_[r],
                                  panels_,
                                  head.v,
                                  Size(p_.kv_len),
                                  model_.equal_bits};
    equal_.Add(weighted, place, truth);
    for (const KeyInterval& run : keys_[r]) {
      auto key =
          std::lower_bound(head.special.begin(), head.special.end(), run.begin);
      for (; key != head.special.end() && *key < run.end; ++key) {
        AddSpecial(r, *key, o);
      }
    }
  }

  // N11, N13: a visible non-finite value decides its channel.
  void AddSpecial(size_t r, int64_t key, double* o) {
    const auto panel = key / static_cast<int64_t>(kPanel);
    const auto slot =
        Size(std::lower_bound(panels_.begin(), panels_.end(), panel) -
             panels_.begin());
    const double p = Row(score_, r)[slot * kPanel + Size(key) % kPanel];
    std::vector<double> v(Size(p_.value_dim));
    LoadRow(in_.v, b_, h_ / p_.group(), key, v.data(), 1);
    for (size_t c = 0; c < v.size(); ++c) {
      if (std::isfinite(v[c])) continue;
      const bool clash = std::isinf(o[c]) && o[c] != v[c];
      o[c] = p > 0 && !clash && !std::isnan(o[c]) ? v[c] : kNaN;
    }
  }

  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const ErrorModel& model_;
  ErrorModel row_model_;
  const Kernels& kernels_;
  const Visibility& visibility_;
  int64_t b_ = 0, h_ = 0;
  size_t count_ = 0, stride_ = 0;
  std::array<int64_t, kTileRows> query_{};
  std::array<KeySet, kTileRows> keys_;
  std::array<double, kTileRows> inverse_{}, sink_weight_{}, sink_phi_{},
      sink_spread_{};
  EqualWeights equal_;
  std::vector<int64_t> panels_;
  std::vector<double> q_, visible_, score_, product_, argument_, sums_;
};

// Where the next (b, h) begins.
size_t EndOfHead(const std::vector<int64_t>& rows, size_t begin,
                 int64_t q_len) {
  const int64_t head = rows[begin] / q_len;
  return Size(std::lower_bound(rows.begin() + static_cast<int64_t>(begin),
                               rows.end(), (head + 1) * q_len) -
              rows.begin());
}

}  // namespace

AttentionTruth ComputeTruth(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs,
                            const ErrorModel& model,
                            const TruthOptions& options) {
  std::vector<int64_t> all;
  if (options.rows == nullptr) {
    all.resize(Size(problem.batch * problem.q_heads * problem.q_len));
    for (size_t r = 0; r < all.size(); ++r) all[r] = static_cast<int64_t>(r);
  }
  const std::vector<int64_t>& rows = options.rows ? *options.rows : all;
  AttentionTruth truth;
  truth.value_dim = problem.value_dim;
  truth.rows.resize(rows.size());
  for (auto* x : {&truth.o, &truth.abs_sum, &truth.phi_sum, &truth.spread_sum,
                  &truth.square_sum}) {
    x->resize(rows.size() * Size(problem.value_dim));
  }
  ErrorModel with_own = model;
  with_own.bound = WithOwnError(model.bound, problem.head_dim);
  const Visibility visibility(problem, inputs);
  const Kernels& kernels = KernelsOf(options.target);
  const int threads = options.threads > 0 ? options.threads : DefaultThreads();
  PackedHead packed;
  int64_t packed_head = -1;
  for (size_t begin = 0; begin < rows.size();) {
    const size_t end = EndOfHead(rows, begin, problem.q_len);
    const int64_t flat = rows[begin] / problem.q_len;
    const int64_t b = flat / problem.q_heads;
    const int64_t kv = flat % problem.q_heads / problem.group();
    if (packed_head != b * problem.kv_heads + kv) {
      packed_head = b * problem.kv_heads + kv;
      packed = Pack(problem, inputs, b, kv);
    }
    const auto tiles =
        static_cast<int64_t>((end - begin + kTileRows - 1) / kTileRows);
    // Tiles are independent (N16): threads never change a bit.
    const auto run = [&](int64_t n, Tile* tile) {
      const size_t first = begin + Size(n) * kTileRows;
      const size_t count = std::min(kTileRows, end - first);
      tile->Run(packed, {&rows[first], count}, first, &truth);
    };
    ForEach(
        tiles, tiles > 1 ? threads : 1,
        [&](int) {
          return Tile(problem, inputs, with_own, kernels, visibility);
        },
        [&](int64_t n, Tile& tile) { run(n, &tile); });
    begin = end;
  }
  return truth;
}

}  // namespace lockstep::oracle
