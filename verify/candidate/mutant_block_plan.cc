// Known bugs of planners, tables and kernels as candidates of block_plan.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "verify/candidate/candidate.h"
#include "verify/tables/mutants.h"
#include "verify/tables/planner.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {
namespace {

class PlanMutant final : public Candidate, public Planner {
 public:
  explicit PlanMutant(const PlanMutantInfo& info)
      : Candidate({.backend = "mutant", .ours = true}), info_(info) {}

  std::string Spec(const Variation&) const override {
    return std::string("mutant:") + info_.name;
  }
  std::unique_ptr<Candidate> Copy() const override {
    return std::make_unique<PlanMutant>(info_);
  }
  Introduction Introduce() const override { return {.usual_op = "block_plan"}; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial&, const Variation&,
                 const OutputSet&, Execution*) override {
    return {RunOutcome::State::kUnsupported,
            std::string(info_.name) + " makes tables, for op block_plan only",
            ""};
  }

  RunOutcome Plan(const CaseRequest&, const BlockPlanScene& scene,
                  PlanTrace* trace, Execution*) override {
    return PlanWith(info_.bug, scene, trace);
  }

 private:
  const PlanMutantInfo& info_;
};

}  // namespace

Result<std::unique_ptr<Candidate>> ParsePlanMutant(std::string_view name) {
  const auto mutants = PlanMutants();
  const auto found = std::find_if(
      mutants.begin(), mutants.end(),
      [&](const PlanMutantInfo& info) { return name == info.name; });
  if (found != mutants.end()) {
    return std::unique_ptr<Candidate>(std::make_unique<PlanMutant>(*found));
  }
  return Status::Error("mutant '" + std::string(name) +
                       "' makes tables and takes no arguments (all: lockstep "
                       "list mutants)");
}

}  // namespace lockstep::verify
