// Problems that are all mask: trees, ids, counts and dense terms by chance, no
// numbers to compute with. Small, so that brute force over every pair is cheap.
#ifndef LOCKSTEP_TESTS_SUPPORT_MASK_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_MASK_PROBLEM_H_

#include <cstdint>
#include <random>
#include <vector>

#include "reference/contract/attention_forward.h"

namespace lockstep::test {

struct MaskProblem {
  AttentionForwardProblem problem;
  std::vector<int32_t> q_seg, kv_seg;
  std::vector<int64_t> valid_q, valid_kv;
  // One per dense index, [batch or 1, q_heads or 1, q_len, kv_len].
  struct Dense {
    bool per_row = false;
    bool per_head = false;
    // Of blocks of queries and keys; 0: one for each query, for each key.
    int64_t rows = 0, columns = 0;
    std::vector<uint8_t> bits;
  };
  std::vector<Dense> dense;

  // Views into this object; q, k and v are null.
  AttentionForwardInputs Inputs() const;
};

struct MaskLimits {
  int64_t max_len = 24;  // of queries and keys
  int64_t max_batch = 2;
  int64_t max_heads = 3;
};

// Trees up to three levels deep over every term; segment ids sorted, unsorted
// or of one-token runs; valid counts down to zero; every alignment.
MaskProblem RandomMaskProblem(std::mt19937& rng, const MaskLimits& limits = {});

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_MASK_PROBLEM_H_
