#include "verify/candidate/mutant_mamba3_scan.h"

#include <optional>
#include <utility>
#include <vector>

#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/emulator/mutants.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

class EmulatedScan final : public Candidate {
 public:
  EmulatedScan(std::string kind, std::string spec, ScanVariant variant,
               ScanDial dial)
      : kind_(std::move(kind)),
        spec_(std::move(spec)),
        dial_(dial),
        emulator_(std::move(variant), dial) {}

  std::string Spec(const Variation&) const override {
    return kind_ + ":" + spec_;
  }
  std::string Backend() const override { return kind_; }
  const Variation& Fixed() const override { return fixed_; }
  bool Ours() const override { return true; }
  std::string UsualOp() const override {
    const Result<Mutant> mutant = ParseMutant(spec_);
    if (mutant.ok()) return mutant->info->op();
    if (emulator_.variant().ssd) return "ssd_scan";
    return spec_.starts_with("step-") ? "mamba3_step" : "mamba3_scan";
  }
  // A mutant claims what the variant it broke could.
  std::optional<NumericProfile> Claims() const override {
    return emulator_.variant().numeric;
  }
  bool Repeatable() const override { return true; }
  void Reset() override {
    emulator_ = ScanEmulator(emulator_.variant(), dial_);
  }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(&trial);
    if (scan == nullptr) {
      return {RunOutcome::State::kUnsupported,
              kind_ + ":" + spec_ +
                  " computes mamba3_scan, mamba3_step and ssd_scan only",
              ""};
    }
    if (emulator_.variant().ssd &&
        !AlwaysSure(scan->request().Get<Mamba3ScanCase>())) {
      return {RunOutcome::State::kUnsupported,
              kind_ + ":" + spec_ + " reads no tau: only where it is +infinity",
              ""};
    }
    emulator_.Run(scan->data().problem, scan->data().inputs,
                  scan->Views(outputs));
    execution->backend = kind_;
    execution->threads = 1;
    execution->plan = "chunk " + std::to_string(emulator_.variant().chunk) +
                      " variant " + emulator_.variant().name();
    return {};
  }

 private:
  std::string kind_;
  std::string spec_;
  Variation fixed_;
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
