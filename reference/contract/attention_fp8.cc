// N25: the lanes and the scales of q, k and v in fp8.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "reference/contract/attention_checks.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/checks.h"
#include "reference/contract/key_scales.h"
#include "reference/contract/lanes.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

using checks::Text;

constexpr double kMaxF32 = 0x1.fffffep+127;

bool IsFiniteF32(double x) {
  return std::isfinite(x) && std::fabs(x) <= kMaxF32;
}

// `lane`: the case key of the lane that the scales are of; `of`: what a block
// has.
Status CheckKeyScales(const char* key, const KeyScales& scales,
                      const char* lane, bool has_lane, const char* of) {
  if (scales.any() && !has_lane) {
    return Status::Error(std::string(key) + " without " + lane + "; want " +
                         lane + "=e4m3 or e5m2 beside it");
  }
  if (scales.layout != ScaleLayout::kBlock) return Status();
  if (scales.block >= 1 && scales.block <= kMaxScaleBlock) return Status();
  return Status::Error(std::string(key) + " has blocks of " +
                       Text(scales.block) + of + "; want 1.." +
                       Text(kMaxScaleBlock));
}

// Checks q's own lane (N25).
Status CheckQueryLane(const AttentionForwardProblem& p) {
  if (p.q_lane && !IsFp8(*p.q_lane)) {
    return Status::Error(std::string("qlane=") + LaneName(*p.q_lane) +
                         " is not a lane of fp8; want e4m3, e5m2 or none");
  }
  if (p.q_lane && !p.kv_lane) {
    return Status::Error(std::string("qlane=") + LaneName(*p.q_lane) +
                         " without kvlane; want kvlane=e4m3 or e5m2 beside it");
  }
  return CheckKeyScales("qscale", p.q_scales, "qlane", p.q_lane.has_value(),
                        " queries");
}

// Checks the scale of every key or query that exists (N25): in batch row b
// there are `there(b)`.
template <class There>
Status CheckScaleValues(const char* name, const KeyScales& scales,
                        const KeyScaleView& view, const There& there) {
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    const int64_t used =
        scales.by_key() ? (there(b) + scales.keys() - 1) / scales.keys() : 1;
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t n = 0; n < used; ++n) {
        const float x = view(b, h, n);
        if (kLeastKeyScale <= x && x <= kLargestKeyScale) continue;
        return Status::Error(std::string(name) + "[" + Text(b) + "," + Text(h) +
                             "," + Text(n) + "] is " + Text(x) +
                             "; want a number of 2^-60..2^60");
      }
    }
  }
  return Status();
}

// `shape`: of the tensor, with these scales.
template <class There>
Status CheckScaleTensor(const char* name, const KeyScales& scales,
                        const KeyScaleView& view,
                        const std::array<int64_t, 3>& shape,
                        const There& there) {
  if (!scales.any()) {
    return view.data == nullptr
               ? Status()
               : Status::Error(std::string(name) +
                               " is given, but the problem has no such scales");
  }
  const Status status = checks::CheckTensor(name, view, shape);
  return status.ok() ? CheckScaleValues(name, scales, view, there) : status;
}

// The scale of `head` that does not depend on keys, or queries; else 1.
double SharedScale(const KeyScales& scales, const KeyScaleView& view,
                   int64_t head) {
  if (scales.by_key()) return 1.0;
  return static_cast<double>(KeyScaleOf(scales, view, 0, head, 0));
}

// `scale` times the scales that all keys, and all queries, of a head share
// (N25).
Status CheckScaledScores(const AttentionForwardProblem& p,
                         const AttentionForwardInputs& in) {
  const bool k = p.k_scales.shared();
  const bool q = p.q_scales.shared();
  for (int64_t h = 0; (k || q) && h < p.q_heads; ++h) {
    const double of_keys = SharedScale(p.k_scales, in.k_scale, h / p.group());
    const double of_query = SharedScale(p.q_scales, in.q_scale, h);
    const double scale = p.scale * of_keys * of_query;
    if (IsFiniteF32(scale * kLog2E) &&
        (!p.softcap || IsFiniteF32(scale / *p.softcap))) {
      continue;
    }
    std::string what;
    if (k) {
      what = "k_scale " + Text(of_keys) + " of kv head " + Text(h / p.group());
    }
    if (k && q) what += " and ";
    if (q) what += "q_scale " + Text(of_query) + " of query head " + Text(h);
    return Status::Error(what + " with scale=" + Text(p.scale) +
                         " leaves f32's range; want a smaller one");
  }
  return Status();
}

}  // namespace

Status checks::CheckFp8Lanes(const AttentionForwardProblem& p) {
  if (IsFp8(p.lane) || IsFp8(p.p_lane)) {
    return Status::Error(std::string("lane=") + LaneName(p.lane) +
                         " p=" + LaneName(p.p_lane) +
                         ": fp8 is a lane of q, k and v alone; want f32, bf16 "
                         "or f16, and kvlane and qlane beside it");
  }
  if (p.kv_lane && !IsFp8(*p.kv_lane)) {
    return Status::Error(std::string("kvlane=") + LaneName(*p.kv_lane) +
                         " is not a lane of fp8; want e4m3, e5m2 or none");
  }
  if (p.kv_lane && p.order != ProductOrder::kChain) {
    return Status::Error(std::string("order=") + OrderName(p.order) +
                         " with kvlane=" + LaneName(*p.kv_lane) +
                         "; the orders are of bf16 alone, want order=chain");
  }
  const bool fp8 = p.kv_lane.has_value();
  Status status = CheckKeyScales("kscale", p.k_scales, "kvlane", fp8, " keys");
  if (status.ok()) {
    status = CheckKeyScales("vscale", p.v_scales, "kvlane", fp8, " keys");
  }
  return status.ok() ? CheckQueryLane(p) : status;
}

Status checks::CheckScales(const AttentionForwardProblem& p,
                           const AttentionForwardInputs& in) {
  const auto keys = [&](int64_t b) { return in.ValidKv(p, b); };
  const auto queries = [&](int64_t b) { return in.ValidQ(p, b); };
  const auto of_keys = [&](const KeyScales& scales) {
    return ScaleShape(scales, p.batch, p.kv_heads, p.kv_len);
  };
  Status status = CheckScaleTensor("k_scale", p.k_scales, in.k_scale,
                                   of_keys(p.k_scales), keys);
  if (status.ok()) {
    status = CheckScaleTensor("v_scale", p.v_scales, in.v_scale,
                              of_keys(p.v_scales), keys);
  }
  if (status.ok()) {
    status = CheckScaleTensor(
        "q_scale", p.q_scales, in.q_scale,
        ScaleShape(p.q_scales, p.batch, p.q_heads, p.q_len), queries);
  }
  return status.ok() ? CheckScaledScores(p, in) : status;
}

}  // namespace lockstep
