// Scales of keys and values in fp8 as text: none, tensor:X, head:DIST,
// token:DIST or block:KEYS:DIST. DIST is const:X or uniform:LO,HI.
#ifndef LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_SCALES_H_
#define LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_SCALES_H_

#include <string>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

inline constexpr const char* kScaleForm =
    "none|tensor:X|head:DIST|token:DIST|block:KEYS:DIST";

Result<ScaleSpec> ParseScales(Scanner& in);
std::string FormatScales(const ScaleSpec& spec);

// Checks that the scales' values are within 2^-60..2^60, and that the case has
// no key that cannot be combined with fp8.
Status CheckScales(const Case& c);

// Checks that an exact probe, called `name`, has scales of 1.
Status CheckScalesOfProbe(const std::string& name,
                          const AttentionForwardCase& c);

// The shape of the scales' tensor, without memory; nothing without scales.
KeyScaleView ShapeOfScales(const AttentionForwardCase& c,
                           const ScaleSpec& spec);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_ATTENTION_FORWARD_SCALES_H_
