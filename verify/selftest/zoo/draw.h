// Cases of the zoo: all that the op draws, or those with keys that are asked
// for, such as the cases whose keys lie in pages.
#ifndef LOCKSTEP_VERIFY_SELFTEST_ZOO_DRAW_H_
#define LOCKSTEP_VERIFY_SELFTEST_ZOO_DRAW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {

// "page" or "alias": whether the line has that key, whatever its value is;
// "layout=varlen", "alias=v_in_k": with that value, or with one that goes on
// after a colon; "index" and "causal": whether a term of a mask is of that
// kind.
bool LineHas(std::string_view line, std::string_view key);

// Of case `number` of the run.
uint64_t ZooSeed(const SelftestOptions& options, int64_t number);

// Case `number` of the run, for a correct kernel of this profile; a case with
// one of `options.zoo_with`, if it names keys. None: the op has no such case
// for that kernel, or thousands of draws did not meet it.
std::optional<Case> DrawForZoo(const SelftestRow& op,
                               const SelftestOptions& options,
                               const NumericProfile& profile, int64_t number);

// Whether the op's first kernels are drawn cases with one of the keys; true
// where no keys are named.
bool DrawsForZoo(const SelftestRow& op, const SelftestOptions& options,
                 const std::vector<std::string>& kernels);

// Errors: a key that no drawn case of any op has.
Status CheckZooKeys(const SelftestOptions& options);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_ZOO_DRAW_H_
