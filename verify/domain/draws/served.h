// Shapes that people serve and train, as tables of case lines with choices.
#ifndef LOCKSTEP_VERIFY_DOMAIN_DRAWS_SERVED_H_
#define LOCKSTEP_VERIFY_DOMAIN_DRAWS_SERVED_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/domain/domain.h"

namespace lockstep::verify {

// Each row of a table comes once in about so many cases.
inline constexpr int64_t kServedEvery = 200;

// The row with its choices made: {a|b} is one of the texts, {3..9} one of the
// numbers, and $ what was chosen last.
std::string Expand(Draw* draw, std::string_view row);

// Now and then a row in place of the sequence, in any of the lanes.
// Rows are keys of case lines. Requires: the op of the sequence has them.
std::vector<Case> WithServed(Draw* draw, const DomainOptions& options,
                             std::span<const char* const> rows,
                             std::vector<Case> sequence);

// One of three sequences in bf16 is in f16.
std::vector<Case> WithF16(Draw* draw, const DomainOptions& options,
                          std::vector<Case> sequence);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_DOMAIN_DRAWS_SERVED_H_
