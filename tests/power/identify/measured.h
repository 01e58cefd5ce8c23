// What a judge loses if it learns the profile from the kernel. Measured are the
// zoo's fields as `identify` sees them, and known bugs judged by the profile
// that was identified of them.
#ifndef LOCKSTEP_TESTS_POWER_IDENTIFY_MEASURED_H_
#define LOCKSTEP_TESTS_POWER_IDENTIFY_MEASURED_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/profile/profile.h"
#include "verify/selftest/row.h"

namespace lockstep::verify {

// Of one field, over all correct kernels of an op.
struct SeenField {
  int64_t seen = 0;
  int64_t equal = 0;     // to the kernel's own value
  int64_t reported = 0;  // not taken over
  int64_t untold = 0;    // "cannot tell"
};
struct SeenZoo {
  std::string op;
  int64_t kernels = 0;                      // that were asked
  double longest_seconds = 0;               // of one kernel
  std::map<std::string, SeenField> fields;  // of arithmetic, by key
  std::vector<std::string> stricter;        // than the kernel's own value
  std::vector<std::string> other;           // seen, not equal, not stricter

  int64_t Seen() const;
  int64_t Equal() const;
  // Nothing stricter, and four fifths of the seen fields equal.
  bool Passed() const;
};
// The zoo's rows whose kernels can be asked.
std::vector<const SelftestRow*> IdentifyRowsOf(const std::string& op);
SeenZoo IdentifyZoo(const SelftestRow& row);

struct AutoOptions {
  // Keys; 0: the bug's own pattern.
  std::vector<int64_t> lengths = {0};
  std::vector<std::string> only;  // beginnings of names; empty: all
  int threads = 0;                // 0: as many as the machine has
  std::function<void(const std::string&)> progress;  // may be null
};

// Whether a bug breaks a convention: what is scaled, capped, masked, laid out.
bool BreaksConvention(const MutantInfo& info);

// Bugs of one family at one length.
struct AutoCount {
  int64_t own = 0;   // that an envelope or probe of the right profile fails
  int64_t kept = 0;  // and one of the identified profile, too
  // Of those that are kept: by nothing less than the laws of a whole verdict.
  std::vector<std::string> by_laws;
  std::vector<std::string> lost;

  void Add(const AutoCount& other);
};
// The place of a count in a table.
struct AutoPlace {
  std::string op;
  bool convention = false;
  std::string family;
  int64_t length = 0;
  friend auto operator<=>(const AutoPlace&, const AutoPlace&) = default;
};
struct AutoResult {
  std::map<AutoPlace, AutoCount> counts;
  // Of all families of an op at a length, conventions apart.
  AutoCount Total(const std::string& op, bool convention, int64_t length) const;
  // 99 % of an op's bugs at a length, and all that break a convention.
  bool Passed() const;
};
// Errors: a case that cannot be opened, memory; no bug has such a name.
Result<AutoResult> JudgeIdentified(const std::vector<const SelftestRow*>& rows,
                                   const AutoOptions& options);

// Whether `verify` fails the kernel on that line by the profile.
// Errors: a line or a kernel that there is not.
Result<bool> FailsWhole(const std::string& line, const std::string& spec,
                        const NumericProfile& profile);

// What a person reads, and what tests/power/power.py collects.
std::string SeenText(const SeenZoo& zoo);
std::string AutoText(const AutoResult& result);
std::string IdentifyJson(const std::vector<SeenZoo>& zoos,
                         const AutoResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_IDENTIFY_MEASURED_H_
