// Failures that a project knows of: a gate lets them be until a day that was
// agreed on, and no longer. Where they are written: docs/config.md.
#ifndef LOCKSTEP_VERIFY_RUN_KNOWN_FAILURE_H_
#define LOCKSTEP_VERIFY_RUN_KNOWN_FAILURE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/judge/verdict.h"

namespace lockstep::verify {

// Says which failures, not which case: lines of case files come and go, and
// drawn data shows the same fault on other lines.
struct KnownFailure {
  std::string op;  // "attention_forward"
  // Each "TIER:CHECK", as SignatureOf writes it: one fault may show as several.
  std::vector<std::string> signatures;
  std::string reason;
  std::string expires;   // "2026-12-31": the last day on which it holds, UTC
  bool expired = false;  // that day has passed
  int64_t line = 0;      // of the file that says so
};

// The entry that excuses the case: each of its findings that counts has the op
// and the signature of one that holds; the first finding's is named. Where only
// expired ones are missing for that, the first of these. Nothing for cases that
// passed or were skipped, and for faults of the judge itself.
std::optional<KnownMatch> MatchKnown(std::span<const KnownFailure> known,
                                     const CaseResult& result);

// How often each entry was needed.
class KnownUse {
 public:
  explicit KnownUse(size_t entries)
      : excused_(entries), expired_(entries), partly_(entries) {}

  // `known`: the entries.
  void Add(std::span<const KnownFailure> known, const CaseResult& result);
  // What to tell of an entry after a run that judged every case: that it
  // excused cases, that it no longer does, or that nothing needs it.
  std::string Say(const KnownFailure& known, size_t entry) const;
  bool Needless(size_t entry) const {
    return excused_[entry] == 0 && expired_[entry] == 0 &&
           partly_[entry].cases == 0;
  }

 private:
  std::vector<int64_t> excused_;  // cases
  std::vector<int64_t> expired_;  // cases that it would have excused
  // Cases with one of its signatures and another one, which no entry excuses.
  struct Partly {
    int64_t cases = 0;
    std::string other;  // of the first of them
  };
  std::vector<Partly> partly_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_KNOWN_FAILURE_H_
