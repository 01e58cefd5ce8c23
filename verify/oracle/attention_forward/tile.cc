#include "verify/oracle/attention_forward/tile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "verify/oracle/elementary.h"

namespace lockstep::oracle {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnit = 0x1p-53;

double LargestOf(const std::vector<double>& x, const KeySet& keys) {
  double largest = 0;
  for (const KeyInterval& run : keys) {
    for (int64_t key = run.begin; key < run.end; ++key) {
      largest = std::max(largest, x[Size(key)]);
    }
  }
  return largest;
}

}  // namespace

void Tile::Run(const PackedHead& head, std::span<const int64_t> rows,
               size_t first, std::span<AttentionTruth> truths) {
  const int64_t flat = rows[0] / p_.q_len;
  b_ = flat / p_.q_heads;
  h_ = flat % p_.q_heads;
  count_ = rows.size();
  for (size_t r = 0; r < count_; ++r) {
    query_[r] = rows[r] % p_.q_len;
    keys_[r] = visibility_.VisibleKeys(b_, h_, query_[r]);
    visible_value_[r] = LargestOf(head.largest, keys_[r]);
  }
  Scores(head);
  for (current_ = 0; current_ < requests_.size(); ++current_) {
    AttentionTruth* const truth = &truths[current_];
    TakeScores();
    for (size_t r = 0; r < kTileRows; ++r) {
      inverse_[r] = 0;
      if (r < count_) truth->rows[first + r] = Weights(r);
    }
    Values(head, first, truth);
    for (size_t r = 0; r < count_; ++r) Finish(head, r, first + r, truth);
  }
}

void Tile::ListPanels() {
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

void Tile::Scores(const PackedHead& head) {
  ListPanels();
  const size_t lanes = std::max<size_t>(stride_ * kTileRows, 1);
  for (auto* x : {&raw_score_, &raw_product_, &argument_}) x->resize(lanes);
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
                       .dot = raw_score_.data(),
                       .product = raw_product_.data(),
                       .stride = stride_});
}

void Tile::TakeScores() {
  if (current_ + 1 < requests_.size()) {
    score_ = raw_score_;
    product_ = raw_product_;
  } else {
    std::swap(score_, raw_score_);
    std::swap(product_, raw_product_);
  }
  // Rows that are not there have weights of 0.
  for (auto* x : {&score_, &product_, &argument_}) {
    std::fill(x->begin() + static_cast<int64_t>(count_ * stride_), x->end(),
              0.0);
  }
}

void Tile::MarkVisible(const KeySet& keys) {
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
RowTruth Tile::Weights(size_t r) {
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
                  .bound = request().model.bound};
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
      static_cast<double>(std::min(row.visible, request().model.most_rescales));
  row_model_.bound = ForRow(request().model.bound, row);
  row_model_.spread = ForRow(request().model.spread, row);
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
  row.unsure = weights.unsure * inverse;
  row.spread = weights.spread * inverse * inverse;
  for (size_t i = 0; i < 5; ++i) row.parts[i] = weights.parts[i] * inverse;
  row.own_error = static_cast<double>(stride_ + 16) * kUnit;
  return row;
}

// Terms that are the same for all keys of the row, folded into two.
WeightModel Tile::ForRow(WeightModel m, const RowTruth& row) const {
  m.constant += row.rescales * m.rescale;
  m.constant +=
      row.largest_score * (m.reference + row.rescales * m.reference_rescale);
  if (request().model.fixed_reference) {
    const double apart = *request().model.fixed_reference - row.max;
    // Never below the largest weight's own: quotients of a sum, too, round
    // near zero.
    m.floor *= Exp(ScalarLane(std::clamp(apart, 0.0, -kLeastExp))).value;
  }
  return m;
}

// One more weight, without a value row.
void Tile::AddSink(double sink, double max, size_t r, WeightRow* sums) {
  sink_weight_[r] = sink_phi_[r] = sink_spread_[r] = 0;
  if (!(sink > -kInf)) return;
  const WeightModel& bound = row_model_.bound;
  const WeightModel& spread = row_model_.spread;
  const double p = Exp(ScalarLane{sink - max}).value;
  const double score = (bound.score + bound.sink) * std::fabs(sink);
  const double drawn = (spread.score + spread.sink) * sink;
  const double distance = bound.distance * (max - sink);
  const double eta = std::min(bound.constant + score + distance, -kLeastExp);
  sink_weight_[r] = p;
  // No PhiOf: a sink does not cancel, so that what is beyond it is in the
  // constant, which all weights share.
  sink_phi_[r] = p * ExpMinusOne(ScalarLane{eta}).value + bound.floor;
  sink_spread_[r] =
      p * p *
          (spread.constant * spread.constant + drawn * drawn +
           spread.distance * (max - sink) * (spread.distance * (max - sink))) +
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
void Tile::ForValues(const PackedHead& head, void (*kernel)(const ValueTile&)) {
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
              .o = Sums(kO, c),
              .abs_sum = Sums(kAbs, c),
              .square_sum = Sums(kSquare, c),
              .phi_sum = Sums(kPhi, c),
              .spread_sum = Sums(kSpread, c),
              .size_phi_sum = Sums(kSizePhi, c)});
    }
  }
}

