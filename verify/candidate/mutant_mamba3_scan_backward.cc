#include "verify/candidate/mutant_mamba3_scan_backward.h"

#include <string>
#include <utility>

#include "verify/candidate/emulated.h"
#include "verify/ops/mamba3_scan_backward/trial.h"

namespace lockstep::verify {
namespace {

class EmulatedScanGradients final : public EmulatedCandidate {
 public:
  EmulatedScanGradients(const std::string& kind, const std::string& spec,
                        ScanGradVariant variant, ScanGradFault fault)
      : EmulatedCandidate(kind, spec, "mamba3_scan_backward",
                          variant.scan.numeric),
        emulator_(variant, fault),
        reversed_(Reversed(std::move(variant)), fault) {}

  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<EmulatedScanGradients>(*this);
  }
  void Reset() override { calls_ = 0; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* scan = dynamic_cast<const Mamba3ScanBackwardTrial*>(&trial);
    if (scan == nullptr) return Refuse(" computes mamba3_scan_backward only");
    const bool other =
        !emulator_.variant().scan.numeric.repeat && calls_++ % 2 == 1;
    (other ? reversed_ : emulator_)
        .Run(scan->problem(), scan->inputs(), scan->Views(outputs));
    const ScanGradVariant& variant = emulator_.variant();
    return Ran("chunk " + std::to_string(variant.scan.chunk) + " variant " +
                   variant.name(),
               execution);
  }

 private:
  static ScanGradVariant Reversed(ScanGradVariant variant) {
    variant.scan.backward = !variant.scan.backward;
    return variant;
  }

  ScanGradEmulator emulator_;
  ScanGradEmulator reversed_;  // of odd calls, where runs may differ
  int64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedScanGradients(std::string kind,
                                                     std::string spec,
                                                     ScanGradVariant variant,
                                                     ScanGradFault fault) {
  return std::make_unique<EmulatedScanGradients>(std::move(kind), spec,
                                                 std::move(variant), fault);
}

}  // namespace lockstep::verify
