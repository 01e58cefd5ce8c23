// The key of a cotangent that an op of gradients is given: how its values are
// drawn.
#ifndef LOCKSTEP_VERIFY_CASE_COTANGENT_H_
#define LOCKSTEP_VERIFY_CASE_COTANGENT_H_

#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/case/fill.h"
#include "verify/case/keys.h"
#include "verify/case/text.h"

namespace lockstep::verify {

// What a case has that says nothing of its cotangent.
std::vector<FillTerm> OrdinaryCotangent();

// Families that say something of one tensor by itself. `key`: of the message.
Status CheckCotangent(const char* key, const std::vector<FillTerm>& terms);

// `kMember`: the terms in the struct of the case's op.
template <auto kMember>
constexpr CaseKey CotangentKey(const char* name) {
  return {
      name,
      "FAMILY:ARGUMENTS joined by +",
      [](Case& c) { keys::At<kMember>(c) = OrdinaryCotangent(); },
      [](Scanner& in, int64_t, Case& c) -> Status {
        auto terms = ParseFill(in);
        if (!terms.ok()) return terms.status();
        keys::At<kMember>(c) = std::move(terms.value());
        return {};
      },
      [](const Case& c, int64_t) { return FormatFill(keys::At<kMember>(c)); },
      nullptr};
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_COTANGENT_H_
