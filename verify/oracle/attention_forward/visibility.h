// Which keys a query sees, as intervals. This is the third implementation of
// the mask language: set algebra on sorted runs of keys instead of a predicate
// per pair.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_VISIBILITY_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_VISIBILITY_H_

#include <cstdint>
#include <map>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/mask.h"

namespace lockstep::oracle {

// Keys begin <= j < end.
struct KeyInterval {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const KeyInterval&, const KeyInterval&) = default;
};

// Sorted, disjoint, none empty, none touching the next.
using KeySet = std::vector<KeyInterval>;

KeySet Intersect(const KeySet& a, const KeySet& b);
KeySet Unite(const KeySet& a, const KeySet& b);
int64_t CountKeys(const KeySet& keys);

// Keeps references to both arguments.
class Visibility {
 public:
  // Requires: Validate(problem, inputs, ...).ok().
  Visibility(const AttentionForwardProblem& problem,
             const AttentionForwardInputs& inputs);

  // The keys that query i of head h of batch row b sees.
  KeySet VisibleKeys(int64_t b, int64_t h, int64_t i) const;

 private:
  KeySet Evaluate(const MaskExpr& mask, int64_t b, int64_t h, int64_t i,
                  int64_t position) const;
  KeySet Range(int64_t begin, int64_t end) const;  // clipped to the keys

  const AttentionForwardProblem& problem_;
  const AttentionForwardInputs& inputs_;
  // Per batch row: longest stretches of equal ids, ascending, and per id all
  // of its stretches.
  std::vector<std::vector<KeyInterval>> runs_;
  std::vector<std::map<int32_t, KeySet>> keys_of_id_;
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_FORWARD_VISIBILITY_H_
