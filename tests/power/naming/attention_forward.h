// How often a failing verdict names the bug. Tried is every known bug of
// attention, with and without lse, on two sizes. It comes as a kernel that can
// be asked and as answers to exported calls.
#ifndef LOCKSTEP_TESTS_POWER_NAMING_ATTENTION_FORWARD_H_
#define LOCKSTEP_TESTS_POWER_NAMING_ATTENTION_FORWARD_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/causes/explanation.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {

// Where a bug is met.
struct NamingPlace {
  int64_t keys = 128;
  bool lse = true;    // false: the profile says that the kernel has none
  bool asked = true;  // false: answers from files, to the calls of an export
};

// What the verdict said about one bug.
struct NamedBug {
  const MutantInfo* info = nullptr;
  NamingPlace place;
  std::string kernel{};  // its spec
  std::string line{};    // of the first case that it fails on; empty: none
  // Of the causes, from 1; alike bugs have the rank of the first. 0: not named.
  int64_t rank = 0;
  std::string first{};  // the first cause
  bool proved = false;  // "behaves like"
  double seconds = 0;   // CPU time beyond the verdict
};

// The kernel on the case.  Requires: it fails there.
NamedBug NameBugOn(const std::string& line, const std::string& kernel,
                   const MutantInfo& info, const NamingPlace& place,
                   double seconds);

// "attn.causal_strict: first is attn.window_zero; KERNEL on CASE".
std::string NamedText(const NamedBug& bug);

struct NamingOptions {
  std::vector<int64_t> sizes;      // of {128, 4096}; empty: both
  std::vector<std::string> only;   // bugs whose names begin so; empty: all
  int threads = 0;                 // 0: all
  double seconds = kCauseSeconds;  // of work a finding
  // Called with each bug when it is done, from any thread; may be empty.
  std::function<void(const NamedBug&)> told{};
};

// Of one place: bugs that fail there, and what was said of them.
struct NamingRow {
  NamingPlace place;
  std::string cases;  // "hq=4 sq=128 skv=128 d=64 and 13 more"
  int64_t bugs = 0;
  int64_t first = 0;
  int64_t among = 0;  // the causes that were stated, three at most
  int64_t proved = 0;
  int64_t wrongly = 0;  // proved, and another one
  double median = 0;    // CPU seconds beyond the verdict
  double longest = 0;
};

struct NamingResult {
  std::vector<NamedBug> bugs;
  std::vector<NamingRow> rows;
  // In every place nine of ten are named first, and nothing wrong is proved.
  bool Passed() const;
};
// Each bug in other arithmetic and tiles than bugs are replayed in, on the
// first of some cases of each size on which it fails.
NamingResult RunNaming(const NamingOptions& options);

// The table, as docs/power.md has it, and each bug that was not named first.
std::string NamingText(const NamingResult& result);
std::string NamingJson(const NamingResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_NAMING_ATTENTION_FORWARD_H_
