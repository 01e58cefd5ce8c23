// A kernel of a scan's gradients that rounds where its profile says, or, with a
// fault, what a broken one would compute. States are made again in each chunk,
// from what was kept at its start. Slow, scalar, one thread.
#ifndef LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_KERNEL_H_
#define LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_KERNEL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "reference/contract/mamba3_scan_backward.h"
#include "reference/contract/status.h"
#include "verify/emulator/mamba3_scan/kernel.h"
#include "verify/emulator/mamba3_scan_backward/faults.h"

namespace lockstep::verify {

struct ScanGradVariant {
  // The arithmetic, and the forward pass that is made again.
  ScanVariant scan;
  // The cotangent of the state within a chunk is a sum over the pairs of its
  // tokens, not a recurrence.
  bool pairs = false;
  // Beside that: dv and dk are sums over products of two tokens, which are
  // rounded as the profile's scores.
  bool scores = false;
  // Of the sums over tokens and heads, added up at the end.
  int64_t parts = 1;

  const std::string& name() const { return scan.name(); }
};

// Correct kernels, each with its honest profile.
std::span<const ScanGradVariant> ScanGradZoo();
// Errors: an unknown name; the message lists the known ones.
Result<ScanGradVariant> FindScanGradVariant(std::string_view name);

class ScanGradEmulator {
 public:
  explicit ScanGradEmulator(ScanGradVariant variant,
                            ScanGradFault fault = ScanGradFault::kNone)
      : variant_(std::move(variant)), fault_(fault) {}

  const ScanGradVariant& variant() const { return variant_; }

  // Requires: Validate(problem, inputs, outputs).ok(). What a fault leaves out
  // is not written.
  void Run(const Mamba3ScanBackwardProblem& problem,
           const Mamba3ScanBackwardInputs& inputs,
           const Mamba3ScanBackwardOutputs& outputs) const;

 private:
  ScanGradVariant variant_;
  ScanGradFault fault_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_MAMBA3_SCAN_BACKWARD_KERNEL_H_
