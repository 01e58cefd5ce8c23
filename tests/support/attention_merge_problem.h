// Problems of attention_merge with their tensors, for tests of both sides.
#ifndef LOCKSTEP_TESTS_SUPPORT_ATTENTION_MERGE_PROBLEM_H_
#define LOCKSTEP_TESTS_SUPPORT_ATTENTION_MERGE_PROBLEM_H_

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "reference/contract/attention_merge.h"

namespace lockstep::test {

// o and lse of one call, dense, with what was there before.
struct MergedTensors {
  explicit MergedTensors(const AttentionMergeProblem& p)
      : bytes(static_cast<size_t>(p.heads * p.rows * p.value_dim) *
              LaneBytes(p.out_lane)),
        lse(static_cast<size_t>(p.heads * p.rows), -7.0f) {
    const std::array<int64_t, 3> shape{p.heads, p.rows, p.value_dim};
    views.o = {bytes.data(), p.out_lane, shape, DenseStrides(shape)};
    views.lse = {lse.data(), {p.heads, p.rows}, {p.rows, 1}};
  }
  MergedTensors(const MergedTensors&) = delete;
  MergedTensors& operator=(const MergedTensors&) = delete;

  // Of all elements, in order: o, then lse.
  std::vector<uint8_t> Bits() const {
    std::vector<uint8_t> all = bytes;
    for (const float x : lse) {
      const auto word = std::bit_cast<std::array<uint8_t, 4>>(x);
      all.insert(all.end(), word.begin(), word.end());
    }
    return all;
  }
  float O(int64_t n) const {
    return static_cast<const float*>(views.o.data)[n];
  }

  std::vector<uint8_t> bytes;
  std::vector<float> lse;
  AttentionMergeOutputs views;
};

struct MergeInstance {
  AttentionMergeProblem problem;
  std::vector<float> o;    // [s, h, n, d]
  std::vector<float> lse;  // [s, h, n]

  // In the problem's lane; lse with its rows apart where `gap` says so.
  AttentionMergeInputs Inputs() {
    const AttentionMergeProblem& p = problem;
    const std::array<int64_t, 4> shape{p.parts, p.heads, p.rows, p.value_dim};
    AttentionMergeInputs inputs;
    inputs.lse = {
        lse.data(), {p.parts, p.heads, p.rows}, {p.heads * p.rows, p.rows, 1}};
    inputs.o = {o.data(), Lane::kF32, shape, DenseStrides(shape)};
    if (p.lane == Lane::kBf16) {
      narrow_.clear();
      for (const float x : o) {
        narrow_.push_back(
            {static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16)});
      }
      inputs.o.data = narrow_.data();
      inputs.o.lane = Lane::kBf16;
    }
    return inputs;
  }

 private:
  std::vector<Bf16> narrow_;
};

// Any lane, base and shape around the widths of vectors; lse near each other,
// far apart, far from 0, or anything; o now and then not finite.
inline MergeInstance RandomMerge(std::mt19937& rng) {
  const auto in = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  const auto pick = [&](auto... of) {
    const std::array all{of...};
    return all[static_cast<size_t>(in(0, std::ssize(all) - 1))];
  };
  MergeInstance t;
  AttentionMergeProblem& p = t.problem;
  p.parts = pick(1, 2, 3, 5, 8, 17, 33, 64);
  p.heads = in(1, 3);
  p.rows = pick(1, 2, 7, 19, 40);
  p.value_dim = in(1, 40);
  p.lane = pick(Lane::kF32, Lane::kBf16);
  p.out_lane = pick(Lane::kF32, Lane::kBf16);
  p.base = pick(LseBase::kE, LseBase::kTwo);
  const float spread = pick(0.0f, 1.0f, 30.0f, 500.0f);
  const float level = pick(0.0f, -1000.0f, 90.0f);
  const bool wild = in(0, 3) == 0;
  std::normal_distribution<float> normal;
  for (int64_t n = 0; n < p.parts * p.heads * p.rows; ++n) {
    float lse = level + spread * normal(rng);
    if (in(0, 5) == 0) lse = -INFINITY;
    if (wild && in(0, 9) == 0) {
      lse = pick(NAN, INFINITY, 3e38f, -3e38f, -0.0f, 1e-42f);
    }
    t.lse.push_back(lse);
    for (int64_t c = 0; c < p.value_dim; ++c) {
      float x = normal(rng);
      if (wild && in(0, 30) == 0) {
        x = pick(NAN, INFINITY, -INFINITY, 3e38f, -0.0f, 1e-42f);
      }
      t.o.push_back(x);
    }
  }
  return t;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_ATTENTION_MERGE_PROBLEM_H_
