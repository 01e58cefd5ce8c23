// Attention problems that own their tensors, for tests of the kernels.
#ifndef LOCKSTEP_TESTS_SUPPORT_ATTENTION_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_ATTENTION_PROBLEM_H_

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "optimized/attention_forward.h"
#include "reference/contract/attention_forward.h"

namespace lockstep::test {

// Dense outputs, poisoned so that an unwritten element is seen.
struct Outputs {
  explicit Outputs(const AttentionForwardProblem& problem);
  AttentionForwardOutputs View();
  // The bits of o (lane-sized elements, widened) and of lse, for comparison.
  std::vector<uint32_t> Bits() const;

  AttentionForwardProblem problem;
  std::vector<uint32_t> o;  // storage for either lane
  std::vector<float> lse;
};

// A problem and its tensors. Change `problem` first, then call Fill; change
// single elements after.
struct Instance {
  AttentionForwardProblem problem;
  std::vector<float> q, k, v;  // values before rounding to the lane
  std::vector<float> sink;
  std::vector<int32_t> q_seg, kv_seg;
  std::vector<uint8_t> dense;
  std::vector<int64_t> valid_q, valid_kv;
  // With scales of the problem (N25).
  std::vector<float> k_scale, v_scale, q_scale;

  // Normal deviates times the spreads; sizes from `problem`.
  void Fill(std::mt19937& rng, float q_spread = 1.0f, float v_spread = 1.0f);
  // Views into this object. Tensors of 16 bits are made here: bf16 by
  // truncation, f16 by rounding. Tensors of 8 bits are made by NearestFp8.
  AttentionForwardInputs Inputs();

  std::vector<uint32_t> RunReference();
  // Requires: the plan can be made.
  std::vector<uint32_t> RunOptimized(
      const optimized::Caps& caps = {},
      optimized::AttentionForwardExecution* execution = nullptr);
  // What the optimized path says to a plan that may be another problem's.
  Status RunPlan(const optimized::Plan& plan);

 private:
  std::vector<uint16_t> q_narrow_, k_narrow_, v_narrow_;
  std::vector<uint8_t> q_bytes_, k_bytes_, v_bytes_;
};

// A mask term, and a term or a pair of terms under & or |.
MaskExpr RandomTerm(std::mt19937& rng);
MaskExpr RandomMask(std::mt19937& rng);

// Small, every feature of the contract by chance, special values now and then.
Instance RandomInstance(std::mt19937& rng);

// A dense tensor of the lane; one of 16 bits is made in `narrow`, bf16 by
// truncation, f16 by rounding.
LaneView ViewOf(Lane lane, const std::vector<float>& values,
                std::vector<uint16_t>& narrow,
                const std::array<int64_t, 4>& shape);

// The same as an f16 problem; weights are f16, or f32 where they were.
void MakeF16(Instance& instance);

// The fp8 byte whose value is nearest; NaN for NaN. Beyond the largest number
// it is that number; an infinity becomes e5m2's infinity.
uint8_t NearestFp8(Lane lane, float x);

// The same with keys and values in fp8 and scales of any layout. Some of the
// bytes are drawn from all 256.
void MakeFp8Keys(std::mt19937& rng, Instance& instance);
// And with q in fp8, too.  Requires: MakeFp8Keys.
void MakeFp8Queries(std::mt19937& rng, Instance& instance);

// Now and then makes one of the values NaN, infinite, huge or tiny.
void PlantSpecial(std::mt19937& rng, std::vector<float>& values);

// Uniform in [least, most].
int64_t Draw(std::mt19937& rng, int64_t least, int64_t most);

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_ATTENTION_PROBLEM_H_
