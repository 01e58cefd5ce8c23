#include "reference/contract/mamba3_scan_backward.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/contract/checks.h"
#include "reference/contract/mamba3_checks.h"
#include "reference/contract/mamba3_scan.h"
#include "reference/contract/status.h"
#include "reference/contract/tensor_view.h"

namespace lockstep {
namespace {

using checks::AngleShape;
using checks::CheckCarry;
using checks::CheckLaneTensor;
using checks::CheckNoOverlap;
using checks::CheckOptional;
using checks::FirstError;
using checks::QShape;
using checks::Shape;
using checks::TimeShape;
using checks::VShape;
using Problem = Mamba3ScanBackwardProblem;
using Inputs = Mamba3ScanBackwardInputs;
using Outputs = Mamba3ScanBackwardOutputs;

// A gradient is there if its input is.
template <typename View, size_t kRank>
Status CheckGradient(const char* name, const View& view, bool wanted,
                     const Shape<kRank>& shape, const char* reason) {
  const Status status = CheckOptional(name, view, wanted, shape, reason);
  if (!status.ok() || !wanted) return status;
  return CheckNoOverlap(name, shape, view.strides);
}

// The same, of the problem's lane of gradients.
template <typename View, size_t kRank>
Status CheckLaneGradient(const char* name, const View& view, Lane lane,
                         const Shape<kRank>& shape) {
  const Status status = CheckLaneTensor(name, view, shape, lane);
  return status.ok() ? CheckNoOverlap(name, shape, view.strides) : status;
}

Status CheckTokenGradients(const Problem& problem, const Outputs& out) {
  const Mamba3ScanProblem& p = problem.forward;
  const Lane lane = problem.grad_lane;
  Status status = FirstError({
      CheckLaneGradient("dq", out.dq, lane, QShape(p)),
      CheckLaneGradient("dk", out.dk, lane, QShape(p)),
      CheckLaneGradient("dv", out.dv, lane, VShape(p)),
      CheckGradient("da", out.da, true, TimeShape(p), ""),
      CheckGradient("ddt", out.ddt, true, TimeShape(p), ""),
      CheckLaneGradient("dtau", out.dtau, lane, TimeShape(p)),
      CheckGradient("dvartheta", out.dvartheta, p.angles > 0, AngleShape(p),
                    "angles (s=0)"),
      CheckGradient("dz", out.dz, p.gate, VShape(p), "gate"),
  });
  if (status.ok() && p.angles > 0) {
    status = CheckLaneTensor("dvartheta", out.dvartheta, AngleShape(p), lane);
  }
  if (status.ok() && p.gate) {
    status = CheckLaneTensor("dz", out.dz, VShape(p), lane);
  }
  return status;
}

Status CheckHeadGradients(const Mamba3ScanProblem& p, const Outputs& out) {
  const Shape<3> state{p.heads, p.ranks, p.state_dim};
  const Shape<3> ranks{p.heads, p.ranks, p.head_dim};
  return FirstError({
      CheckGradient("dbq", out.dbq, p.bias, state, "bias"),
      CheckGradient("dbk", out.dbk, p.bias, state, "bias"),
      CheckGradient("dd", out.dd, p.skip, Shape<1>{p.heads}, "skip"),
      CheckGradient("dpsi", out.dpsi, p.mimo(), ranks, "mimo"),
      CheckGradient("dzeta", out.dzeta, p.mimo() && p.gate, ranks,
                    "mimo and gate"),
      CheckGradient("dphi", out.dphi, p.reduce, ranks, "reduce"),
      CheckGradient("dnorm_weight", out.dnorm_weight,
                    p.norm_epsilon.has_value(), Shape<2>{p.heads, p.head_dim},
                    "norm epsilon"),
  });
}

Status CheckCarries(const Problem& problem, const Inputs& in,
                    const Outputs& out) {
  const Mamba3ScanProblem& p = problem.forward;
  const int64_t runs = CountRuns(p, in.forward);
  const Status status = FirstError({
      CheckCarry("cotangent of the carry", p, runs, in.dcarry),
      CheckCarry("gradient of the carry", p, runs, out.dcarry),
      checks::CheckCarryOverlap("gradient of the carry", out.dcarry),
  });
  if (!status.ok()) return status;
  if (in.dcarry.given() != problem.carry_grad) {
    return Status::Error(problem.carry_grad
                             ? "cotangent of the carry is missing"
                             : "cotangent of the carry given without "
                               "carry_grad");
  }
  if (out.dcarry.given() == p.carry_in) return Status();
  return Status::Error(p.carry_in ? "gradient of the carry is missing"
                                  : "gradient of the carry given without "
                                    "carry_in");
}

}  // namespace

Status Validate(const Problem& p) {
  const Status status = Validate(p.forward);
  if (!status.ok()) return status;
  if (p.grad_lane == Lane::kF32 || p.grad_lane == p.forward.lane) {
    return Status();
  }
  return Status::Error(std::string("grad=") + LaneName(p.grad_lane) +
                       " with lane=" + LaneName(p.forward.lane) +
                       "; want grad=f32, or the lane");
}

Status Validate(const Problem& p, const Inputs& in, const Outputs& out) {
  Status status = Validate(p);
  if (status.ok()) status = checks::CheckScanInputs(p.forward, in.forward);
  if (status.ok()) {
    status =
        CheckLaneTensor("dy", in.dy, checks::YShape(p.forward), p.forward.lane);
  }
  if (!status.ok()) return status;
  return FirstError({CheckTokenGradients(p, out),
                     CheckHeadGradients(p.forward, out),
                     CheckCarries(p, in, out)});
}

}  // namespace lockstep
