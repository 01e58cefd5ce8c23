// The trial of ssd_scan: a Mamba-3 trial with the inputs and outputs of
// Mamba-2.
#ifndef LOCKSTEP_VERIFY_OPS_SSD_SCAN_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_SSD_SCAN_TRIAL_H_

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {

// Outputs: y [b, t, h, p] in the problem's lane, then carry_h [run, h, p, n] of
// every run in f32. A row is one head of one run.
class SsdScanTrial final : public Mamba3ScanTrial {
 public:
  static std::vector<OutputSpec> Outputs(const Case& c);
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);

  SsdScanTrial(const Case& request, Mamba3ScanData data)
      : Mamba3ScanTrial(request, std::move(data), Outputs(request)) {}

  KernelInputs Inputs() const override;
  KernelCall Call(int64_t n, const OutputSet& outputs) const override;
  // 5 flop for each state element and token: decay, one update, one read-out.
  std::optional<Work> CountWork() const override;
  std::unique_ptr<Trial> MakeAnother(const Case& request,
                                     Mamba3ScanData data) const override;
  const char* CorrectKernel() const override;
  std::span<const char* const> Canaries() const override;

 protected:
  void ComputeByReference(const Mamba3ScanOutputs& outputs) const override;
  Status ComputeOptimized(const Variation& how,
                          const Mamba3ScanOutputs& outputs,
                          Execution* execution) const override;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_SSD_SCAN_TRIAL_H_
