// The fp64 witness of attention_merge: the merge of one row by the textbook's
// formula, in natural logarithms. Derivation of what errors are made of:
// docs/envelopes.md, "Merges".
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_MERGE_TRUTH_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_MERGE_TRUTH_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_merge.h"

namespace lockstep::oracle {

enum class MergeKind : uint8_t {
  kOrdinary,
  kEmpty,  // no part saw a key
  kNaN,    // an lse is NaN, or +inf where that is no mark of an empty part
};

// A part that saw a key.
struct MergePart {
  int64_t s = 0;
  double lse = 0;       // natural
  double distance = 0;  // of the largest lse of the row, >= 0
  double share = 0;     // its part of the sum of weights
};

struct MergeTruth {
  MergeKind kind = MergeKind::kEmpty;
  std::vector<MergePart> parts;
  std::vector<int64_t> unread;  // the other parts
  double max = 0;               // largest lse, natural
  double log_sum = 0;           // ln of the sum of weights, >= 0
  double lse = 0;               // natural; -inf for an empty row
  std::vector<double> o;        // [value_dim]
};

// Row `row` of head `head`. `posinf_is_empty`: an lse of +inf marks a part that
// saw no key. Relative error of the numbers: below 2^-44 for 4096 parts.
MergeTruth ComputeMerge(const AttentionMergeProblem& problem,
                        const AttentionMergeInputs& inputs, int64_t head,
                        int64_t row, bool posinf_is_empty);

// Element [s, head, row, c] of the parts, widened.
double PartElement(const AttentionMergeInputs& inputs, int64_t s, int64_t head,
                   int64_t row, int64_t c);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_MERGE_TRUTH_H_
