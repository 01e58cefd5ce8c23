// block_plan before the judge: a planner's tables against the mask of every
// pair.
#ifndef LOCKSTEP_VERIFY_OPS_BLOCK_PLAN_TRIAL_H_
#define LOCKSTEP_VERIFY_OPS_BLOCK_PLAN_TRIAL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reference/contract/status.h"
#include "verify/ops/facts.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {

// Its rows are the rows of tiles of all heads; it has no outputs.
class BlockPlanTrial final : public Trial,
                             public TrialKernels,
                             public TrialFacts {
 public:
  static std::vector<OutputSpec> Outputs(const Case&) { return {}; }
  // Errors: those of OpenBlockPlan.
  static Result<std::unique_ptr<Trial>> Open(const Case& c,
                                             const MaterialiseOptions& options);
  static std::vector<Case> ProbeCases(const Case&, const NumericProfile&) {
    return {};
  }

  explicit BlockPlanTrial(BlockPlanScene scene)
      : Trial({}), scene_(std::move(scene)) {}

  // The mask as the file of a case has it: mask [heads, q_len, kv_len].
  KernelInputs Inputs() const override;
  std::string InputDigest() const override { return scene_.data.InputDigest(); }
  std::vector<Fact> Facts() const override;
  int64_t rows() const override;
  int64_t RowCost() const override { return scene_.asked.kv_len; }
  void ReferenceRow(int64_t, RowBits*) const override {}
  RunOutcome RunReference(const OutputSet&, Execution*) const override {
    return {RunOutcome::State::kUnsupported, "block_plan has no tensors", ""};
  }

 private:
  TrialParts parts() const override {
    return {.kernels = this, .facts = this, .scene = &scene_};
  }

  BlockPlanScene scene_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_BLOCK_PLAN_TRIAL_H_
