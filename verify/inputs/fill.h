// The values of input tensors: fill families, counter-based. No libm, no state:
// an element is a function of (gen, seed, stream, element index).
#ifndef LOCKSTEP_VERIFY_INPUTS_FILL_H_
#define LOCKSTEP_VERIFY_INPUTS_FILL_H_

#include <cstdint>
#include <span>

#include "reference/contract/attention_forward.h"
#include "reference/contract/numerics.h"
#include "reference/contract/tensor_view.h"
#include "verify/base/random/counter_generator.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/case.h"

namespace lockstep::verify {

// Streams: one per tensor and family, so that no two uses share a draw.
inline constexpr uint32_t kStreamQ = 0;
inline constexpr uint32_t kStreamK = 1;
inline constexpr uint32_t kStreamV = 2;
inline constexpr uint32_t kStreamSink = 3;
inline constexpr uint32_t kStreamKScale = 24;
inline constexpr uint32_t kStreamVScale = 25;
inline constexpr uint32_t kStreamQScale = 26;
inline constexpr uint32_t kStreamLists = 26;
inline constexpr uint32_t kStreamListCounts = 27;
inline constexpr uint32_t kStreamDense = 1u << 16;  // + dense index

// What a tensor is filled with.
struct FillPlan {
  uint32_t stream = kStreamQ;
  uint8_t tensor = kFillQ;  // which fill terms apply
  std::span<const FillTerm> terms;
  float normal_scale = 1;  // of normal deviates; see QueryScale
  double score_scale = 1;  // what q.k is multiplied with, of drift and low
  // For a file term: its tensor's bytes, dense, and their lane.
  std::span<const uint8_t> file;
  Lane file_lane = Lane::kF32;
  // For a probe term.
  const AttentionForwardProblem* problem = nullptr;
};

// The f32 factor of q's normal deviates. It is 1, or makes normal:1 scores
// deviate by cap / 2, by S of a spread:S term, or by the cap where a caps term
// multiplies the rows.
float QueryScale(const AttentionForwardCase& c);

// Fills every element; poison terms are ignored. Elements of 16 bits are the
// f32 values rounded to nearest even (N2), and NaN payloads are cut. Elements
// of 8 bits saturate (RoundBitsToFp8).
void FillTensor(const CounterGenerator& generator, const FillPlan& plan,
                const MutableLaneView& view);

// Fills every scale of keys or of values, in the order of their tensor.
void FillScales(const CounterGenerator& generator, const ScaleSpec& spec,
                uint32_t stream, std::span<float> scales);

// A sink logit per head.
void FillSink(const CounterGenerator& generator, const FillTerm& term,
              std::span<float> sink);

// A dense mask [b, h, q, k] of kind kRandom or kBlocks.
void FillDense(const CounterGenerator& generator, const DenseSource& source,
               uint32_t index, const TensorView<uint8_t, 4>& view);

// NaN with payload, +inf or -inf in every channel of a row.
void PoisonRow(const CounterGenerator& generator, uint32_t stream,
               const MutableLaneView& view, const std::array<int64_t, 3>& row);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_FILL_H_
