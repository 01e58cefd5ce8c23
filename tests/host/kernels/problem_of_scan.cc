// Calls of scans and of their gradients as problems.
#include "tests/host/kernels/problem_of_call.h"
#include "tests/host/kernels/views_of_call.h"

namespace lockstep::tests {
namespace {

constexpr Mamba3ScanProblem::Runs kRuns[] = {
    Mamba3ScanProblem::Runs::kRows, Mamba3ScanProblem::Runs::kSegments,
    Mamba3ScanProblem::Runs::kCuSeqlens};

template <typename T>
void SetCarry(const lockstep_tensor* const (&parts)[4], Mamba3Carry<T>* carry) {
  Set(parts[0], &carry->theta);
  Set(parts[1], &carry->h);
  Set(parts[2], &carry->k);
  Set(parts[3], &carry->v);
  if (parts[0] != nullptr || parts[1] == nullptr) return;
  // Without angles it has no element, and a shape all the same.
  carry->theta.shape = {carry->h.shape[0], carry->h.shape[1], 0};
}

// Fills all but the outputs.
void ReadScan(const lockstep_mamba3_scan_call& call, Mamba3ScanProblem* problem,
              Mamba3ScanInputs* inputs) {
  Mamba3ScanProblem& p = *problem;
  Mamba3ScanInputs& in = *inputs;
  p.batch = call.b;
  p.length = call.t;
  p.heads = call.h;
  p.groups = call.g;
  p.ranks = call.r;
  p.state_dim = call.n;
  p.head_dim = call.p;
  p.angles = call.s;
  p.variant = call.mimo != 0 ? Mamba3ScanProblem::Variant::kMimo
                             : Mamba3ScanProblem::Variant::kSiso;
  p.lane = LaneOf(call.lane);
  p.rotated_lane = LaneOf(call.rotated);
  p.runs = kRuns[call.runs - LOCKSTEP_RUNS_ROWS];
  p.bias = call.bias != 0;
  p.skip = call.skip != 0;
  p.gate = call.gate != 0;
  p.reduce = call.reduce != 0;
  if (call.norm_weight != nullptr) p.norm_epsilon = call.norm_epsilon;
  p.carry_in = call.carry_in != 0;
  Set(call.q, &in.q);
  Set(call.k, &in.k);
  Set(call.v, &in.v);
  Set(call.a, &in.a);
  Set(call.dt, &in.dt);
  Set(call.tau, &in.tau);
  Set(call.vartheta, &in.vartheta);
  Set(call.bq, &in.bq);
  Set(call.bk, &in.bk);
  Set(call.d, &in.d);
  Set(call.z, &in.z);
  Set(call.psi, &in.psi);
  Set(call.zeta, &in.zeta);
  Set(call.phi, &in.phi);
  Set(call.norm_weight, &in.norm_weight);
  Set(call.segments, &in.segments);
  if (call.cu_seqlens != nullptr) in.cu_seqlens = IntegersOf(*call.cu_seqlens);
  SetCarry({call.init_theta, call.init_h, call.init_k, call.init_v}, &in.carry);
}

}  // namespace

Status ProblemOf(const lockstep_mamba3_scan_call& call, ScanCall* to) {
  ReadScan(call, &to->problem, &to->inputs);
  Set(call.y, &to->outputs.y);
  SetCarry({call.carry_theta, call.carry_h, call.carry_k, call.carry_v},
           &to->outputs.carry);
  return Validate(to->problem, to->inputs, to->outputs);
}

Status ProblemOf(const lockstep_mamba3_scan_backward_call& call,
                 ScanBackwardCall* to) {
  ReadScan(*call.forward, &to->problem.forward, &to->inputs.forward);
  to->problem.grad_lane = LaneOf(call.grad);
  to->problem.carry_grad = call.carry_grad != 0;
  Set(call.dy, &to->inputs.dy);
  SetCarry({call.dcarry_theta, call.dcarry_h, call.dcarry_k, call.dcarry_v},
           &to->inputs.dcarry);
  Mamba3ScanBackwardOutputs& out = to->outputs;
  Set(call.dv, &out.dv);
  Set(call.dq, &out.dq);
  Set(call.dk, &out.dk);
  Set(call.dtau, &out.dtau);
  Set(call.dvartheta, &out.dvartheta);
  Set(call.dz, &out.dz);
  Set(call.da, &out.da);
  Set(call.ddt, &out.ddt);
  Set(call.dbq, &out.dbq);
  Set(call.dbk, &out.dbk);
  Set(call.dd, &out.dd);
  Set(call.dpsi, &out.dpsi);
  Set(call.dzeta, &out.dzeta);
  Set(call.dphi, &out.dphi);
  Set(call.dnorm_weight, &out.dnorm_weight);
  SetCarry({call.dinit_theta, call.dinit_h, call.dinit_k, call.dinit_v},
           &out.dcarry);
  return Validate(to->problem, to->inputs, out);
}

Status ProblemOf(const lockstep_ssd_scan_call& call, SsdCall* to) {
  SsdScanInputs& in = to->inputs;
  to->problem = {call.b,
                 call.t,
                 call.h,
                 call.g,
                 call.n,
                 call.p,
                 LaneOf(call.lane),
                 kRuns[call.runs - LOCKSTEP_RUNS_ROWS],
                 call.skip != 0,
                 call.gate != 0,
                 call.carry_in != 0};
  Set(call.q, &in.q);
  Set(call.k, &in.k);
  Set(call.v, &in.v);
  Set(call.a, &in.a);
  Set(call.dt, &in.dt);
  Set(call.d, &in.d);
  Set(call.z, &in.z);
  Set(call.init_h, &in.carry);
  Set(call.segments, &in.segments);
  if (call.cu_seqlens != nullptr) in.cu_seqlens = IntegersOf(*call.cu_seqlens);
  Set(call.y, &to->outputs.y);
  Set(call.carry_h, &to->outputs.carry);
  return Validate(to->problem, in, to->outputs);
}

}  // namespace lockstep::tests
