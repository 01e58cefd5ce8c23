// What went wrong in a run, once for each cause: annotations name causes, not
// cases.
#ifndef LOCKSTEP_VERIFY_REPORT_GATE_ROOT_CAUSES_H_
#define LOCKSTEP_VERIFY_REPORT_GATE_ROOT_CAUSES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "verify/judge/verdict.h"

namespace lockstep::verify {

// Cases of one candidate and op whose findings have one signature; the first of
// them stands for all. A wrong answer is one signature, whichever tier has
// found it.
struct RootCause {
  std::string candidate;
  std::string op;
  std::string signature;  // "TIER:CHECK"
  Verdict verdict = Verdict::kFail;
  CaseOrigin origin;
  std::string line;     // the case
  std::string cause;    // the known bug, in a sentence; empty: none is named
  std::string message;  // of its first finding that counts
  std::string replay;   // the command that shows it again; empty: none does
  std::optional<KnownMatch> known;
  int64_t cases = 0;
};

// What faults of one cause have in common. Whether bits, a probe or an envelope
// shows that `o` is wrong depends on the case, not on the bug.
std::string KindOfFault(const CaseResult& result);

class RootCauses {
 public:
  // Cases that passed are no cause.
  void Add(const CaseResult& result);
  // In the order first seen.
  const std::vector<RootCause>& all() const { return causes_; }

 private:
  // Candidate, op, kind of fault, and the entry that excuses it, or -1.
  using Key = std::tuple<std::string, std::string, std::string, int64_t>;
  std::map<Key, size_t> known_;
  std::vector<RootCause> causes_;
};

// Whether a run with this policy and these totals is red for it: not where it
// is excused, merely suspicious, or skipped as the policy takes it.
bool Fails(const RootCause& cause, const Totals& totals,
           const ExitPolicy& policy);

// The sentences about a cause: the known bug, on a line of its own, the
// message, how many more cases, why it is known.
std::string DescribeCause(const RootCause& cause);

// `file` as a path below `root`, where it lies there; else as it is.
std::string PathBelow(const std::string& root, const std::string& file);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_REPORT_GATE_ROOT_CAUSES_H_
