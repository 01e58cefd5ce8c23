#include "verify/oracle/attention_backward/truth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "reference/contract/with_fma.h"
#include "verify/oracle/attention_backward/lines.h"
#include "verify/oracle/elementary.h"
#include "verify/oracle/nearest_bf16.h"

namespace lockstep::oracle {
namespace {

constexpr double kUnit = 0x1p-53;
constexpr double kSingle = 0x1p-24;  // of f32
// Logarithms of factors by which a weight may be wrong: beyond, nothing is
// known of it.
constexpr double kMostEta = 40;
// Logarithm of the largest weight that f32 holds, with room.
constexpr double kMostWeight = 80;

using Factor = GradientFactor;

double Exp(double x) {
  return WithFma(
      [&]() LOCKSTEP_IN_BOTH { return oracle::Exp(ScalarLane(x)).value; });
}

// A number that may be off by `wrong`, and comes within a relative `coarse`,
// after it was rounded: to bf16 where `times` is not 0, and it times that is
// what is rounded.
Factor Rounded(const Factor& x, double coarse, double times) {
  if (times != 0) {
    const double wrong = x.wrong + 4 * kSingle * std::fabs(x.value);
    const double least = NearestBf16((x.value - wrong) * times);
    if (std::isfinite(least) &&
        least == NearestBf16((x.value + wrong) * times)) {
      return {least / times, 4 * kSingle * std::fabs(least / times), x.span};
    }
  }
  return {x.value, x.wrong + coarse * (std::fabs(x.value) + x.wrong), x.span};
}

}  // namespace

// What the pairs of one query share.
struct Gradients::Row {
  bool counts = false;  // it sees a key, and lse is no infinity
  bool open = false;    // lse is one: kernels differ
  double lse = 0, lse_wrong = 0;
  double delta = 0, delta_wrong = 0, delta_span = 0;
  Line q, d_o, o;
};

// One key of a query before D is known.
struct Gradients::Weighed {
  bool open_p = false, open_dp = false;
  double w = 0, w_wrong = 0;  // P
  double t = 1, t_wrong = 0;  // the cap's slope
  Dot dp;
  double dp_wrong = 0;
};

struct Gradients::Pair {
  bool open_p = false, open_ds = false;
  Factor p, ds;  // ds before the scale
};

Gradients::Gradients(const AttentionBackwardProblem& problem,
                     const AttentionBackwardInputs& inputs,
                     const GradientModel& model, const LseRange* lse)
    : problem_(problem),
      p_(problem.forward),
      in_(inputs),
      m_(model),
      lse_(lse) {
  // The witness is itself a computation of this model.
  m_.weights.constant += 4 * kExpError;
  m_.weights.product += static_cast<double>(p_.head_dim + 4) * kUnit;
  m_.weights.argument += 8 * kUnit;
  m_.weights.score += 2 * kTanhError;
  m_.weights.distance += 4 * kUnit;
  m_.slope += 4 * kSlopeError;
  m_.delta += static_cast<double>(p_.value_dim + 4) * kUnit;
  m_.dp += static_cast<double>(p_.value_dim + 4) * kUnit;
  const Visibility visibility(p_, in_.forward);
  for (int64_t b = 0; b < p_.batch; ++b) {
    for (int64_t h = 0; h < p_.q_heads; ++h) {
      for (int64_t i = 0; i < p_.q_len; ++i) {
        keys_.push_back(visibility.VisibleKeys(b, h, i));
      }
    }
  }
}

bool Gradients::Sees(int64_t b, int64_t h, int64_t i, int64_t j) const {
  const KeySet& keys = keys_[FlatOf(b, h, i)];
  return std::any_of(keys.begin(), keys.end(), [j](const KeyInterval& run) {
    return run.begin <= j && j < run.end;
  });
}

bool Gradients::SeesAny(int64_t b, int64_t h, int64_t i) const {
  return !keys_[FlatOf(b, h, i)].empty();
}

bool Gradients::HasEmptyQueries(int64_t b, int64_t kv_head) const {
  const int64_t first = (b * p_.q_heads + kv_head * p_.group()) * p_.q_len;
  const auto begin = keys_.begin() + first;
  return std::any_of(begin, begin + p_.group() * p_.q_len,
                     [](const KeySet& keys) { return keys.empty(); });
}

void Gradients::SetRow(int64_t b, int64_t h, int64_t i, Row* to) const {
  Row& row = *to;
  row.lse_wrong = row.delta = row.delta_wrong = row.delta_span = 0;
  row.lse = double{in_.lse(b, h, i)};
  if (lse_ != nullptr) {
    const auto at = FlatOf(b, h, i);
    row.lse = lse_->lse[at];
    row.lse_wrong = lse_->wrong[at];
  }
  const bool sees = SeesAny(b, h, i);
  row.open = std::isinf(row.lse) && sees;
  row.counts = !std::isinf(row.lse);
  if (sees) {
    LoadLine(in_.forward.q, b, h, i, &row.q);
    LoadLine(in_.d_o, b, h, i, &row.d_o);
    LoadLine(in_.o, b, h, i, &row.o);
    const Dot dot = DotOf(row.d_o, row.o);
    row.delta = dot.value;
    row.delta_span = dot.size;
    row.delta_wrong = m_.delta * dot.size + m_.flush * dot.factors;
    if (!deltas_.empty()) {
      const WeighedDelta& weighed = deltas_[FlatOf(b, h, i)];
      if (!deltas_of_o_) row.delta = weighed.value;
      row.delta_span = weighed.span;
      row.delta_wrong = weighed.wrong;
    }
  }
  if (problem_.dlse) {
    const double dlse = double{in_.dlse(b, h, i)};
    row.delta -= dlse;
    row.delta_span += std::fabs(dlse);
  }
  const auto channels = static_cast<double>(p_.value_dim);
  row.delta_wrong += m_.step * (std::fabs(row.delta) + row.delta_wrong) +
                     (channels + 2) * m_.tiny;
}

// The capped score, the cap's slope and how far both may be off: `wrong` is of
// the score before the cap.
void Gradients::Slope(double z, double wrong, double* slope,
                      double* score) const {
  if (!p_.softcap) {
    *slope = 1;
    *score = z;
    return;
  }
  const double cap = *p_.softcap;
  const double near = std::max(std::fabs(z) - wrong, 0.0);
  *score = cap * TanhWithSlope(ScalarLane(z / cap)).tanh.value;
  // The slope is steepest where the argument may be least.
  *slope = TanhWithSlope(ScalarLane(near / cap)).slope.value;
}

GradientLine Gradients::MakeLine(int64_t channels) const {
  const Line zeros(static_cast<size_t>(channels), 0.0);
  return {false, 0, zeros, zeros, zeros, zeros, {}, m_.sparse ? zeros : Line()};
}

Gradients::Weighed Gradients::Weigh(const Row& row, const Line& k,
                                    const Line& v) const {
  Weighed x;
  const Dot qk = DotOf(row.q, k);
  const double z = p_.scale * qk.value;
  const double z_wrong = std::fabs(p_.scale) * m_.weights.product * qk.size +
                         m_.weights.argument * std::fabs(z);
  double steepest = 1, u = z;
  Slope(z, z_wrong, &steepest, &u);
  if (p_.softcap) {
    const double cap = *p_.softcap;
    const TanhAndSlope<ScalarLane> y = TanhWithSlope(ScalarLane(z / cap));
    const double y_wrong = std::min(steepest * z_wrong / cap, 2.0) +
                           m_.weights.score * std::fabs(y.tanh.value) + m_.tiny;
    x.t = y.slope.value;
    x.t_wrong =
        2 * std::fabs(y.tanh.value) * y_wrong + y_wrong * y_wrong + m_.slope;
  }
  const double gap = u - row.lse;
  const double eta = m_.weights.constant + steepest * z_wrong +
                     m_.weights.score * std::fabs(u) +
                     m_.weights.distance * std::fabs(gap) +
                     m_.lse * std::fabs(row.lse) + row.lse_wrong;
  x.dp = DotOf(row.d_o, v);
  x.open_p = row.open || !(qk.size < m_.largest_qk) || !(eta < kMostEta) ||
             !(gap + eta < kMostWeight);
  x.open_dp = x.open_p || !(x.dp.size < m_.largest);
  // The functions here take NaN for a number.
  x.w = std::isnan(z) || std::isnan(gap) ? z + gap : Exp(gap);
  x.w_wrong = x.w * ExpMinusOne(ScalarLane(std::min(eta, kMostEta))).value +
              m_.weights.floor;
  x.dp_wrong = m_.dp * x.dp.size + m_.flush * x.dp.factors +
               static_cast<double>(p_.value_dim) * m_.tiny;
  return x;
}

Factor Gradients::RoundedP(const Weighed& x) const {
  return Rounded({x.w, x.w_wrong, x.w}, m_.p, m_.round_p ? 1 : 0);
}

Factor Gradients::PInDs(const Weighed& x) const {
  if (m_.round_p && m_.p_in_ds > 0) return RoundedP(x);
  return {x.w, x.w_wrong + m_.p_in_ds * (x.w + x.w_wrong), x.w};
}

WeighedDelta Gradients::DeltaOf(int64_t b, int64_t h, int64_t i) const {
  WeighedDelta sum;
  Row row;
  SetRow(b, h, i, &row);
  Line k, v;
  const int64_t kv_head = h / p_.group();
  double size = 0;
  int64_t terms = 0;
  for (const KeyInterval& run : keys_[FlatOf(b, h, i)]) {
    for (int64_t j = run.begin; j < run.end; ++j, ++terms) {
      LoadLine(in_.forward.k, b, kv_head, j, &k);
      LoadLine(in_.forward.v, b, kv_head, j, &v);
      const Weighed x = Weigh(row, k, v);
      const Factor p = PInDs(x);
      const double most = std::fabs(x.dp.value) + x.dp_wrong;
      sum.value = std::fma(p.value, x.dp.value, sum.value);
      sum.wrong += p.wrong * most + p.value * x.dp_wrong + m_.tiny;
      sum.span += x.open_dp ? HUGE_VAL : x.w * x.dp.size;
      size += (p.value + p.wrong) * most;
    }
  }
  // In any order; the oracle's own sum, too. 2^17 terms at most.
  sum.wrong += 1.01 * kSingle * static_cast<double>(terms + 4) * size;
  return sum;
}

Gradients::Pair Gradients::PairOf(const Row& row, const Line& k, const Line& v,
                                  double rounded) const {
  Pair pair;
  const Weighed x = Weigh(row, k, v);
  pair.open_p = x.open_p;
  pair.open_ds = x.open_dp || !(row.delta_span < m_.largest);
  const double gap = x.dp.value - row.delta;
  double gap_wrong = x.dp_wrong + row.delta_wrong;
  gap_wrong += m_.step * (std::fabs(gap) + gap_wrong) + m_.tiny;
  const double all = std::fabs(gap) + gap_wrong;
  const double steepest = x.t + x.t_wrong;
  pair.p = RoundedP(x);
  const Factor p = PInDs(x);
  const double ds = p.value * gap * x.t;
  const double ds_wrong = p.wrong * all * steepest +
                          p.value * gap_wrong * steepest +
                          p.value * std::fabs(gap) * x.t_wrong;
  pair.ds = {ds, ds_wrong, x.w * (x.dp.size + row.delta_span)};
  if (rounded != 0) {
    pair.ds.wrong += 3 * m_.step * (std::fabs(ds) + ds_wrong) + 4 * m_.tiny;
    pair.ds = Rounded(pair.ds, m_.ds, rounded);
    pair.ds.wrong += m_.ds_floor;
    return pair;
  }
  pair.ds.wrong +=
      (3 * m_.step + m_.ds) * (std::fabs(ds) + ds_wrong) * (1 + m_.ds) +
      4 * m_.tiny + m_.ds_floor;
  return pair;
}

GradientLine Gradients::Query(int64_t b, int64_t h, int64_t i) const {
  GradientLine line = MakeLine(p_.head_dim);
  Row row;
  SetRow(b, h, i, &row);
  Line k, v;
  line.open = row.open;
  const int64_t kv_head = h / p_.group();
  const KeySet& keys = keys_[FlatOf(b, h, i)];
  for (const KeyInterval& run : keys) {
    for (int64_t j = run.begin; j < run.end && !line.open; ++j) {
      LoadLine(in_.forward.k, b, kv_head, j, &k);
      LoadLine(in_.forward.v, b, kv_head, j, &v);
      const Pair pair = PairOf(row, k, v, m_.round_k);
      line.open = pair.open_ds && !std::isnan(pair.ds.value);
      Add(pair.ds, k, m_.operand_k, m_.flush_k, &line);
    }
  }
  Close(m_.largest, &line);
  return line;
}

KeyLines Gradients::Key(int64_t b, int64_t kv_head, int64_t j) const {
  KeyLines lines = {MakeLine(p_.head_dim), MakeLine(p_.value_dim)};
  lines.dk.heads = lines.dk.value;
  Line k, v;
  LoadLine(in_.forward.k, b, kv_head, j, &k);
  LoadLine(in_.forward.v, b, kv_head, j, &v);
  Row row;
  for (int64_t h = kv_head * p_.group(); h < (kv_head + 1) * p_.group(); ++h) {
    const Line before = lines.dk.value;
    for (int64_t i = 0; i < p_.q_len; ++i) {
      if (!Sees(b, h, i, j)) continue;
      SetRow(b, h, i, &row);
      if (row.open) {
        lines.dk.open = lines.dv.open = true;
        return lines;
      }
      const Pair pair = PairOf(row, k, v, m_.round_q);
      lines.dk.open |= pair.open_ds && !std::isnan(pair.ds.value);
      lines.dv.open |= pair.open_p && !std::isnan(pair.p.value);
      Add(pair.ds, row.q, m_.operand_q, m_.flush_q, &lines.dk);
      Add(pair.p, row.d_o, m_.operand_v, m_.flush, &lines.dv);
    }
    for (size_t c = 0; c < before.size(); ++c) {
      lines.dk.heads[c] += std::fabs(lines.dk.value[c] - before[c]);
    }
  }
  Close(m_.largest, &lines.dk);
  Close(m_.largest, &lines.dv);
  return lines;
}

GradientLine Gradients::Sink(int64_t h) const {
  GradientLine line = MakeLine(1);
  const double sink = double{in_.forward.sink(h)};
  line.open = !(sink < HUGE_VAL);
  Row row;
  for (int64_t b = 0; b < p_.batch; ++b) {
    for (int64_t i = 0; i < p_.q_len && !line.open; ++i) {
      SetRow(b, h, i, &row);
      line.open = row.open;
      if (!row.counts || line.open) continue;
      const double x = sink - row.lse;
      const double far = std::isinf(sink) ? 0 : std::fabs(sink);
      const double eta =
          m_.weights.constant +
          (m_.weights.score + m_.weights.sink + 4 * m_.step) * far +
          m_.weights.distance * (far + std::fabs(row.lse)) +
          m_.lse * std::fabs(row.lse) + row.lse_wrong;
      const double s = std::isnan(x) ? x : Exp(x);
      line.open = !std::isnan(s * row.delta) &&
                  (!(eta < kMostEta) || !(x + eta < kMostWeight) ||
                   !(row.delta_span < m_.largest));
      const double s_wrong =
          s * ExpMinusOne(ScalarLane(std::min(eta, kMostEta))).value +
          m_.weights.floor;
      const double size = std::fabs(row.delta) + row.delta_wrong;
      const double wrong = s_wrong * size + s * row.delta_wrong + 2 * m_.tiny;
      Add({-s * row.delta, wrong, s * row.delta_span}, {1.0}, 0, 0, &line);
    }
  }
  Close(m_.largest, &line);
  return line;
}

}  // namespace lockstep::oracle
