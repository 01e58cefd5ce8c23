// What the forward and the backward pass of attention share: rows of tensors,
// the score of a pair. One spelling of N3 and N7.
#ifndef LOCKSTEP_REFERENCE_ATTENTION_ROW_H_
#define LOCKSTEP_REFERENCE_ATTENTION_ROW_H_

#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::reference {

// The last axis of a tensor at (b, h, position), widened to f32.
std::vector<float> LoadRow(const LaneView& x, int64_t b, int64_t h,
                           int64_t position);
// The same into memory that a row before it had.
void LoadRow(const LaneView& x, int64_t b, int64_t h, int64_t position,
             std::vector<float>& row);

// N3: one chain over the channels, ascending.
float Dot(const std::vector<float>& a, const std::vector<float>& b);
// One step of every channel's chain: sums[c] += x * y[c].
void AddTimes(float x, const std::vector<float>& y, std::vector<float>& sums);

// N7. Constants are rounded to f32 once.
struct Score {
  float u = 0.0f;  // in units of log2
  float y = 0.0f;  // tanh of the softcap; 0 without one
};
// `key_scale` is the scale that all keys of the head share, and `query_scale`
// that of all its queries (N25).
Score ScoreOf(const AttentionForwardProblem& problem, float dot,
              float key_scale = 1.0f, float query_scale = 1.0f);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_ROW_H_
