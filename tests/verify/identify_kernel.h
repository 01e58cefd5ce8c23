// A small attention kernel in f32, right unless a dial is turned: bugs that an
// author has not yet met in the catalogue.
#ifndef LOCKSTEP_TESTS_VERIFY_IDENTIFY_KERNEL_H_
#define LOCKSTEP_TESTS_VERIFY_IDENTIFY_KERNEL_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "reference/mask.h"
#include "verify/base/elements.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/attention_forward/trial.h"

namespace lockstep::verify {

// What can be wrong with it; as it stands nothing is.
struct KernelDials {
  std::function<float(float)> exp = [](float x) { return std::exp(x); };
  std::function<float(float)> tanh = [](float x) { return std::tanh(x); };
  // What the scale of the call becomes, by it and the channels.
  std::function<double(double, int64_t)> scale = [](double s, int64_t) {
    return s;
  };
  double cap = 1;                          // times the cap of the call
  std::function<float(float)> q, v, p, o;  // rounded so; empty: not
  std::function<float(float)> sum;         // of the sums over keys, likewise
  float lse = 1, lse_plus = 0;             // times lse, and added to it
  int64_t dropped = 0;                     // keys at the end
  bool first_twice = false;
  float many = 1;  // times the weights of a row of more than 16 keys
  int64_t flushes_from = INT64_MAX;  // keys from which subnormal v are 0
};

class DialledKernel final : public Candidate {
 public:
  explicit DialledKernel(KernelDials dials)
      : Candidate({.backend = "dialled"}), dials_(std::move(dials)) {}
  std::string Spec(const Variation&) const override { return "dialled"; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto& data = dynamic_cast<const AttentionForwardTrial&>(trial).data();
    const AttentionForwardOutputs views = AttentionViews(outputs);
    const AttentionForwardProblem& p = data.problem;
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t h = 0; h < p.q_heads; ++h) {
        for (int64_t i = 0; i < p.q_len; ++i) Row(data, views, {b, h, i, 0});
      }
    }
    execution->backend = "dialled";
    execution->threads = 1;
    return {};
  }

 private:
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

  float Score(const AttentionForwardData& data, const At& at,
              int64_t key) const {
    const AttentionForwardProblem& p = data.problem;
    const int64_t kv = at[1] / p.group();
    float dot = 0;
    for (int64_t c = 0; c < p.head_dim; ++c) {
      const float q = Get(data.inputs.q, {at[0], at[1], at[2], c});
      dot += Through(dials_.q, q) * Get(data.inputs.k, {at[0], kv, key, c});
    }
    float s = dot * static_cast<float>(dials_.scale(p.scale, p.head_dim));
    if (p.softcap) {
      const auto cap = static_cast<float>(*p.softcap * dials_.cap);
      s = cap * dials_.tanh(s / cap);
    }
    return s;
  }

  void Row(const AttentionForwardData& data,
           const AttentionForwardOutputs& outputs, const At& at) const {
    const AttentionForwardProblem& p = data.problem;
    std::vector<int64_t> keys;
    std::vector<float> scores;
    for (int64_t j = 0; j < p.kv_len - dials_.dropped; ++j) {
      if (!reference::IsVisible(p, data.inputs, at[0], at[1], at[2], j)) {
        continue;
      }
      for (int n = dials_.first_twice && j == 0 ? 2 : 1; n > 0; --n) {
        keys.push_back(j);
        scores.push_back(Score(data, at, j));
      }
    }
    float top = -HUGE_VALF;
    for (const float s : scores) top = std::max(top, s);
    for (const float s : scores) top = s != s ? s : top;
    float l = 0;
    std::vector<float> weights;
    for (const float s : scores) {
      const float many = keys.size() > 16 ? dials_.many : 1;
      const float w = dials_.exp(s - top) * many;
      l += w;
      weights.push_back(Through(dials_.p, w));
    }
    const int64_t kv = at[1] / p.group();
    for (int64_t c = 0; c < p.value_dim; ++c) {
      float sum = 0;
      for (size_t n = 0; n < keys.size(); ++n) {
        float v = Get(data.inputs.v, {at[0], kv, keys[n], c});
        const bool small = std::fabs(v) < 0x1p-126f;
        if (small && p.kv_len >= dials_.flushes_from) v = 0;
        sum = Through(dials_.sum, sum + weights[n] * Through(dials_.v, v));
      }
      const float o = keys.empty() ? 0 : Through(dials_.o, sum / l);
      SetElement(outputs.o, {at[0], at[1], at[2], c},
                 BitsOf(p.lane, double{o}));
    }
    outputs.lse(at[0], at[1], at[2]) =
        keys.empty() ? -HUGE_VALF
                     : (top + std::log(l)) * dials_.lse + dials_.lse_plus;
  }

  KernelDials dials_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_IDENTIFY_KERNEL_H_
