#include "tests/support/attention_backward_problem.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/attention_backward.h"
#include "reference/attention_forward.h"
#include "reference/contract/attention_backward.h"

namespace lockstep::test {
namespace {

constexpr uint32_t kPoison = 0x7fb5a5a5u;  // a NaN nobody computes

using Shape = std::array<int64_t, 4>;

size_t Size(const Shape& shape) {
  return static_cast<size_t>(shape[0] * shape[1] * shape[2] * shape[3]);
}

Shape OShape(const AttentionForwardProblem& p) {
  return {p.batch, p.q_heads, p.q_len, p.value_dim};
}
Shape DqShape(const AttentionForwardProblem& p) {
  return {p.batch, p.q_heads, p.q_len, p.head_dim};
}
Shape DkShape(const AttentionForwardProblem& p) {
  return {p.batch, p.kv_heads, p.kv_len, p.head_dim};
}
Shape DvShape(const AttentionForwardProblem& p) {
  return {p.batch, p.kv_heads, p.kv_len, p.value_dim};
}

std::vector<float> Normal(std::mt19937& rng, size_t count, float scale) {
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> values(count);
  for (float& x : values) x = normal(rng);
  return values;
}

}  // namespace

Gradients::Gradients(const AttentionBackwardProblem& p)
    : problem(p),
      dq(Size(DqShape(p.forward)), kPoison),
      dk(Size(DkShape(p.forward)), kPoison),
      dv(Size(DvShape(p.forward)), kPoison),
      dsink(p.forward.sink ? static_cast<size_t>(p.forward.q_heads) : 0,
            std::bit_cast<float>(kPoison)) {}

AttentionBackwardOutputs Gradients::View() {
  const AttentionForwardProblem& p = problem.forward;
  const auto view = [&](std::vector<uint32_t>& data, const Shape& shape) {
    return MutableLaneView{data.data(), problem.grad_lane, shape,
                           DenseStrides(shape)};
  };
  AttentionBackwardOutputs out{
      view(dq, DqShape(p)), view(dk, DkShape(p)), view(dv, DvShape(p)), {}};
  if (p.sink) out.dsink = {dsink.data(), {p.q_heads}, {1}};
  return out;
}

std::vector<uint32_t> Gradients::Bits() const {
  std::vector<uint32_t> bits;
  for (const auto* x : {&dq, &dk, &dv}) {
    const auto* halves = reinterpret_cast<const uint16_t*>(x->data());
    for (size_t i = 0; i < x->size(); ++i) {
      bits.push_back(problem.grad_lane == Lane::kF32 ? (*x)[i] : halves[i]);
    }
  }
  for (const float x : dsink) bits.push_back(std::bit_cast<uint32_t>(x));
  return bits;
}

void BackwardInstance::Fill(std::mt19937& rng, float d_o_scale) {
  const AttentionForwardProblem& p = forward.problem;
  Outputs outputs(p);
  const AttentionForwardInputs in = forward.Inputs();
  const Status status = reference::AttentionForward(p, in, outputs.View());
  EXPECT_TRUE(status.ok()) << status.message();
  const std::vector<uint32_t> bits = outputs.Bits();
  o.clear();
  for (size_t i = 0; i < Size(OShape(p)); ++i) {
    const auto half = static_cast<uint16_t>(bits[i]);
    o.push_back(p.lane == Lane::kF32    ? std::bit_cast<float>(bits[i])
                : p.lane == Lane::kBf16 ? ToFloat(Bf16{half})
                                        : ToFloat(F16{half}));
  }
  lse = outputs.lse;
  d_o = Normal(rng, o.size(), d_o_scale);
  dlse = Normal(rng, lse.size(), 1.0f);
}

AttentionBackwardProblem BackwardInstance::Problem() const {
  return {forward.problem, grad_lane, has_dlse};
}

AttentionBackwardInputs BackwardInstance::Inputs() {
  const AttentionForwardProblem& p = forward.problem;
  const std::array<int64_t, 3> rows{p.batch, p.q_heads, p.q_len};
  AttentionBackwardInputs in;
  in.forward = forward.Inputs();
  in.o = ViewOf(p.lane, o, o_bf16_, OShape(p));
  in.d_o = ViewOf(p.lane, d_o, d_o_bf16_, OShape(p));
  in.lse = {lse.data(), rows, DenseStrides(rows)};
  if (has_dlse) in.dlse = {dlse.data(), rows, DenseStrides(rows)};
  return in;
}

Gradients BackwardInstance::RunReference() {
  Gradients gradients(Problem());
  const AttentionBackwardInputs in = Inputs();
  const Status status =
      reference::AttentionBackward(Problem(), in, gradients.View());
  EXPECT_TRUE(status.ok()) << status.message();
  return gradients;
}

Gradients BackwardInstance::RunOptimized(
    const optimized::Caps& caps,
    optimized::AttentionBackwardExecution* execution) {
  Gradients gradients(Problem());
  const Result<optimized::Plan> plan = optimized::MakePlan(Problem(), caps);
  EXPECT_TRUE(plan.ok()) << plan.message();
  const AttentionBackwardInputs in = Inputs();
  const Status status = optimized::AttentionBackward(
      Problem(), in, plan.value(), gradients.View(), execution);
  EXPECT_TRUE(status.ok()) << status.message();
  return gradients;
}

BackwardInstance RandomBackward(std::mt19937& rng, bool special) {
  BackwardInstance t;
  t.forward = RandomInstance(rng);
  AttentionForwardProblem& p = t.forward.problem;
  p.order = ProductOrder::kChain;
  t.has_dlse = Draw(rng, 0, 2) == 0;
  if (Draw(rng, 0, 1)) t.grad_lane = p.lane;
  if (!special) {
    constexpr float kSpreads[] = {0.1f, 1.0f, 4.0f};
    t.forward.Fill(rng, kSpreads[Draw(rng, 0, 2)]);
  }
  t.Fill(rng, special && Draw(rng, 0, 9) == 0 ? 1e37f : 1.0f);
  if (!special) return t;
  for (auto* values : {&t.d_o, &t.dlse, &t.o}) PlantSpecial(rng, *values);
  PlantSpecial(rng, t.lse);
  return t;
}

}  // namespace lockstep::test
