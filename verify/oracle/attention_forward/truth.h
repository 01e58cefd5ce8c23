// The fp64 witness of attention_forward: the truth of sampled rows, and the
// magnitudes from which error envelopes are made. Same bits on every machine:
// one lane holds one independent element, fma everywhere, own exp and tanh.
//
// Derivation of what is summed here: docs/envelopes.md.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_TRUTH_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_TRUTH_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/oracle/targets.h"

namespace lockstep::oracle {

// How far ln(weight) of one key may be from the truth: with z = scale * q.k,
// s = softcap(z), d = max s - s and the softcap's slope L <= 1,
//   eta = constant + L * (product * |scale| sum_d |q_d k_d| + argument * |z|)
//         + score * |s| + distance * d
//         + R * rescale + top * (reference + R * reference_rescale),
// of a sink also sink * |s|;
// R = rescales of the row, top = the row's largest |s|; so that a computed
// weight is w * (1 + phi), |phi| <= exp(eta) - 1, plus an absolute error of at
// most `floor` in units of the row's largest weight.
struct WeightModel {
  double constant = 0;
  double product = 0;
  double argument = 0;
  double score = 0;
  double distance = 0;
  double floor = 0;
  double rescale = 0;
  double reference = 0;
  double reference_rescale = 0;
  double sink = 0;  // of a sink's logit, beside `score`
};

// What the magnitudes are weighed with: `bound` limits every error; `spread`
// holds standard deviations of independent errors, combined as squares.
struct ErrorModel {
  WeightModel bound;
  WeightModel spread;
  // Rescales of a row: at most its visible keys, and at most this.
  int64_t most_rescales = 0;
  // What the exponent subtracts where that is not the row's maximum: floors
  // are in units of exp(fixed_reference) then.
  std::optional<double> fixed_reference;
  // Weights that agree in so many leading bits round alike; 0: none do.
  int equal_bits = 0;
};

enum class RowKind : uint8_t {
  kOrdinary,
  kEmpty,  // N12: no visible key
  kNaN,    // N13: a visible score is NaN or +inf, or all are -inf
};

// Sums over the visible keys of one row and its sink; w_j are the normalised
// weights, p_j = w_j * weight_sum are relative to the largest.
struct RowTruth {
  RowKind kind = RowKind::kEmpty;
  int64_t visible = 0;      // keys
  double max = 0;           // largest s, the sink included
  double weight_sum = 0;    // sum p_j
  double lse = 0;           // natural logarithm; -inf for an empty row
  double sink_weight = 0;   // the sink's w
  double least_weight = 0;  // smallest w_j > 0 of a key
  double square_sum = 0;    // sum w_j^2
  // Largest sum_d |q_d k_d|: above f32's range a kernel may overflow.
  double largest_product = 0;
  double largest_score = 0;  // |s|, the sink included
  // Largest finite |v| of the kv head, visible or not: while an online maximum
  // still rises, any weight may be 1.
  double largest_value = 0;
  // The same of its visible keys: no weighted mean of them lies beyond.
  double visible_value = 0;
  double rescales = 0;
  double eta = 0;    // sum w_j eta_j
  double phi = 0;    // sum w_j phi_j, floor included
  double floor = 0;  // the floor's part of it
  // The part of it of keys whose w_j is 0 in binary64, or whose eta_j is above
  // 708: what they may weigh, of which eta says nothing.
  double unsure = 0;
  double spread = 0;  // sum (w_j psi_j)^2, psi of ErrorModel::spread
  // The parts of eta, in the order of WeightModel's first five fields; those
  // of R and top are in the first.
  double parts[5] = {};
  // By how much the square of a sum's random error grows because terms are
  // equal: of sum w, and of the channel of sum w v where it grows most.
  double equal_weights = 1;
  double equal_values = 1;
  // Relative error of the oracle's own sums over this row's keys.
  double own_error = 0;
};

// Rows in the order asked for; elements [row][value_dim].
struct AttentionTruth {
  int64_t value_dim = 0;
  bool likely = true;  // TruthRequest::likely
  std::vector<RowTruth> rows;
  // N8, N13: NaN, +inf or -inf where a visible V makes it so.
  std::vector<double> o;
  std::vector<double> abs_sum;  // sum w_j |v_j|
  std::vector<double> phi_sum;  // sum w_j phi_j |v_j - o|
  // sum (w_j psi_j (v_j - o))^2 and sum (w_j v_j)^2, where keys of equal
  // weights are one term if that makes the sum larger.
  std::vector<double> spread_sum;
  std::vector<double> square_sum;
};

// A truth that is asked for: beside `rows`, o, abs_sum and phi_sum.
struct TruthRequest {
  ErrorModel model;
  // spread_sum, square_sum, equal_weights and equal_values. Without them they
  // stay 0 and 1, and nothing can be said of what errors are likely.
  bool likely = true;
  // The channels of |v| behind those of v, so that value_dim is doubled; of
  // them o, abs_sum and phi_sum.  Requires: all of v is finite, not `likely`.
  bool sizes = false;
};

struct TruthOptions {
  // Row r is (r / (hq * sq), r / sq % hq, r % sq), ascending. Null: all rows.
  const std::vector<int64_t>* rows = nullptr;
  int threads = 0;  // 0: OpenMP's choice
  Target target = SupportedTargets().back();
};

// Exact in the sense of docs/envelopes.md: the oracle's own error is part
// of every sum (WeightModel is increased by it) or stated (own_error). Memory
// O((sq sampled + skv) * (d + dv)). Weights below 1e-307 count as 0.
//   Requires: Validate(problem, inputs, ...).ok(), rows in range, a target of
//   SupportedTargets().
AttentionTruth ComputeTruth(const AttentionForwardProblem& problem,
                            const AttentionForwardInputs& inputs,
                            const ErrorModel& model,
                            const TruthOptions& options);

// The same of several models, a truth each: the scores and the weighted values
// of a row are formed once for all of them.
std::vector<AttentionTruth> ComputeTruths(
    const AttentionForwardProblem& problem,
    const AttentionForwardInputs& inputs,
    std::span<const TruthRequest> requests, const TruthOptions& options);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_TRUTH_H_
