#include "verify/candidate/mutant_scan.h"

#include <optional>
#include <utility>
#include <vector>

#include "verify/ops/mamba3_scan.h"

namespace lockstep::verify {
namespace {

class EmulatedScan final : public Candidate {
 public:
  EmulatedScan(std::string kind, std::string spec, ScanVariant variant,
               ScanDial dial)
      : kind_(std::move(kind)),
        spec_(std::move(spec)),
        emulator_(std::move(variant), dial) {}

  std::string Spec(const Variation&) const override {
    return kind_ + ":" + spec_;
  }
  std::string Backend() const override { return kind_; }
  const Variation& Fixed() const override { return fixed_; }
  bool Ours() const override { return true; }
  // A mutant claims what the variant it broke could.
  std::optional<NumericProfile> Claims() const override {
    return emulator_.variant().numeric;
  }
  bool Repeatable() const override { return true; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* scan = dynamic_cast<const Mamba3ScanTrial*>(&trial);
    if (scan == nullptr) {
      return {
          RunOutcome::State::kUnsupported,
          kind_ + ":" + spec_ + " computes mamba3_scan and mamba3_step only",
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
