// Kernels that break a claim, as candidates: two of the zoo, one of which
// computes each call.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/candidate/mutant_attention_forward.h"
#include "verify/emulator/attention_forward/zoo.h"
#include "verify/emulator/mutants_claims.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/mamba3_scan/trial.h"

namespace lockstep::verify {
namespace {

ClaimScene SceneOf(const AttentionForwardProblem& p,
                   const AttentionForwardInputs& inputs) {
  ClaimScene scene;
  scene.batch = p.batch;
  scene.heads = p.q_heads;
  scene.queries = p.q_len;
  scene.keys = p.kv_len;
  scene.longest = 0;
  scene.shortest = p.kv_len;
  for (int64_t b = 0; b < p.batch; ++b) {
    scene.longest = std::max(scene.longest, inputs.ValidKv(p, b));
    scene.shortest = std::min(scene.shortest, inputs.ValidKv(p, b));
  }
  return scene;
}

ClaimScene SceneOf(const RunsTrial& trial) {
  const Mamba3ScanProblem& p = trial.data().problem;
  ClaimScene scene;
  scene.batch = p.batch;
  scene.heads = p.heads;
  scene.queries = scene.keys = p.length;
  scene.runs = static_cast<int64_t>(trial.runs().size()) / p.batch;
  scene.steps = trial.Calls() > 1;
  scene.carry = p.carry_in;
  return scene;
}

ClaimScene SceneOf(const Trial& trial) {
  if (const auto* forward =
          dynamic_cast<const AttentionForwardTrial*>(&trial)) {
    return SceneOf(forward->data().problem, forward->data().inputs);
  }
  if (const auto* backward =
          dynamic_cast<const AttentionBackwardTrial*>(&trial)) {
    return SceneOf(backward->data().problem.forward,
                   backward->data().inputs.forward);
  }
  const auto* runs = dynamic_cast<const RunsTrial*>(&trial);
  return runs != nullptr ? SceneOf(*runs) : ClaimScene{};
}

class ClaimKernel final : public Candidate {
 public:
  ClaimKernel(const ClaimBug& bug, std::unique_ptr<Candidate> usual,
              std::unique_ptr<Candidate> other)
      : Candidate({.backend = "mutant",
                   .ours = true,
                   .claims = usual->traits().claims}),
        bug_(bug),
        usual_(std::move(usual)),
        other_(std::move(other)) {}

  std::string Spec(const Variation&) const override {
    return std::string("mutant:") + bug_.name;
  }
  Introduction Introduce() const override {
    return {.usual_op = bug_.op(), .splits = {1, 2, 3, 8}};
  }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }
  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<ClaimKernel>(bug_, usual_->Copy(), other_->Copy());
  }
  void Reset() override {
    calls_ = keys_before_ = 0;
    usual_->Reset();
    other_->Reset();
  }

  RunOutcome Run(const CaseRequest& request, const Trial& trial,
                 const Variation& how, const OutputSet& outputs,
                 Execution* execution) override {
    ClaimScene scene = SceneOf(trial);
    scene.splits = how.splits.value_or(1);
    scene.call = calls_++;
    scene.keys_before = keys_before_;
    keys_before_ = scene.keys;
    Candidate& chosen = bug_.chooses_other(scene) ? *other_ : *usual_;
    return chosen.Run(request, trial, how, outputs, execution);
  }

 private:
  const ClaimBug& bug_;
  std::unique_ptr<Candidate> usual_;
  std::unique_ptr<Candidate> other_;
  int64_t calls_ = 0;
  int64_t keys_before_ = 0;
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParseClaimMutant(std::string_view name) {
  ASSIGN_OR_RETURN(const ClaimBug* found, FindClaimBug(name));
  const ClaimBug& bug = *found;
  auto usual = ParseVariantCandidate(bug.usual);
  auto other = ParseVariantCandidate(bug.other);
  if (!usual.ok()) return usual.status();
  if (!other.ok()) return other.status();
  if (bug.max_of_padding) {
    AttentionVariant variant = FindVariant(bug.other).value();
    variant.max_of_padding = true;
    other = MakeEmulatedAttention("mutant", std::string(name),
                                  std::move(variant), FaultDial{});
  }
  return std::unique_ptr<Candidate>(std::make_unique<ClaimKernel>(
      bug, std::move(usual.value()), std::move(other.value())));
}

}  // namespace lockstep::verify
