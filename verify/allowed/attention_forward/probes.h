// Exact probes are inputs for which every legal order of sums, tiling, split
// and weight type gives the same result. So the tolerance is zero or a few last
// places of f32. They find single dropped, leaked, doubled or misread keys at
// any length, where every error bound is blind.
//
// The proof, for all families. The keys that a row sees have one of two scores:
// exactly 0 (q = 0, or no channel in which both are non-zero), or `high`.
//
// *All scores 0* (cancel, prefix, head-tag, sink; rows of the others that see
// no high key): every p is exactly 1 (or one power of two), the values are
// integers of at most 16 (in reset +-2^10), so that every partial sum of
// numerator and denominator is an integer below 2^24 (a multiple of 2^10 below
// 2^34), exact in f32 in any order and tiling; only the last division rounds,
// and lse is log(n). A sink of logit 0 is one more key of value 0: the sums
// stay integers.
//
// *Some high* (select, aim, reset; comb, thirds and thirds-next, where a row
// holds the keys of one residue class): the score is one product of powers of
// two, the same bits for each of these keys. All others together weigh less
// than 2^-20 of one of them, their values counted: the result is the mean of
// the high keys' values, within the few roundings of their common weight. A
// sink of logit 0 is one of the others.
//
// *All high* (shift, holes, deep): the same bits for all keys again, in holes
// as sums of d products that are small multiples of one power of two, exact in
// any order unless the scale was rounded into q. With s - max s the weights
// are 1; an integer or fused shift, or no maximum, leaves one common factor,
// which a relative error covers. holes ties all keys: each is smaller by one
// unit in a channel of its own, so that a channel that is lost, or read beside
// another, parts the scores of the keys. deep holds the same values in every
// key, so that only a relative error is left; its scores of about -1.5e6 are
// as far below 0 as leaves a fused shift (s f - m f, the second product
// rounded) an error below 1/2 in the exponent. Its sinks are far below.
// lse is the common score plus log(n).
//
// *sink*: q = 0, the sink of head h weighs 2^(2 - (h mod 12) / 2) times the
// keys (2^18 at most). p is then one number below 1 for all keys, rounded
// alike, and all values are 1 or 2: sums of narrow weights are exact, and
// errors relative only. The same holds of any logit but 0 that a case gives the
// other probes, whose values have both signs: there the roundings of the sums
// count with the mean |v|.
//
// Where the declared arithmetic makes other weights than 1, or divides before
// the last sum, probe_weights.h says what that costs.
//
// What no probe shows: an exchange of two keys whose distance is a multiple of
// 3 and whose classes of comb no row holds (of any two classes, where a kv head
// has as many rows as there are), and a maximum that starts at a finite number
// below -2^20.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBES_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBES_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/allowed/attention_forward/envelope.h"
#include "verify/allowed/attention_forward/probe_slack.h"
#include "verify/case/probe_kind.h"
#include "verify/inputs/attention_forward_probe.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// One probe of one problem under one profile. Sinks are read from inputs; q, k
// and v are not read.
//   Requires: Validate(problem, inputs, ...).ok(), WhyNotProbe(...).empty().
struct ProbeRequest {
  ProbeKind kind;
  const AttentionForwardProblem& problem;
  const AttentionForwardInputs& inputs;
  const NumericProfile& profile;
  uint64_t seed = 0;
};

// What is allowed.
struct ProbeAnswers {
  std::vector<ValueSet> o;    // [row][value_dim]
  std::vector<ValueSet> lse;  // [row]
};

// The answers of rows `rows` (flat; null: all).
ProbeAnswers ExpectProbe(const ProbeRequest& request,
                         const std::vector<int64_t>* rows);

// Same form of answer as an envelope: `worst` and `shares` stay empty.
EnvelopeResult JudgeProbe(const std::vector<ValueSet>& expected,
                          const std::vector<int64_t>* rows,
                          const LaneView& produced,
                          const ElementSink& each = {});
EnvelopeResult JudgeProbeLse(const std::vector<ValueSet>& expected,
                             const std::vector<int64_t>* rows,
                             const TensorView<const float, 3>& produced,
                             const ElementSink& each = {});

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBES_H_
