#include "verify/tables/intended_mask.h"

#include <cstddef>
#include <cstdint>

#include "reference/contract/attention_forward.h"
#include "reference/mask.h"

namespace lockstep::verify {

IntendedMask::IntendedMask(int64_t heads, int64_t q_len, int64_t kv_len)
    : q_len_(q_len), kv_len_(kv_len), bits_(static_cast<size_t>(heads)) {
  for (auto& bits : bits_) bits.resize(static_cast<size_t>(q_len * kv_len));
}

IntendedMask IntendedMask::Of(const AttentionForwardProblem& problem,
                              const AttentionForwardInputs& inputs,
                              int64_t batch, bool segments) {
  AttentionForwardProblem asked = problem;
  asked.segments = segments && problem.segments;
  IntendedMask mask(problem.q_heads, problem.q_len, problem.kv_len);
  for (int64_t h = 0; h < problem.q_heads; ++h) {
    for (int64_t i = 0; i < problem.q_len; ++i) {
      for (int64_t j = 0; j < problem.kv_len; ++j) {
        mask.Set(h, i, j, reference::IsVisible(asked, inputs, batch, h, i, j));
      }
    }
  }
  return mask;
}

}  // namespace lockstep::verify
