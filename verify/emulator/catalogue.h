// What the catalogues of known bugs have in common: rows with a name, and with
// a case that shows the bug.
#ifndef LOCKSTEP_VERIFY_EMULATOR_CATALOGUE_H_
#define LOCKSTEP_VERIFY_EMULATOR_CATALOGUE_H_

#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "reference/contract/status.h"
#include "verify/base/nearest_name.h"

namespace lockstep::verify {

// The op of a pattern: its first word.
inline std::string OpOfPattern(const char* pattern) {
  return {pattern, std::strcspn(pattern, " ")};
}

// Why there is no such bug; `rows` and `name` as NearestIs takes them.
template <typename Rows, typename Name>
std::string UnknownMutant(std::string_view bug, const Rows& rows, Name name) {
  return "mutant '" + std::string(bug) + "' is not in the catalogue; " +
         NearestIs(bug, rows, name) + " (all: lockstep list mutants)";
}

// The row of that name. Errors: there is none.
template <typename Row>
Result<const Row*> FindBug(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows) {
    if (name == row.name) return &row;
  }
  return Status::Error(
      UnknownMutant(name, rows, [](const Row& row) { return row.name; }));
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_CATALOGUE_H_
