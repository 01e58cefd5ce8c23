// The ops of the program, a row each; there is no registration at run time.
#ifndef LOCKSTEP_VERIFY_REGISTRY_OPS_H_
#define LOCKSTEP_VERIFY_REGISTRY_OPS_H_

#include <span>
#include <string_view>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/domain/domain.h"

namespace lockstep::verify {

OpRows Ops();

// Cases of these ops.
Result<Case> ParseCase(std::string_view line);
Result<std::vector<Case>> ParseCaseSequence(std::string_view line);

// Their domains, by name.
std::span<const Domain> Domains();
// Errors: no such op; the message lists those there are.
Result<const Domain*> FindDomain(std::string_view op);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REGISTRY_OPS_H_
