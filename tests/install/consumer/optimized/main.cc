// Softcap attention by both kernels of an installed Lockstep, bits compared.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/attention_forward.h"
#include "reference/contract/attention_forward.h"

namespace {

struct Output {
  std::vector<float> o, lse;
};

lockstep::LaneView In(const std::vector<float>& data,
                      std::array<int64_t, 4> shape) {
  return {data.data(), lockstep::Lane::kF32, shape,
          lockstep::DenseStrides(shape)};
}

lockstep::AttentionForwardOutputs Out(
    const lockstep::AttentionForwardProblem& p, Output& output) {
  const std::array<int64_t, 4> shape = {p.batch, p.q_heads, p.q_len,
                                        p.value_dim};
  const std::array<int64_t, 3> rows = {p.batch, p.q_heads, p.q_len};
  output.o.assign(static_cast<size_t>(p.q_heads * p.q_len * p.value_dim), 9);
  output.lse.assign(static_cast<size_t>(p.q_heads * p.q_len), 9);
  return {.o = {output.o.data(), lockstep::Lane::kF32, shape,
                lockstep::DenseStrides(shape)},
          .lse = {output.lse.data(), rows, lockstep::DenseStrides(rows)}};
}

std::vector<float> Ramp(int64_t count, int step) {
  std::vector<float> values(static_cast<size_t>(count));
  int state = 1;
  for (float& value : values) {
    state = (state * step) % 257;
    value = static_cast<float>(state - 128) / 64.0f;
  }
  return values;
}

bool Same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

int main() {
  lockstep::AttentionForwardProblem problem;
  problem.q_heads = 2;
  problem.q_len = 19;
  problem.kv_len = 37;
  problem.head_dim = 24;
  problem.value_dim = 24;
  problem.scale = 0.25;
  problem.softcap = 20.0;
  const std::vector<float> q = Ramp(2 * 19 * 24, 3);
  const std::vector<float> kv = Ramp(37 * 24, 5);
  lockstep::AttentionForwardInputs inputs;
  inputs.q = In(q, {1, 2, 19, 24});
  inputs.k = inputs.v = In(kv, {1, 1, 37, 24});

  Output expected, produced;
  const lockstep::AttentionForwardOutputs reference = Out(problem, expected);
  const lockstep::Status valid =
      lockstep::reference::AttentionForward(problem, inputs, reference);
  if (!valid.ok()) {
    std::printf("refused: %s\n", valid.message().c_str());
    return 1;
  }
  const auto plan = lockstep::optimized::MakePlan(problem, {});
  if (!plan.ok()) {
    // A CPU without a supported SIMD target has the reference alone.
    std::printf("bits equal: yes (no plan: %s)\n", plan.message().c_str());
    return 0;
  }
  const lockstep::Status done = lockstep::optimized::AttentionForward(
      problem, inputs, plan.value(), Out(problem, produced), nullptr);
  const bool equal = done.ok() && Same(expected.o, produced.o) &&
                     Same(expected.lse, produced.lse);
  std::printf("%s\nbits equal: %s\n", plan->ToString().c_str(),
              equal ? "yes" : "no");
  return equal ? 0 : 1;
}
