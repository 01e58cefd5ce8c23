// A small kernel of attention's gradients in f32, right unless a dial is
// turned.
#ifndef LOCKSTEP_TESTS_VERIFY_IDENTIFY_GRADIENTS_KERNEL_H_
#define LOCKSTEP_TESTS_VERIFY_IDENTIFY_GRADIENTS_KERNEL_H_

#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "reference/mask.h"
#include "verify/base/elements.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/attention_backward/trial.h"

namespace lockstep::verify {

// What can be wrong with it; as it stands nothing is.
struct GradDials {
  std::function<float(float)> exp = [](float x) { return std::exp(x); };
  std::function<float(float)> tanh = [](float x) { return std::tanh(x); };
  // Rounded so; empty: not. dp, dq, dk: of sums.
  std::function<float(float)> q, d_o, p, ds, ds_of_dq, delta, dp, dq, dk;
  double scale_dq = 1, scale_dk = 1;  // times the scale of the call
  double cap = 1;                     // likewise
  float lse = 1, lse_plus = 0;        // what is made of the given lse
  float delta_plus = 0;
  int64_t dropped = 0;  // queries at the end, of dk and dv
  // If set: with fewer keys than this number the scale is multiplied into dS,
  // and with more into k and q, as library products choose. Else after the
  // sums.
  std::optional<int64_t> scale_in_operands_from;
};

class DialledGradients final : public Candidate {
 public:
  explicit DialledGradients(GradDials dials)
      : Candidate({.backend = "dialled"}), dials_(std::move(dials)) {}
  std::string Spec(const Variation&) const override { return "dialled"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto& of = dynamic_cast<const AttentionBackwardTrial&>(trial);
    const auto& p = of.data().problem.forward;
    const AttentionBackwardOutputs views = of.Gradients(outputs);
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t kv = 0; kv < p.kv_heads; ++kv) {
        Sums(of.data(), views, b, kv);
      }
    }
    execution->backend = "dialled";
    execution->threads = 1;
    return {};
  }

 private:
  using Matrix = std::vector<std::vector<float>>;
  static float Get(const LaneView& view, const At& at) {
    if (view.lane == Lane::kF32) {
      return view.As<const float>()(at[0], at[1], at[2], at[3]);
    }
    const uint32_t bits =
        view.As<const Bf16>()(at[0], at[1], at[2], at[3]).bits;
    return std::bit_cast<float>(bits << 16);
  }
  static float Through(const std::function<float(float)>& change, float x) {
    return change ? change(x) : x;
  }
  static void Put(const MutableLaneView& view, int64_t b, int64_t h,
                  const Matrix& rows) {
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t c = 0; c < rows[i].size(); ++c) {
        SetElement(view,
                   {b, h, static_cast<int64_t>(i), static_cast<int64_t>(c)},
                   BitsOf(view.lane, double{rows[i][c]}));
      }
    }
  }
  static Matrix Zeros(int64_t n, int64_t c) {
    return Matrix(static_cast<size_t>(n),
                  std::vector<float>(static_cast<size_t>(c), 0.0f));
  }

  // D of a query.
  float Delta(const AttentionBackwardData& data, const At& at) const {
    const AttentionBackwardInputs& in = data.inputs;
    float delta = 0;
    for (int64_t c = 0; c < data.problem.forward.value_dim; ++c) {
      delta += Get(in.d_o, {at[0], at[1], at[2], c}) *
               Get(in.o, {at[0], at[1], at[2], c});
    }
    return Through(dials_.delta, delta) + dials_.delta_plus;
  }

  // P and dS of a pair.
  std::pair<float, float> Pair(const AttentionBackwardData& data, const At& at,
                               int64_t j, float delta) const {
    const AttentionForwardProblem& p = data.problem.forward;
    const AttentionBackwardInputs& in = data.inputs;
    const int64_t kv = at[1] / p.group();
    float dot = 0, dp = 0;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      dot += Through(dials_.q, Get(in.forward.q, {at[0], at[1], at[2], c})) *
             Get(in.forward.k, {at[0], kv, j, c});
    }
    for (int64_t c = 0; c < p.value_dim; ++c) {
      const float d_o =
          Through(dials_.d_o, Get(in.d_o, {at[0], at[1], at[2], c}));
      dp = Through(dials_.dp, dp + d_o * Get(in.forward.v, {at[0], kv, j, c}));
    }
    float s = dot * static_cast<float>(p.scale), slope = 1;
    if (p.softcap) {
      const auto cap = static_cast<float>(*p.softcap * dials_.cap);
      const float y = dials_.tanh(s / cap);
      s = cap * y;
      slope = 1 - y * y;
    }
    const float lse = in.lse(at[0], at[1], at[2]);
    const float w = dials_.exp(s - (lse * dials_.lse + dials_.lse_plus));
    return {w, w * (dp - delta) * slope};
  }

  void Sums(const AttentionBackwardData& data,
            const AttentionBackwardOutputs& outputs, int64_t b,
            int64_t kv) const {
    const AttentionForwardProblem& p = data.problem.forward;
    const AttentionForwardInputs& in = data.inputs.forward;
    Matrix dk = Zeros(p.kv_len, p.head_dim), dv = Zeros(p.kv_len, p.value_dim);
    for (int64_t h = kv * p.group(); h < (kv + 1) * p.group(); ++h) {
      Matrix dq = Zeros(p.q_len, p.head_dim);
      for (int64_t i = 0; i < p.q_len; ++i) {
        const float delta = Delta(data, {b, h, i, 0});
        for (int64_t j = 0; j < p.kv_len; ++j) {
          if (!reference::IsVisible(p, in, b, h, i, j)) continue;
          const auto [w, exact] = Pair(data, {b, h, i, 0}, j, delta);
          AddPair(data, {b, h, i, j}, w, exact, &dq, &dk, &dv);
        }
      }
      for (auto& row : dq) {
        if (dials_.scale_in_operands_from) break;
        for (float& x : row) {
          x *= static_cast<float>(p.scale * dials_.scale_dq);
        }
      }
      Put(outputs.dq, b, h, dq);
    }
    for (auto& row : dk) {
      if (dials_.scale_in_operands_from) break;
      for (float& x : row) x *= static_cast<float>(p.scale * dials_.scale_dk);
    }
    Put(outputs.dk, b, kv, dk);
    Put(outputs.dv, b, kv, dv);
  }

  void AddPair(const AttentionBackwardData& data, const At& at, float w,
               float exact, Matrix* dq, Matrix* dk, Matrix* dv) const {
    const AttentionForwardProblem& p = data.problem.forward;
    const int64_t b = at[0], h = at[1], i = at[2], j = at[3];
    const int64_t kv = h / p.group();
    // The scale in dS, and in an operand.
    const auto from = dials_.scale_in_operands_from;
    const auto scale = static_cast<float>(p.scale);
    const float in_ds = from && p.kv_len < *from ? scale : 1;
    const float in_operand = from && p.kv_len >= *from ? scale : 1;
    exact *= in_ds;
    const float ds = Through(dials_.ds, exact);
    const float of_dq = dials_.ds_of_dq ? dials_.ds_of_dq(exact) : ds;
    const bool lost = i >= p.q_len - dials_.dropped;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      const auto at_c = static_cast<size_t>(c);
      float& q = (*dq)[static_cast<size_t>(i)][at_c];
      q = Through(
          dials_.dq,
          q + of_dq * (in_operand * Get(data.inputs.forward.k, {b, kv, j, c})));
      float& k = (*dk)[static_cast<size_t>(j)][at_c];
      if (lost) continue;
      const float x = Get(data.inputs.forward.q, {b, h, i, c});
      k = Through(dials_.dk, k + ds * (in_operand * Through(dials_.q, x)));
    }
    for (int64_t c = 0; c < p.value_dim && !lost; ++c) {
      const float d_o = Through(dials_.d_o, Get(data.inputs.d_o, {b, h, i, c}));
      (*dv)[static_cast<size_t>(j)][static_cast<size_t>(c)] +=
          Through(dials_.p, w) * d_o;
    }
  }

  GradDials dials_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_IDENTIFY_GRADIENTS_KERNEL_H_
