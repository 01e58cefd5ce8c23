#include "optimized/attention_plan.h"

#include <string>

#include "optimized/attention_forward.h"
#include "optimized/attention_work.h"
#include "optimized/matrix_unit.h"
#include "optimized/plan_check.h"
#include "reference/contract/numerics.h"

namespace lockstep::optimized {
namespace {

// Every order has its own forms; tiles hold whole blocks (N20).
Status CheckBlocks(const AttentionForwardProblem& problem, const Plan& plan) {
  const bool matrix = plan.blocks == BlockForm::kMatrix;
  const bool blocks = matrix || plan.blocks == BlockForm::kFlushed ||
                      plan.blocks == BlockForm::kGuarded;
  if (blocks != (problem.order == ProductOrder::kAmx) ||
      StepOf(problem.order) != nullptr ||
      (blocks && plan.tile_keys % kProductBlock != 0) ||
      (blocks && plan.native_dot)) {
    return Status::Error(std::string("the plan is not one of order=") +
                         OrderName(problem.order) + ": " + plan.ToString());
  }
  if (matrix && !(TheMatrixUnit().usable && TakesMatrixUnit(plan.target))) {
    return Status::Error("the plan wants a matrix unit that is not there: " +
                         plan.ToString());
  }
  return Status();
}

}  // namespace

Status CheckAttentionPlan(const AttentionForwardProblem& problem,
                          const Plan& plan) {
  const Status status = CheckPlanFits(problem, plan);
  if (!status.ok()) return status;
  if (plan.fixed_m && !AllowsFixedPath(problem)) {
    return Status::Error("the fixed path needs a small softcap: " +
                         plan.ToString());
  }
  if (plan.native_dot && problem.key_lane() != Lane::kBf16) {
    return Status::Error("native dot needs bf16 lanes: " + plan.ToString());
  }
  return CheckBlocks(problem, plan);
}

std::string ProductsOf(const Plan& plan) {
  if (plan.blocks == BlockForm::kNone) return "";
  if (plan.blocks == BlockForm::kMatrix) return "matrix unit";
  const MatrixUnit& unit = TheMatrixUnit();
  return "emulation: " +
         (!unit.usable ? unit.why_not
          : TakesMatrixUnit(plan.target)
              ? "the matrix unit is not wanted"
              : "no kernels for the matrix unit on " + plan.target);
}

}  // namespace lockstep::optimized
