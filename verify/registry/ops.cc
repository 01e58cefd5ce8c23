#include "verify/registry/ops.h"

#include <algorithm>
#include <string>

#include "verify/base/nearest_name.h"
#include "verify/case/attention_backward.h"
#include "verify/case/attention_forward/line.h"
#include "verify/case/attention_merge/case.h"
#include "verify/case/block_plan.h"
#include "verify/case/mamba3_scan/line.h"
#include "verify/case/mamba3_scan_backward.h"
#include "verify/case/ssd_scan.h"
#include "verify/domain/attention_backward.h"
#include "verify/domain/attention_forward.h"
#include "verify/domain/attention_merge.h"
#include "verify/domain/block_plan.h"
#include "verify/domain/mamba3_scan.h"
#include "verify/domain/mamba3_scan_backward.h"
#include "verify/domain/ssd_scan.h"
#include "verify/ops/attention_backward/claims.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/claims/claims.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/attention_merge/trial.h"
#include "verify/ops/block_plan/trial.h"
#include "verify/ops/mamba3_scan/claims.h"
#include "verify/ops/mamba3_scan/trial.h"
#include "verify/ops/mamba3_scan_backward/trial.h"
#include "verify/ops/ssd_scan/trial.h"

namespace lockstep::verify {
namespace {

// `pairs`: of claims; null: the op has none.
template <typename T, const OpClaims& (*kPairs)() = nullptr>
constexpr TrialRow kTrial = [] {
  TrialRow row = MakeTrialRow<T>();
  row.pairs = kPairs;
  return row;
}();

constexpr TrialRow kBlockPlanTrial = [] {
  TrialRow row = MakeTrialRow<BlockPlanTrial>();
  row.claims = false;
  return row;
}();

constexpr OpRow kAttentionForward = {
    kAttentionForwardText,
    &kTrial<AttentionForwardTrial, &AttentionForwardClaims>,
    &kAttentionForwardDomain};
constexpr OpRow kAttentionBackward = {
    kAttentionBackwardText,
    &kTrial<AttentionBackwardTrial, &AttentionBackwardClaims>,
    &kAttentionBackwardDomain};
constexpr OpRow kAttentionMerge = {
    kAttentionMergeText, &kTrial<AttentionMergeTrial>, &kAttentionMergeDomain};
constexpr OpRow kMamba3Scan = {kMamba3ScanText,
                               &kTrial<Mamba3ScanTrial, &Mamba3ScanClaims>,
                               &kMamba3ScanDomain};
constexpr OpRow kMamba3ScanBackward = {
    kMamba3ScanBackwardText,
    &kTrial<Mamba3ScanBackwardTrial, &Mamba3ScanBackwardClaims>,
    &kMamba3ScanBackwardDomain};
constexpr OpRow kMamba3Step = {kMamba3StepText,
                               &kTrial<Mamba3StepTrial, &Mamba3StepClaims>,
                               &kMamba3StepDomain};
constexpr OpRow kSsdScan = {kSsdScanText, &kTrial<SsdScanTrial, &SsdScanClaims>,
                            &kSsdScanDomain};
constexpr OpRow kBlockPlan = {kBlockPlanText, &kBlockPlanTrial,
                              &kBlockPlanDomain};

constexpr const OpRow* kOps[] = {
    &kAttentionForward,   &kAttentionBackward, &kAttentionMerge, &kMamba3Scan,
    &kMamba3ScanBackward, &kMamba3Step,        &kSsdScan,        &kBlockPlan};

}  // namespace

OpRows Ops() { return kOps; }

Result<Case> ParseCase(std::string_view line) { return ParseCase(line, kOps); }

Result<std::vector<Case>> ParseCaseSequence(std::string_view line) {
  return ParseCaseSequence(line, kOps);
}

std::span<const Domain> Domains() {
  static const std::vector<Domain> domains = [] {
    std::vector<Domain> all;
    for (const OpRow* op : kOps) all.push_back(DomainOf(*op));
    std::sort(all.begin(), all.end(), [](const Domain& a, const Domain& b) {
      return std::string_view(a.op) < b.op;
    });
    return all;
  }();
  return domains;
}

Result<const Domain*> FindDomain(std::string_view op) {
  std::string known;
  for (const Domain& domain : Domains()) {
    if (op == domain.op) return &domain;
    known += std::string(" ") + domain.op;
  }
  return Status::Error(
      "op '" + std::string(op) + "' has no domain to draw from; " +
      NearestIs(op, Domains(), [](const auto& d) { return d.op; }) +
      "; known:" + known);
}

}  // namespace lockstep::verify
