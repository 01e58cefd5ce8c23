// Scales of q, k and v in fp8 as text: none, tensor:X, head:DIST, token:DIST or
// block:KEYS:DIST. DIST is const:X or uniform:LO,HI.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_SCALES_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_SCALES_H_

#include <optional>
#include <string>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

inline constexpr const char* kScaleForm =
    "none|tensor:X|head:DIST|token:DIST|block:KEYS:DIST";

// A word of fp8, or none.
Result<std::optional<Lane>> ParseFp8Lane(Scanner& in);
// Refuses a word of fp8 where a lane of all tensors is due: only q, k and v may
// have it, by keys of their own.
Status RefuseFp8Lane(Scanner& in);

Result<ScaleSpec> ParseScales(Scanner& in);
std::string FormatScales(const ScaleSpec& spec);

// Checks that the scales' values are within 2^-60..2^60, and that the case has
// no key that cannot be combined with fp8.
Status CheckScales(const Case& c);

// Checks that an exact probe, called `name`, has scales of 1.
Status CheckScalesOfProbe(const std::string& name,
                          const AttentionForwardCase& c);

// The same problem and inputs without scales.
void DropScales(AttentionForwardProblem* problem,
                AttentionForwardInputs* inputs);

// The shapes of the scales' tensors, without memory; nothing without scales.
void SetShapesOfScales(const AttentionForwardCase& c,
                       AttentionForwardInputs* inputs);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_SCALES_H_
