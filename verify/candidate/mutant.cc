// Emulated kernels as candidates: known bugs (mutant:NAME), and correct ways
// to compute the same thing (variant:NAME).
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/nearest_name.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/mutant_mamba3_scan.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/tables/mutants.h"

namespace lockstep::verify {
namespace {

class Emulated final : public Candidate {
 public:
  Emulated(std::string kind, std::string spec, AttentionVariant variant,
           FaultDial dial)
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
  std::string UsualOp() const override { return "attention_forward"; }
  // A mutant claims what the variant it broke could.
  std::optional<NumericProfile> Claims() const override {
    const NumericProfile& honest = emulator_.variant().numeric;
    return honest.exact ? std::nullopt : std::optional(honest);
  }
  bool Repeatable() const override { return true; }
  void Reset() override {
    emulator_ = AttentionEmulator(emulator_.variant(), dial_);
  }
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
  FaultDial dial_;
  AttentionEmulator emulator_;
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseMutantCandidate(
    std::string_view arguments) {
  const std::string_view name =
      arguments.substr(0, arguments.find_first_of("@,"));
  std::vector<std::string_view> names;
  for (const MutantInfo& info : Mutants()) names.emplace_back(info.name);
  for (const PlanMutantInfo& info : PlanMutants()) {
    names.emplace_back(info.name);
  }
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Status::Error("mutant '" + std::string(name) +
                         "' is not in the catalogue; nearest is '" +
                         std::string(NearestName(name, names)) +
                         "' (all: lockstep list mutants)");
  }
  if (name.starts_with("plan.")) return ParsePlanMutant(arguments);
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
  if (!variant.ok()) {
    std::vector<std::string> names;
    for (const AttentionVariant& v : AttentionZoo()) names.push_back(v.name());
    for (const ScanVariant& v : ScanZoo()) names.push_back(v.name());
    return Status::Error("variant '" + std::string(arguments) +
                         "' is not in the zoo; " +
                         NearestIs(arguments, names, std::identity()) +
                         " (all: lockstep list variants)");
  }
  return std::unique_ptr<Candidate>(
      std::make_unique<Emulated>("variant", std::string(arguments),
                                 std::move(variant.value()), FaultDial{}));
}

}  // namespace lockstep::verify
