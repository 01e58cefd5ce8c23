// What an op says about one key of its case lines. An op's keys are a table in
// canonical order; verify/case/case.cc does the rest.
#ifndef LOCKSTEP_VERIFY_CASE_KEYS_H_
#define LOCKSTEP_VERIFY_CASE_KEYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/text.h"

namespace lockstep::verify {

struct CaseKey {
  const char* name;  // an indexed key ends in a number: name "mask.h", mask.h3
  const char* form;  // for messages: what the value looks like
  // Sets the default; keys before this one have their values already. Null:
  // the key must be given.
  void (*set_default)(Case& c);
  Status (*parse)(Scanner& in, int64_t index, Case& c);
  std::string (*print)(const Case& c, int64_t index);
  // Not null for an indexed key: the indices that `c` has.
  std::vector<int64_t> (*indices)(const Case& c);
  // A key younger than its op: canonical lines, too, leave its default out, so
  // that a case which is older has the line it always had.
  bool younger = false;
};

// Keys that every op has.
extern const CaseKey kGenKey;
extern const CaseKey kSeedKey;
extern const CaseKey kExpectKey;

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_KEYS_H_
