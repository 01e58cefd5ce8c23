// The ops that can be judged: one row each, no registration at run time.
#include <string>

#include "verify/op.h"
#include "verify/ops/attention_forward.h"
#include "verify/ops/block_plan.h"
#include "verify/ops/mamba3_scan.h"

namespace lockstep::verify {
namespace {

constexpr Op kOps[] = {
    MakeOp<AttentionForwardTrial>(),
    MakeOp<Mamba3ScanTrial>(),
    MakeOp<Mamba3StepTrial>(),
    kBlockPlanOp,
};

}  // namespace

std::span<const Op> Ops() { return kOps; }

Result<Op> FindOp(const Case& c) {
  const std::string name = OpName(c);
  for (const Op& op : kOps) {
    if (name == op.name) return op;
  }
  return Status::Error("op '" + name + "' has no judge");
}

}  // namespace lockstep::verify
