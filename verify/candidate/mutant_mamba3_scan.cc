#include "verify/candidate/mutant_mamba3_scan.h"

#include <string>
#include <utility>

#include "verify/candidate/emulated.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/emulator/mutants.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

std::string OpOf(const std::string& spec, const ScanVariant& variant) {
  const Result<Mutant> mutant = ParseMutant(spec);
  if (mutant.ok()) return mutant->info->op();
  if (variant.ssd) return "ssd_scan";
  return spec.starts_with("step-") ? "mamba3_step" : "mamba3_scan";
}

class EmulatedScan final : public EmulatedCandidate {
 public:
  EmulatedScan(const std::string& kind, const std::string& spec,
               ScanVariant variant, ScanDial dial)
      : EmulatedCandidate(kind, spec, OpOf(spec, variant), variant.numeric),
        dial_(dial),
        emulator_(std::move(variant), dial) {}

  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<EmulatedScan>(*this);
  }
  void Reset() override {
    emulator_ = ScanEmulator(emulator_.variant(), dial_);
  }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(&trial);
    if (scan == nullptr) {
      return Refuse(" computes mamba3_scan, mamba3_step and ssd_scan only");
    }
    if (emulator_.variant().ssd &&
        !AlwaysSure(scan->request().Get<Mamba3ScanCase>())) {
      return Refuse(" reads no tau: only where it is +infinity");
    }
    emulator_.Run(scan->data().problem, scan->data().inputs,
                  scan->Views(outputs));
    return Ran("chunk " + std::to_string(emulator_.variant().chunk) +
                   " variant " + emulator_.variant().name(),
               execution);
  }

 private:
  ScanDial dial_;
  ScanEmulator emulator_;
};

}  // namespace

std::unique_ptr<Candidate> MakeEmulatedScan(std::string kind, std::string spec,
                                            ScanVariant variant,
                                            ScanDial dial) {
  return std::make_unique<EmulatedScan>(std::move(kind), std::move(spec),
                                        std::move(variant), dial);
}

}  // namespace lockstep::verify
