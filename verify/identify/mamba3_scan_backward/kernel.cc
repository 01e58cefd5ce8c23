#include "verify/identify/mamba3_scan_backward/kernel.h"

#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/inputs/mamba3_scan_backward.h"
#include "verify/ops/mamba3_scan_backward/trial.h"

namespace lockstep::verify {
namespace {

constexpr OpRow kOp = {.text = kMamba3ScanBackwardText};

using T = ScanTensor;

bool HasCarry(const ScanGradQuestion& question) {
  return question.from_carry || question.carry_theta || question.carry_v ||
         question.carry_h;
}

void FillAll(const ScanGradQuestion& question, int64_t light, double sure,
             const Mamba3ScanData& data) {
  FillScan(data, T::kQ, question.q, light, 0);
  FillScan(data, T::kK, question.k, light, 0);
  FillScan(data, T::kV, question.v, light, 0);
  FillScan(data, T::kZ, question.z, light, 0);
  FillScan(data, T::kA, question.a, light, 0);
  FillScan(data, T::kDt, question.dt, light, 1);
  FillScan(data, T::kTau, question.tau, light, sure);
  FillScan(data, T::kRate, question.rate, light, 0);
  FillScan(data, T::kDy, question.dy, light, 0);
  FillScan(data, T::kCarryTheta, question.carry_theta, 0, 0);
  FillScan(data, T::kCarryH, question.carry_h, 0, 0);
  FillScan(data, T::kCarryK, {}, 0, 0);
  FillScan(data, T::kCarryV, question.carry_v, 0, 0);
  FillScan(data, T::kDTheta, question.dcarry_theta, 0, 0);
  FillScan(data, T::kDH, question.dcarry_h, 0, 0);
  FillScan(data, T::kDK, {}, 0, 0);
  FillScan(data, T::kDV, {}, 0, 0);
}

// Elements of n tokens behind the light ones.
template <typename At>
Rows Tokens(int64_t n, int64_t width, const At& at) {
  Rows rows;
  for (int64_t t = 0; t < n; ++t) {
    auto& row = rows.emplace_back();
    for (int64_t c = 0; c < width; ++c) row.push_back(at(t, c));
  }
  return rows;
}

// What has no axis of tokens.
template <typename At>
std::vector<float> Line(int64_t width, const At& at) {
  return Tokens(1, width, [&](int64_t, int64_t c) { return at(c); }).front();
}

ScanGradAnswer Read(const ScanGradQuestion& question, int64_t light,
                    const Mamba3ScanBackwardOutputs& out) {
  const int64_t n = question.tokens;
  ScanGradAnswer answer;
  for (int64_t g = 0; g < out.dq.shape[3]; ++g) {
    answer.dq.push_back(Tokens(n, kScanState, [&](int64_t t, int64_t c) {
      return Load(out.dq, 0, light + t, 0, g, c);
    }));
    answer.dk.push_back(Tokens(n, kScanState, [&](int64_t t, int64_t c) {
      return Load(out.dk, 0, light + t, 0, g, c);
    }));
  }
  for (int64_t h = 0; h < question.heads; ++h) {
    answer.dv.push_back(Tokens(n, kScanValues, [&](int64_t t, int64_t c) {
      return Load(out.dv, 0, light + t, h, c);
    }));
    answer.da.push_back(
        Line(n, [&](int64_t t) { return out.da(0, h, light + t); }));
    answer.ddt.push_back(
        Line(n, [&](int64_t t) { return out.ddt(0, h, light + t); }));
    if (!HasCarry(question)) continue;
    answer.dinit_theta.push_back(Line(
        kScanAngles, [&](int64_t s) { return out.dcarry.theta(0, h, s); }));
    answer.dinit_h.push_back(
        Tokens(kScanValues, kScanState,
               [&](int64_t p, int64_t c) { return out.dcarry.h(0, h, p, c); }));
    answer.dinit_k.push_back(
        Line(kScanState, [&](int64_t c) { return out.dcarry.k(0, 0, h, c); }));
  }
  return answer;
}

}  // namespace

Case ScanGradKernel::CaseOf(const ScanGradQuestion& question) const {
  Case c = EmptyCase(kOp);
  auto& scan = c.Get<Mamba3ScanBackwardCase>();
  scan.problem.length = question.tokens + light_tokens;
  scan.problem.heads = question.heads;
  scan.problem.groups = question.one_group ? 1 : question.heads;
  scan.problem.state_dim = kScanState;
  scan.problem.head_dim = kScanValues;
  scan.problem.angles = kScanAngles;
  scan.problem.lane = lane();
  scan.problem.gate = question.z != nullptr;
  scan.grad_lane = grads_;
  scan.dcarry = question.dcarry_theta || question.dcarry_h;
  if (HasCarry(question)) scan.carry = "thkv";
  return c;
}

Result<ScanGradAnswer> ScanGradKernel::Ask(const ScanGradQuestion& question) {
  const Case c = CaseOf(question);
  ASSIGN_OR_RETURN(auto data, MaterialiseMamba3ScanBackward(c, {}));
  FillAll(question, light_tokens, sure, data);
  const Mamba3ScanBackwardTrial trial(c, std::move(data));
  ASSIGN_OR_RETURN(const OutputSet outputs, Call(c, trial, profile));
  return Read(question, light_tokens, trial.Views(outputs));
}

}  // namespace lockstep::verify