// [kTileRows][kPanel] of one kind of sum and one panel of channels.
double* Tile::Sums(size_t kind, size_t channel_panel) {
  const size_t panels = (Size(p_.value_dim) + kPanel - 1) / kPanel;
  return &sums_[(kind * panels + channel_panel) * kTileRows * kPanel];
}

// Sums of one kind times 1 / sum p, `times` times.
void Tile::Normalise(Sum kind, int times) {
  for (size_t r = 0; r < count_; ++r) {
    for (size_t c = 0; c < Size(p_.value_dim); ++c) {
      double& sum = Sums(kind, c / kPanel)[r * kPanel + c % kPanel];
      for (int n = 0; n < times; ++n) sum = sum * inverse_[r];
    }
  }
}

// To `to`, [row][channels], from that channel on.
void Tile::Write(Sum kind, size_t channel, size_t first, int64_t channels,
                 std::vector<double>* to) {
  for (size_t r = 0; r < count_; ++r) {
    double* const row = &(*to)[(first + r) * Size(channels) + channel];
    for (size_t c = 0; c < Size(p_.value_dim); ++c) {
      row[c] = Sums(kind, c / kPanel)[r * kPanel + c % kPanel];
    }
  }
}

void Tile::Values(const PackedHead& head, size_t first, AttentionTruth* truth) {
  const size_t panels = (Size(p_.value_dim) + kPanel - 1) / kPanel;
  const size_t of_kind = panels * kTileRows * kPanel;
  if (current_ == 0) {
    // Weights are those of all requests, and so are their sums.
    sums_.assign(kSums * of_kind, 0.0);
    const bool squares = std::any_of(requests_.begin(), requests_.end(),
                                     [](const auto& r) { return r.likely; });
    ForValues(head, squares ? kernels_.value_sums : kernels_.value_means);
    Normalise(kO, 1);
    Normalise(kAbs, 1);
    Normalise(kSquare, 2);
  }
  const int64_t channels = truth->value_dim;
  const auto write = [&](Sum kind, std::vector<double>* to) {
    Write(kind, 0, first, channels, to);
  };
  std::fill_n(Sums(kPhi, 0), 3 * of_kind, 0.0);
  ForValues(head,
            request().likely ? kernels_.value_spread : kernels_.value_bounds);
  Normalise(kPhi, 1);
  write(kO, &truth->o);
  write(kAbs, &truth->abs_sum);
  write(kPhi, &truth->phi_sum);
  if (request().likely) {
    Normalise(kSpread, 2);
    write(kSquare, &truth->square_sum);
    write(kSpread, &truth->spread_sum);
  }
  if (request().sizes) {
    ForValues(head, kernels_.size_bounds);
    Normalise(kSizePhi, 1);
    const size_t sizes = Size(p_.value_dim);
    Write(kAbs, sizes, first, channels, &truth->o);
    Write(kAbs, sizes, first, channels, &truth->abs_sum);
    Write(kSizePhi, sizes, first, channels, &truth->phi_sum);
  }
}

void Tile::Finish(const PackedHead& head, size_t r, size_t place,
                  AttentionTruth* truth) {
  const size_t channels = Size(truth->value_dim);
  double* o = &truth->o[place * channels];
  RowTruth& row = truth->rows[place];
  row.largest_value = head.largest_value;
  row.visible_value = visible_value_[r];
  if (row.kind != RowKind::kOrdinary) {
    std::fill_n(o, channels, row.kind == RowKind::kNaN ? kNaN : 0.0);
    return;
  }
  const double phi = sink_phi_[r] * inverse_[r];
  const double spread = sink_spread_[r] * inverse_[r] * inverse_[r];
  for (size_t c = 0; c < channels; ++c) {
    truth->phi_sum[place * channels + c] += phi * std::fabs(o[c]);
  }
  if (request().likely) {
    for (size_t c = 0; c < channels; ++c) {
      truth->spread_sum[place * channels + c] += spread * (o[c] * o[c]);
    }
    const WeightedRow weighted = {{Row(score_, r), stride_},
                                  {Row(argument_, r), stride_},
                                  inverse_[r],
                                  panels_,
                                  head.v,
                                  Size(p_.kv_len),
                                  request().model.equal_bits};
    equal_.Add(weighted, place, truth);
  }
  for (const KeyInterval& run : keys_[r]) {
    auto key =
        std::lower_bound(head.special.begin(), head.special.end(), run.begin);
    for (; key != head.special.end() && *key < run.end; ++key) {
      AddSpecial(r, *key, o);
    }
  }
}

// N11, N13: a visible non-finite value decides its channel.
void Tile::AddSpecial(size_t r, int64_t key, double* o) {
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

}  // namespace lockstep::oracle
