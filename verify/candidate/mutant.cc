// Emulated kernels as candidates: known bugs (mutant:NAME), and correct ways
// to compute the same thing (variant:NAME).
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "verify/base/nearest_name.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/attention_merge/mutant.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/mutant_attention_backward.h"
#include "verify/candidate/mutant_attention_forward.h"
#include "verify/candidate/mutant_mamba3_scan.h"
#include "verify/candidate/mutant_mamba3_scan_backward.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/catalogue.h"
#include "verify/emulator/mamba3_scan/zoo.h"
#include "verify/emulator/mutants.h"
#include "verify/emulator/mutants_claims.h"
#include "verify/emulator/mutants_shards/bugs.h"
#include "verify/tables/mutants.h"

namespace lockstep::verify {
Result<std::unique_ptr<Candidate>> ParseMutantCandidate(
    std::string_view arguments) {
  const std::string_view name =
      arguments.substr(0, arguments.find_first_of("@+,"));
  std::vector<std::string_view> names;
  for (const MutantInfo& info : Mutants()) names.emplace_back(info.name);
  for (const PlanMutantInfo& info : PlanMutants()) {
    names.emplace_back(info.name);
  }
  for (const ClaimBug& bug : ClaimBugs()) names.emplace_back(bug.name);
  for (const ShardBug& bug : ShardBugs()) names.emplace_back(bug.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Status::Error(UnknownMutant(name, names, std::identity()));
  }
  if (name.starts_with("claim.")) return ParseClaimMutant(arguments);
  if (name.starts_with("shard.")) return ParseShardMutant(arguments);
  if (name.starts_with("plan.")) return ParsePlanMutant(arguments);
  ASSIGN_OR_RETURN(Mutant mutant, ParseMutant(arguments));
  if (mutant.info->gradients()) {
    return MakeEmulatedGradients("mutant", mutant.spec, std::move(mutant.grad),
                                 mutant.info->PointOf<GradFault>());
  }
  if (mutant.info->scan_gradients()) {
    return MakeEmulatedScanGradients("mutant", mutant.spec,
                                     std::move(mutant.scan_grad),
                                     mutant.info->PointOf<ScanGradFault>());
  }
  if (mutant.info->merge()) {
    return MakeEmulatedMerge("mutant", mutant.spec, std::move(mutant.merge),
                             mutant.info->PointOf<MergeFault>());
  }
  if (mutant.info->scan()) {
    return MakeEmulatedScan("mutant", mutant.spec, std::move(mutant.scan),
                            mutant.scan_dial);
  }
  return MakeEmulatedAttention("mutant", mutant.spec, std::move(mutant.variant),
                               mutant.dial);
}

Result<std::unique_ptr<Candidate>> ParseVariantCandidate(
    std::string_view arguments) {
  Result<ScanVariant> scan = FindScanVariant(arguments);
  if (scan.ok()) {
    return MakeEmulatedScan("variant", std::string(arguments),
                            std::move(scan.value()), ScanDial{});
  }
  Result<GradVariant> grad = FindGradVariant(arguments);
  if (grad.ok()) {
    return MakeEmulatedGradients("variant", std::string(arguments),
                                 std::move(grad.value()), GradFault::kNone);
  }
  Result<ScanGradVariant> scan_grad = FindScanGradVariant(arguments);
  if (scan_grad.ok()) {
    return MakeEmulatedScanGradients("variant", std::string(arguments),
                                     std::move(scan_grad.value()),
                                     ScanGradFault::kNone);
  }
  Result<MergeVariant> merge = FindMergeVariant(arguments);
  if (merge.ok()) {
    return MakeEmulatedMerge("variant", std::string(arguments),
                             std::move(merge.value()), MergeFault::kNone);
  }
  Result<AttentionVariant> variant = FindVariant(arguments);
  if (!variant.ok()) {
    std::vector<std::string> names;
    for (const AttentionVariant& v : AttentionZoo()) names.push_back(v.name());
    for (const GradVariant& v : GradZoo()) names.push_back(v.name());
    for (const ScanVariant& v : ScanZoo()) names.push_back(v.name());
    for (const ScanGradVariant& v : ScanGradZoo()) names.push_back(v.name());
    for (const MergeVariant& v : MergeZoo()) names.push_back(v.name());
    return Status::Error("variant '" + std::string(arguments) +
                         "' is not in the zoo; " +
                         NearestIs(arguments, names, std::identity()) +
                         " (all: lockstep list variants)");
  }
  return MakeEmulatedAttention("variant", std::string(arguments),
                               std::move(variant.value()), FaultDial{});
}

}  // namespace lockstep::verify
