// The list-like values of case lines as text: segments, counts, strides.
#ifndef LOCKSTEP_VERIFY_CASE_LISTS_H_
#define LOCKSTEP_VERIFY_CASE_LISTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

// none | file | runs:LEN,... | ids:ID*LEN,... | [row;row;...]. `runs` has the
// ids 0, 1, 2, ...; neighbouring runs with one id become one run.
Result<Segments> ParseSegments(Scanner& in);
std::string FormatSegments(const Segments& segments);

// One count, or several with commas between.
Result<std::vector<int64_t>> ParseCounts(Scanner& in);
std::string FormatCounts(const std::vector<int64_t>& counts);

// none | q:SB/SH/SS/SD,k:... with each of q, k, v, o at most once.
Result<StrideOverrides> ParseStrides(Scanner& in);
std::string FormatStrides(const StrideOverrides& strides);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_LISTS_H_
