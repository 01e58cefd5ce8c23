// Words about claims that several reports use.
#ifndef LOCKSTEP_VERIFY_REPORT_CLAIMS_CLAIM_WORDS_H_
#define LOCKSTEP_VERIFY_REPORT_CLAIMS_CLAIM_WORDS_H_

#include <cstdint>
#include <string>

#include "verify/report/claims/claim_table.h"

namespace lockstep::verify {

// "12 of 64 elements, max 3 ulp"; without ulp where none is a finite number's.
std::string DifferenceWords(int64_t differing, int64_t elements,
                            uint64_t max_ulp);

// "kept", "broken", or why nothing was compared: "not applicable", "not run".
std::string StateOf(const ClaimRow& row);

// The command that tries the claim again on the pair that breaks it, and exits
// with 1.
std::string ClaimReplayLine(const CaseResult& result, const ClaimTried& tried);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_CLAIMS_CLAIM_WORDS_H_
