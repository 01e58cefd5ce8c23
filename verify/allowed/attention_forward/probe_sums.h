// Sums of a probe's values over any set of keys, in time that depends on the
// number of runs of the set and not on their lengths.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_SUMS_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/case/probe_kind.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {

// Some keys of one row.
struct ProbeTotal {
  int64_t count = 0;
  std::vector<int64_t> sum;      // of the values, [channel]
  std::vector<int64_t> abs_sum;  // of their magnitudes
};

// One kv head of one batch row: prefix sums over the keys of each label.
class ProbeSums {
 public:
  ProbeSums(ProbeKind kind, const AttentionForwardProblem& problem,
            uint64_t seed, int64_t b, int64_t kv_head);

  // The keys of `keys` with that label, or all of them for kNoLabel.
  ProbeTotal Over(const oracle::KeySet& keys, int64_t label) const;

 private:
  // The keys of one label, ascending, and sums over those before: [n][channel].
  struct Labelled {
    std::vector<int64_t> keys;
    // 2^19 keys of at most 2^10 each stay below 2^31.
    std::vector<int32_t> sum, abs_sum;
  };
  void Add(const Labelled& labelled, const oracle::KeyInterval& run,
           ProbeTotal* total) const;

  size_t channels_;
  std::vector<Labelled> labels_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_SUMS_H_
