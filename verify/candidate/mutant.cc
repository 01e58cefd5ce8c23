// Emulated kernels as candidates: known bugs (mutant:NAME), and correct ways
// to compute the same thing (variant:NAME).
#include <string>
#include <utility>

#include "verify/candidate/candidate.h"
#include "verify/candidate/mutant_scan.h"
#include "verify/emulator/attention_forward.h"
#include "verify/mutants.h"
#include "verify/ops/attention_forward.h"
#include "verify/scan_zoo.h"
#include "verify/zoo.h"

namespace lockstep::verify {
namespace {

class Emulated final : public Candidate {
 public:
  Emulated(std::string kind, std::string spec, AttentionVariant variant,
           FaultDial dial)
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
    const NumericProfile& honest = emulator_.variant().numeric;
    return honest.exact ? std::nullopt : std::optional(honest);
  }
  bool Repeatable() const override { return true; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial& trial, const Variation&,
                 const OutputSet& outputs, Execution* execution) override {
    const auto* attention = dynamic_cast<const AttentionForwardTrial*>(&trial);
    if (!attention) {
      return {RunOutcome::State::kUnsupported,
              kind_ + ":" + spec_ + " computes attention_forward only", ""};
    }
    emulator_.Run(attention->data().problem, attention->data().inputs,
                  AttentionViews(outputs));
    execution->backend = kind_;
    execution->threads = 1;
    execution->plan = "tile " + std::to_string(emulator_.variant().tile_q) +
                      "x" + std::to_string(emulator_.variant().tile_kv) +
                      " variant " + emulator_.variant().name();
    return {};
  }

 private:
  std::string kind_;
  std::string spec_;
  Variation fixed_;
  AttentionEmulator emulator_;
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseMutantCandidate(
    std::string_view arguments) {
  if (arguments.starts_with("plan.")) return ParsePlanMutant(arguments);
  Result<Mutant> mutant = ParseMutant(arguments);
  if (!mutant.ok()) return mutant.status();
  if (!mutant->info->attention()) {
    return MakeEmulatedScan("mutant", mutant->spec, std::move(mutant->scan),
                            mutant->scan_dial);
  }
  return std::unique_ptr<Candidate>(std::make_unique<Emulated>(
      "mutant", mutant->spec, std::move(mutant->variant), mutant->dial));
}

Result<std::unique_ptr<Candidate>> ParseVariantCandidate(
    std::string_view arguments) {
  Result<ScanVariant> scan = FindScanVariant(arguments);
  if (scan.ok()) {
    return MakeEmulatedScan("variant", std::string(arguments),
                            std::move(scan.value()), ScanDial{});
  }
  Result<AttentionVariant> variant = FindVariant(arguments);
  if (!variant.ok()) return variant.status();
  return std::unique_ptr<Candidate>(
      std::make_unique<Emulated>("variant", std::string(arguments),
                                 std::move(variant.value()), FaultDial{}));
}

}  // namespace lockstep::verify
