#include "reference/contract/ssd_scan.h"

#include <array>
#include <cstdint>
#include <limits>

#include "reference/contract/checks.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/numerics.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

// lambda = sigmoid(+infinity) = 1, in any lane.
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Bf16 kInfinityBf16 = {0x7f80};
constexpr F16 kInfinityF16 = {0x7c00};
constexpr float kZero = 0.0f;

// [b, t, g, n] -> [b, t, 1, g, n]
template <typename Void>
BasicLaneView<Void, 5> WithOneRank(const BasicLaneView<Void>& x) {
  const auto insert = [](const std::array<int64_t, 4>& s, int64_t value) {
    return std::array<int64_t, 5>{s[0], s[1], value, s[2], s[3]};
  };
  return {x.data, x.lane, insert(x.shape, 1), insert(x.strides, 0)};
}

template <size_t kRank>
TensorView<const float, kRank> Zeros(const std::array<int64_t, kRank>& shape) {
  return {&kZero, shape, {}};
}

}  // namespace

const void* InfinityOf(Lane lane) {
  if (lane == Lane::kBf16) return &kInfinityBf16;
  if (lane == Lane::kF16) return &kInfinityF16;
  if (lane == Lane::kAdded) {
    static const AddedElement infinity{added_lane.round(kInfinity)};
    return &infinity;
  }
  return &kInfinity;
}

SsdAsMamba3 AsMamba3(const SsdScanProblem& ssd, const SsdScanInputs& in,
                     const SsdScanOutputs& out) {
  SsdAsMamba3 scan;
  Mamba3ScanProblem& p = scan.problem;
  p.batch = ssd.batch;
  p.length = ssd.length;
  p.heads = ssd.heads;
  p.groups = ssd.groups;
  p.state_dim = ssd.state_dim;
  p.head_dim = ssd.head_dim;
  p.lane = ssd.lane;
  p.runs = ssd.runs;
  p.skip = ssd.skip;
  p.gate = ssd.gate;
  p.carry_in = ssd.carry_in;
  Mamba3ScanInputs& inputs = scan.inputs;
  inputs.q = WithOneRank(in.q);
  inputs.k = WithOneRank(in.k);
  inputs.v = in.v;
  inputs.a = in.a;
  inputs.dt = in.dt;
  inputs.tau = {InfinityOf(p.lane), p.lane, {p.batch, p.heads, p.length}, {}};
  inputs.d = in.d;
  inputs.z = in.z;
  if (in.carry.data != nullptr) {
    const int64_t runs = in.carry.shape[0];
    inputs.carry = {Zeros<3>({runs, p.heads, 0}), in.carry,
                    Zeros<4>({runs, 1, p.heads, p.state_dim}),
                    Zeros<3>({runs, p.heads, p.head_dim})};
  }
  inputs.segments = in.segments;
  inputs.cu_seqlens = in.cu_seqlens;
  scan.y = WithOneRank(out.y);
  return scan;
}

Status Validate(const SsdScanProblem& problem, const SsdScanInputs& in,
                const SsdScanOutputs& out) {
  const SsdAsMamba3 scan = AsMamba3(problem, in, out);
  Status status = Validate(scan.problem, scan.inputs, {scan.y, {}});
  if (!status.ok() || out.carry.data == nullptr) return status;
  const std::array<int64_t, 4> shape{CountRuns(scan.problem, scan.inputs),
                                     problem.heads, problem.head_dim,
                                     problem.state_dim};
  status = checks::CheckTensor("exported carry", out.carry, shape);
  if (!status.ok()) return status;
  return checks::CheckNoOverlap("exported carry", shape, out.carry.strides);
}

}  // namespace lockstep
