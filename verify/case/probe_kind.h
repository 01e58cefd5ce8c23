// The exact probes by name; what they hold and prove: probes.h.
#ifndef LOCKSTEP_VERIFY_CASE_PROBE_KIND_H_
#define LOCKSTEP_VERIFY_CASE_PROBE_KIND_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "reference/contract/status.h"

namespace lockstep::verify {

enum class ProbeKind : uint8_t {
  kCancel,      // q = 0; v are differences of small integers: any run of keys
                // sums to less than 16, and one key more or less shows
  kPrefix,      // q = 0; v alternate +M, -M: a run of keys sums to -M, 0 or M
  kSelect,      // one random key is high: rows that see it answer its value
  kAim,         // the last key is high: where it is masked nobody may notice
  kReset,       // the second half of the keys is high, the first holds big
                // values: every accumulator must be rescaled
  kShift,       // all keys are equally high: only the maximum keeps exp finite
  kHeadTag,     // q = 0; v is a code of batch row and kv head
  kSink,        // q = 0; every head's sink is another part of the row's sum
  kComb,        // a row averages the keys of one residue class, modulo a prime
  kThirds,      // the same modulo 3: every row holds a third of its keys
  kThirdsNext,  // the next third, where a kv head has one row only
  kHoles,  // every channel takes part in a tie that any lost channel breaks
  kDeep,   // all scores equal and far below every finite sentinel
  // Of scans (scan_probes.h):
  kIntegrate,  // decay 1: nothing is ever forgotten
  kForget,     // decay 1, or next to 0 at drawn tokens
  kHalves,     // decays 1, 1/2, 1/4, impulses apart
  kTurns,      // angles besides
  kTriples,    // decay 1, another k for every three tokens
  kSpin,       // angles that turn one way for ever, by many turns, or once
  // Of gradients (verify/inputs/attention_backward/probe.h):
  kGradKeys,           // k = 0, every weight 1: dk and dv count queries
  kGradQueries,        // q = 0, every weight 1: dq counts keys
  kGradKeysPowers,     // grad-keys where every dS is +-1 or +-2
  kGradQueriesPowers,  // grad-queries, the same
  kGradOwnKeys,        // k = 0, equal weights: dk and dv sum few terms
  kGradOwnQueries,     // q = 0, equal weights: dq sums few terms
  // Of merges (verify/inputs/attention_merge.h):
  kMergeSelect,  // two parts of a row outweigh all others
  kMergeCount,   // equal weights: o counts parts
  kMergeShift,   // the same, with an lse far above what exp takes
};

struct ProbeInfo {
  ProbeKind kind;
  const char* name;  // of fill=probe:NAME
  const char* description;
};
// In the order of ProbeKind.
std::span<const ProbeInfo> Probes();
const char* ProbeName(ProbeKind kind);
// Errors: an unknown name; the message lists the known ones.
Result<ProbeKind> FindProbe(std::string_view name);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_PROBE_KIND_H_
