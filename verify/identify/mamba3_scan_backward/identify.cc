#include "verify/identify/mamba3_scan_backward/identify.h"

#include <string>
#include <utility>
#include <vector>

#include "verify/base/status_macros.h"
#include "verify/identify/mamba3_scan_backward/kernel.h"

namespace lockstep::verify {

void ReportLoneF16(ScanGradKernel* kernel) {
  const ScanNumeric& scan = kernel->scan();
  const auto is_f16 = [](NumberType type) { return type == NumberType::kF16; };
  if (kernel->lane() != Lane::kF16 || is_f16(scan.state) ||
      is_f16(scan.query) || is_f16(scan.decayed)) {
    return;
  }
  constexpr std::pair<const char*, NumberType ScanNumeric::*> kLone[] = {
      {"scan.grad_do", &ScanNumeric::grad_do},
      {"scan.grad_state", &ScanNumeric::grad_state},
      {"scan.grad_partial", &ScanNumeric::grad_partial}};
  for (FieldEvidence& field : kernel->found.fields) {
    for (const auto& [key, type] : kLone) {
      if (field.field != key || field.word != Word::kSeen ||
          !is_f16(scan.*type)) {
        continue;
      }
      field.word = Word::kReported;
      field.evidence += "; no operand of their products is in f16";
      field.line = std::string(key) + " = f16";
      kernel->scan().*type = NumberType::kF32;
    }
  }
}

namespace {

// What the kernel hands its gradients over in: f32 shows more than bf16.
Result<Lane> GradLaneOf(const IdentifyRequest& request, Candidate& candidate) {
  std::vector<Lane> lanes = {Lane::kF32};
  if (request.lane != Lane::kF32) lanes.push_back(request.lane);
  Status why;
  for (const Lane lane : lanes) {
    ScanGradKernel kernel(candidate, request.lane, lane);
    const auto answer = kernel.Ask({});
    if (answer.ok()) return lane;
    // The reason why there is no profile, if all tensors are in the lane asked
    // for.
    why = answer.status();
  }
  return why;
}

Result<Identified> AskAll(const IdentifyRequest& request, Lane grads,
                          int64_t light, Candidate& candidate) {
  ScanGradKernel kernel(candidate, request.lane, grads);
  kernel.light_tokens = light;
  RETURN_IF_ERROR(AskEach(ScanGradProbes(), request.stop, &kernel));
  ReportLoneF16(&kernel);
  kernel.SettleCompanion();
  return kernel.Take();
}

}  // namespace

Result<Identified> IdentifyScanGradients(const IdentifyRequest& request,
                                         Candidate& candidate) {
  ASSIGN_OR_RETURN(const Lane grads, GradLaneOf(request, candidate));
  return AskTwice(request, [&](int64_t light) {
    return AskAll(request, grads, LightTokens(light), candidate);
  });
}

}  // namespace lockstep::verify
