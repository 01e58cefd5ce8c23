// What a user wants drawn cases to be: "mask=causal d=64|128 hkv=hq".
#ifndef LOCKSTEP_FUZZ_WHERE_H_
#define LOCKSTEP_FUZZ_WHERE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/domain/domain.h"

namespace lockstep::fuzz {

// A key, and what it may be: texts as in case lines, the name of another key
// whose value it takes, or `default`.
struct WhereKey {
  std::string key;
  std::vector<std::string> values;
};

// Bars between brackets are the mask's own. Errors: no KEY=VALUE.
Result<std::vector<WhereKey>> ParseWhere(const std::string& text);

// The sequence with these keys in every call; which of several values follows
// from the index. None: no legal case is so. `why` may be null: takes what
// speaks against it.
std::optional<std::vector<verify::Case>> WithKeys(
    const std::vector<WhereKey>& where,
    const std::vector<verify::Case>& sequence, uint64_t index,
    std::string* why = nullptr);

// Whether every call has these keys, with any of their values.
bool Meets(const std::vector<WhereKey>& where,
           const std::vector<verify::Case>& sequence);

// Errors: no drawn case can be so, and why the last of them cannot.
Status CheckWhere(const std::vector<WhereKey>& where,
                  const verify::Domain& domain,
                  const verify::DomainOptions& options);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_WHERE_H_
