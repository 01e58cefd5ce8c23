// What a judge loses who learns a profile from the kernel: the zoo's fields as
// `identify` sees them, and known bugs judged by the profile that was
// identified of them.
#ifndef LOCKSTEP_VERIFY_SELFTEST_IDENTIFY_MEASURED_H_
#define LOCKSTEP_VERIFY_SELFTEST_IDENTIFY_MEASURED_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"

namespace lockstep::verify {

// Of one field, over all correct kernels of attention.
struct SeenField {
  int64_t seen = 0;
  int64_t equal = 0;     // to the kernel's own value
  int64_t reported = 0;  // not taken over
  int64_t untold = 0;    // "cannot tell"
};
struct SeenZoo {
  std::map<std::string, SeenField> fields;  // of arithmetic, by key
  std::vector<std::string> stricter;        // than the kernel's own value

  int64_t Seen() const;
  int64_t Equal() const;
  // Nothing stricter, and four fifths of the seen fields equal.
  bool Passed() const;
};
SeenZoo IdentifyZoo();

struct AutoOptions {
  // Keys; 0: the bug's own pattern.
  std::vector<int64_t> lengths = {0};
  std::vector<std::string> only;  // beginnings of names; empty: all
  int threads = 0;                // 0: as many as the machine has
  std::function<void(const std::string&)> progress;  // may be null
};

// Bugs of one family at one length.
struct AutoCount {
  int64_t own = 0;   // that an envelope or probe of the right profile fails
  int64_t kept = 0;  // and one of the identified profile, too
  std::vector<std::string> lost;
};
struct AutoResult {
  std::map<std::pair<std::string, int64_t>, AutoCount> counts;

  // 99 % of each family.
  bool Passed() const;
};
// Errors: a case that cannot be opened, memory.
Result<AutoResult> JudgeIdentified(const AutoOptions& options);

// What a person reads.
std::string SeenText(const SeenZoo& zoo);
std::string AutoText(const AutoResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_IDENTIFY_MEASURED_H_
