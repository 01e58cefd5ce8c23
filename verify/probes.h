// Exact probes: inputs for which every legal order of sums, tiling, split and
// weight type gives one and the same result, so that the tolerance is zero or
// a few last places of f32. They find single dropped, leaked, doubled or
// misread keys at any length, where every error bound is blind.
//
// The proof, for all families. Keys have one of two scores in a row: exactly 0
// (k = 0), or `high` (far above). If a row sees no high key, every p is exactly
// 1 (or one power of two), the values are integers below 2^5, so that every
// partial sum of numerator and denominator is an integer below 2^24, exact in
// f32 in any order and tiling; only the last division rounds. If it sees high
// keys, all others weigh less than 2^-26 together: the result is the mean of
// the high keys' values, within the few roundings of their common weight.
// Eager normalisation and merged splits divide before the last sum and get
// 2^-20 of the mean |v|.
#ifndef LOCKSTEP_VERIFY_PROBES_H_
#define LOCKSTEP_VERIFY_PROBES_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/envelope.h"
#include "verify/probe_kind.h"
#include "verify/profile.h"

namespace lockstep::verify {

// Why the probe proves nothing for this problem or under this profile, in one
// line; empty if it applies. Not applicable: sums not in f32, a fixed maximum,
// a cap too small to separate the scores, a scale that is 0 or extreme.
std::string WhyNotProbe(ProbeKind kind, const AttentionForwardProblem& problem,
                        const NumericProfile& profile);

// Element of q (tensor 0), k (1) or v (2) at [b, h, position, channel]: a pure
// function, exact in bf16.
//   Requires: WhyNotProbe is empty for the exact profiles.
float ProbeElement(ProbeKind kind, const AttentionForwardProblem& problem,
                   uint64_t seed, int tensor,
                   const std::array<int64_t, 4>& index);

// The allowed o of rows `rows` (flat, null: all), [row][value_dim]. Sinks are
// read from inputs; q, k, v are not read.
//   Requires: Validate(problem, inputs, ...).ok(), WhyNotProbe(...).empty().
std::vector<ValueSet> ProbeExpectation(ProbeKind kind,
                                       const AttentionForwardProblem& problem,
                                       const AttentionForwardInputs& inputs,
                                       const NumericProfile& profile,
                                       uint64_t seed,
                                       const std::vector<int64_t>* rows);

// Same form of answer as an envelope: `worst` and `shares` stay empty.
EnvelopeResult JudgeProbe(const std::vector<ValueSet>& expected,
                          const std::vector<int64_t>* rows,
                          const LaneView& produced);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_PROBES_H_
