// A block_plan case as a call of a host, and the tables of its answer.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_PLAN_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_PLAN_H_

#include <vector>

#include "verify/base/run_outcome.h"
#include "verify/candidate/process/shared_memory.h"
#include "verify/candidate/wire/messages.h"
#include "verify/inputs/named_tensor.h"
#include "verify/tables/scene.h"
#include "verify/tables/trace.h"

namespace lockstep::verify {

class PlanCall {
 public:
  // Keeps a reference to the scene.
  explicit PlanCall(const BlockPlanScene& scene);

  // Its one output is room for tables.
  const KernelCall& call() const { return call_; }
  // The tables that lie in that room as the visits of a kernel. kMismatch:
  // tables that no kernel can read, or that lie elsewhere.
  RunOutcome Read(const std::vector<WireTable>& tables,
                  const PlacedTensor& room, const SharedMemory& out,
                  PlanTrace* trace) const;

 private:
  const BlockPlanScene& scene_;
  KernelCall call_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_PLAN_H_
