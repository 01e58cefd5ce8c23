// What the selftest knows of an op: its known bugs and its correct kernels, as
// candidates. The rows of the program: SelftestRows().
#ifndef LOCKSTEP_VERIFY_SELFTEST_ROW_H_
#define LOCKSTEP_VERIFY_SELFTEST_ROW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/emulator/mutants.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// A kernel, and what it claims of its arithmetic.
struct Subject {
  std::unique_ptr<Candidate> kernel;
  NumericProfile profile;
};

// The kernel that a known bug is planted into.
enum class BugBase : uint8_t {
  kOwn,       // the one that the catalogue names
  kBounded,   // where that one claims exact bits: one that claims a profile
  kOrdinary,  // one as kernel authors run it, for ordinary cases
};

struct SelftestRow {
  const char* op;
  std::vector<const MutantInfo*> (*mutants)();
  // A bug in one of its bases, which is kOwn where the op has no other.
  Result<Subject> (*mutant)(const MutantInfo&, BugBase);
  // Names of correct kernels, and one of them.
  std::vector<std::string> (*zoo)();
  Result<Subject> (*correct)(const std::string& name);
  // A case for a correct kernel of this profile, small and of any shape.
  // `number`: of the case in the run. Errors: none.
  Result<Case> (*draw)(const NumericProfile& profile, uint64_t seed,
                       int64_t number);
  // The correct kernel that ordinary cases compare with; null: the op has no
  // ordinary cases.
  const char* ordinary = nullptr;
  // Its cases are so many times fewer in a run of several ops.
  int64_t fewer = 1;
};

// Now and then a case of the zoo is as long as people run.
inline constexpr int64_t kLongEvery = 487;
inline bool IsLong(int64_t number) {
  return number % kLongEvery == kLongEvery - 1;
}

// The known bugs that a rule picks.
template <typename Rule>
std::vector<const MutantInfo*> MutantsOf(const Rule& rule) {
  std::vector<const MutantInfo*> mutants;
  for (const MutantInfo& info : Mutants()) {
    if (std::invoke(rule, info)) mutants.push_back(&info);
  }
  return mutants;
}

template <typename Variant>
std::vector<std::string> NamesOfZoo(std::span<const Variant> zoo) {
  std::vector<std::string> names;
  for (const Variant& variant : zoo) names.push_back(variant.name());
  return names;
}

// Those of all ops that have one.
std::span<const SelftestRow* const> SelftestRows();

extern const SelftestRow kAttentionForwardSelftest;
extern const SelftestRow kAttentionBackwardSelftest;
extern const SelftestRow kAttentionMergeSelftest;
extern const SelftestRow kMamba3ScanSelftest;
extern const SelftestRow kMamba3ScanBackwardSelftest;
extern const SelftestRow kSsdScanSelftest;

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_SELFTEST_ROW_H_
