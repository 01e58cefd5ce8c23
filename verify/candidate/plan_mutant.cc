// Known bugs of planners as candidates of block_plan: each answers the case it
// is planted in.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "verify/candidate/candidate.h"
#include "verify/ops/block_plan.h"
#include "verify/plan_mutants.h"

namespace lockstep::verify {
namespace {

bool SameMask(const IntendedMask& a, const IntendedMask& b) {
  if (a.heads() != b.heads() || a.q_len() != b.q_len() ||
      a.kv_len() != b.kv_len()) {
    return false;
  }
  for (int64_t h = 0; h < a.heads(); ++h) {
    for (int64_t i = 0; i < a.q_len(); ++i) {
      for (int64_t j = 0; j < a.kv_len(); ++j) {
        if (a.At(h, i, j) != b.At(h, i, j)) return false;
      }
    }
  }
  return true;
}

class PlanMutant final : public Candidate {
 public:
  explicit PlanMutant(const PlanMutantInfo& info) : info_(info) {}

  std::string Spec(const Variation&) const override {
    return std::string("mutant:") + info_.name;
  }
  std::string Backend() const override { return "mutant"; }
  const Variation& Fixed() const override { return fixed_; }
  bool Ours() const override { return true; }
  bool Repeatable() const override { return true; }
  Status Prepare(const CaseRequest&) override { return {}; }
  std::vector<Variation> Variations(const Trial&) const override { return {}; }

  RunOutcome Run(const CaseRequest&, const Trial&, const Variation&,
                 const OutputSet&, Execution*) override {
    return {RunOutcome::State::kUnsupported, Elsewhere(), ""};
  }

  RunOutcome Plan(const CaseRequest&, const BlockPlanScene& scene,
                  PlanTrace* trace) override {
    PlanTrial trial = info_.trial(true);
    const optimized::TileGrid grid{scene.asked.q_len, scene.asked.kv_len,
                                   scene.asked.tile_q, scene.asked.tile_k};
    const bool planted_here = trial.trace.grid == grid &&
                              trial.trace.computed == !scene.asked.blocks &&
                              SameMask(trial.mask, scene.mask);
    if (!planted_here) {
      return {RunOutcome::State::kUnsupported, Elsewhere(), ""};
    }
    *trace = std::move(trial.trace);
    return {};
  }

 private:
  std::string Elsewhere() const {
    return std::string(info_.name) + " is planted in 'block_plan " +
           info_.pattern + "' only";
  }

  const PlanMutantInfo& info_;
  Variation fixed_;
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
                       "' is not in the catalogue (all: lockstep list "
                       "mutants)");
}

}  // namespace lockstep::verify
