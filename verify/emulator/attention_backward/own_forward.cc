#include "verify/emulator/attention_backward/own_forward.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "reference/contract/numerics.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/variant.h"
#include "verify/emulator/numbers.h"

namespace lockstep::verify {
namespace {

// What the kernel does forward.
AttentionVariant ForwardOf(const GradVariant& variant) {
  AttentionVariant forward;
  forward.numeric = variant.numeric;
  forward.tile_q = variant.tile_q;
  forward.tile_kv = variant.tile_kv;
  // What is not handed back is there all the same.
  if (!HasLse(forward.numeric)) forward.numeric.lse = LseLane::kF32;
  if (variant.descending) forward.order = KeyOrder::kDescending;
  return forward;
}

// What a fault makes the forward pass believe.
AttentionForwardProblem Believed(const AttentionForwardProblem& problem,
                                 GradFault fault) {
  AttentionForwardProblem p = problem;
  if (fault == GradFault::kOwnUncapped) p.softcap.reset();
  if (fault == GradFault::kOwnUnmasked) p.masks = {MaskExpr{}};
  if (fault == GradFault::kOwnWithoutSink) p.sink = false;
  return p;
}

}  // namespace

OwnForwardPass::OwnForwardPass(const AttentionBackwardProblem& problem,
                               const AttentionBackwardInputs& inputs,
                               const GradVariant& variant, GradFault fault)
    : used_(inputs), o_(inputs.o), lse_(inputs.lse) {
  if (!HandsBackForward(variant.numeric)) return;
  Run(problem, variant, fault);
  Misuse(problem.forward, fault);
}

void OwnForwardPass::Run(const AttentionBackwardProblem& problem,
                         const GradVariant& variant, GradFault fault) {
  const AttentionForwardProblem p = Believed(problem.forward, fault);
  AttentionForwardInputs in = used_.forward;
  if (!p.sink) in.sink = {};
  const std::array<int64_t, 4> shape = {p.batch, p.q_heads, p.q_len,
                                        p.value_dim};
  const std::array<int64_t, 3> rows = {p.batch, p.q_heads, p.q_len};
  const auto count = static_cast<size_t>(p.batch * p.q_heads * p.q_len);
  own_o_.resize(count * static_cast<size_t>(p.value_dim) *
                static_cast<size_t>(LaneBytes(p.lane)));
  own_lse_.resize(count);
  const MutableLaneView o = {own_o_.data(), p.lane, shape, DenseStrides(shape)};
  const TensorView<float, 3> lse = {own_lse_.data(), rows, DenseStrides(rows)};
  AttentionEmulator(ForwardOf(variant)).Run(p, in, {o, lse});
  o_ = used_.o = {own_o_.data(), p.lane, shape, DenseStrides(shape)};
  lse_ = used_.lse = {own_lse_.data(), rows, DenseStrides(rows)};
}

void OwnForwardPass::Misuse(const AttentionForwardProblem& p, GradFault fault) {
  switch (fault) {
    case GradFault::kOwnLseInBase2:
      used_lse_ = own_lse_;
      for (float& x : used_lse_) x *= static_cast<float>(kLog2E);
      used_.lse.data = used_lse_.data();
      return;
    case GradFault::kOwnDeltaInBf16: {
      used_o_ = own_o_;
      for (size_t at = 0; p.lane == Lane::kF32 && at < used_o_.size();
           at += 4) {
        float x = 0;
        std::memcpy(&x, &used_o_[at], 4);
        x = RoundTo(x, NumberType::kBf16);
        std::memcpy(&used_o_[at], &x, 4);
      }
      used_.o.data = used_o_.data();
      return;
    }
    case GradFault::kOwnOtherHead: {
      used_o_ = own_o_;
      const auto head = static_cast<std::ptrdiff_t>(
          used_o_.size() / static_cast<size_t>(p.batch * p.q_heads));
      for (int64_t b = 0; b < p.batch; ++b) {
        const auto row = used_o_.begin() + b * p.q_heads * head;
        std::rotate(row, row + head, row + p.q_heads * head);
      }
      used_.o.data = used_o_.data();
      return;
    }
    default:
      return;
  }
}

void OwnForwardPass::HandBack(const AttentionForwardOutputs& own) const {
  for (int64_t b = 0; b < lse_.shape[0]; ++b) {
    for (int64_t h = 0; h < lse_.shape[1]; ++h) {
      for (int64_t i = 0; i < lse_.shape[2]; ++i) {
        if (own.lse.data != nullptr) own.lse(b, h, i) = lse_(b, h, i);
        for (int64_t c = 0; own.o.data != nullptr && c < o_.shape[3]; ++c) {
          WithAnyLane(o_.lane, [&](auto element) {
            using T = decltype(element);
            own.o.As<T>()(b, h, i, c) = o_.As<T>()(b, h, i, c);
          });
        }
      }
    }
  }
}

}  // namespace lockstep::verify
