#include "verify/identify/mamba3_scan/kernel.h"

#include <cmath>
#include <string>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/emulator/mamba3_scan/elements.h"
#include "verify/inputs/mamba3_scan.h"

namespace lockstep::verify {
namespace {

using T = ScanTensor;

void FillAll(const ScanQuestion& question, int64_t light, double sure,
             const Mamba3ScanData& data) {
  const int64_t ranks = question.phi ? 2 : 1;
  FillScan(data, T::kQ, question.q, light * ranks, 0);
  FillScan(data, T::kK, question.k, light * ranks, 0);
  FillScan(data, T::kV, question.v, light, 0);
  FillScan(data, T::kA, question.a, light, 0);
  FillScan(data, T::kDt, question.dt, light, 1);
  FillScan(data, T::kTau, question.tau, light, sure);
  FillScan(data, T::kRate, question.rate, light, 0);
  FillScan(data, T::kZ, question.z, light, 0);
  FillScan(data, T::kBq, {}, 0, 0);
  FillScan(data, T::kBk, question.bias, 0, 0);
  FillScan(data, T::kPsi, {}, 0, 1);
  FillScan(data, T::kZeta, {}, 0, 1);
  FillScan(data, T::kPhi, question.phi, 0, 1);
  FillScan(data, T::kCarryTheta, {}, 0, 0);
  FillScan(data, T::kCarryH, question.carry_h, 0, 0);
  FillScan(data, T::kCarryK, {}, 0, 0);
  FillScan(data, T::kCarryV, {}, 0, 0);
}

}  // namespace

Case ScanKernel::CaseOf(const ScanQuestion& question) const {
  Case c = EmptyCase(op_);
  auto& scan = c.Get<Mamba3ScanCase>();
  scan.problem.length = question.tokens + light_tokens;
  scan.problem.heads = question.heads;
  scan.problem.state_dim = kScanState;
  scan.problem.head_dim = kScanValues;
  if (mamba3()) scan.problem.angles = kScanAngles;
  scan.problem.lane = lane();
  scan.problem.gate = question.z != nullptr;
  scan.problem.bias = question.bias != nullptr;
  if (question.phi) {
    scan.problem.variant = Mamba3ScanProblem::Variant::kMimo;
    scan.problem.ranks = 2;
    scan.problem.reduce = true;
  }
  if (question.carry_h) scan.carry = "thkv";
  // A kernel that reads no tau has to be told that it may.
  if (mamba3() && std::isinf(sure) && !question.tau) {
    scan.tau = FillTerm{.kind = FillKind::kConst, .a = {sure}};
  }
  return c;
}

Result<ScanAnswer> ScanKernel::Ask(const ScanQuestion& question) {
  const Case c = CaseOf(question);
  ASSIGN_OR_RETURN(auto data, MaterialiseMamba3Scan(c, {}));
  FillAll(question, light_tokens, sure, data);
  const auto trial = scan_op_.open(c, std::move(data));
  ASSIGN_OR_RETURN(const OutputSet outputs, Call(c, *trial, profile));
  const Mamba3ScanOutputs out = trial->Views(outputs);
  ScanAnswer answer;
  for (int64_t h = 0; h < question.heads; ++h) {
    auto& y = answer.y.emplace_back();
    for (int64_t t = 0; t < question.tokens; ++t) {
      auto& row = y.emplace_back();
      for (int64_t p = 0; p < kScanValues; ++p) {
        row.push_back(Load(out.y, 0, light_tokens + t, 0, h, p));
      }
    }
    auto& of_head = answer.h.emplace_back();
    for (int64_t p = 0; p < kScanValues; ++p) {
      auto& row = of_head.emplace_back();
      for (int64_t n = 0; n < kScanState; ++n) {
        row.push_back(out.carry.h(0, h, p, n));
      }
    }
    if (!mamba3()) continue;
    auto& theta = answer.theta.emplace_back();
    for (int64_t s = 0; s < kScanAngles; ++s) {
      theta.push_back(out.carry.theta(0, h, s));
    }
    auto& k = answer.k.emplace_back();
    for (int64_t n = 0; n < kScanState; ++n) {
      k.push_back(out.carry.k(0, 0, h, n));
    }
  }
  return answer;
}

}  // namespace lockstep::verify
