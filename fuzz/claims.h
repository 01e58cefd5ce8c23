// What a kernel says that it computes, in terms of the features of a domain.
#ifndef LOCKSTEP_FUZZ_CLAIMS_H_
#define LOCKSTEP_FUZZ_CLAIMS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "fuzz/trial.h"
#include "verify/domain/domain.h"

namespace lockstep::fuzz {

// Words of a kernel's claims (docs/wire.md), each with the features of the
// domain that show it. Words that no feature shows are left out, and so are
// lanes where the target has one lane.
std::map<std::string, std::vector<size_t>> ClaimedFeatures(
    const Target& target, const verify::Domain& domain);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_CLAIMS_H_
