// block_plan before the judge: tables of a block-sparse kernel against the
// mask, pair by pair. There are many right tables, so nothing is compared:
// they are lifted to the visits of a kernel, and fourteen invariants decide.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "verify/base/digest.h"
#include "verify/case/block_plan.h"
#include "verify/causes/block_plan.h"
#include "verify/judge/answers.h"
#include "verify/judge/evidence/canary.h"
#include "verify/judge/evidence/stage.h"
#include "verify/judge/invariance.h"
#include "verify/judge/judgement.h"
#include "verify/tables/invariants.h"
#include "verify/tables/mutants.h"
#include "verify/tables/planner.h"

namespace lockstep::verify {
namespace {

using optimized::TileGrid;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// Visits over all heads of the forward pass, and what the grid has in all.
std::vector<Counter> CountTiles(const PlanTrace& trace) {
  int64_t full = 0, partial = 0, heads = 0;
  for (const TracedPass& pass : trace.forward) {
    heads = static_cast<int64_t>(pass.heads.size());
    for (const TracedHead& head : pass.heads) {
      for (const TileVisit& visit : head.visits) {
        full += visit.state == 2;
        partial += visit.state == 1;
      }
    }
  }
  return {{"tiles_empty", heads * trace.grid.tiles() - full - partial},
          {"tiles_full", full},
          {"tiles_partial", partial}};
}

// Known-bad kernels: one reads 1 as full and 2 as partial, one visits every
// tile.
const PlanMutantInfo* CanaryFor(const BlockPlanScene& scene, uint64_t salt) {
  PlanTrace sound;
  if (PlanWith({}, scene, &sound).state != RunOutcome::State::kRan) {
    return nullptr;
  }
  int64_t partial = 0, visits = 0;
  for (const TracedPass& pass : sound.forward) {
    for (const TracedHead& head : pass.heads) {
      visits += static_cast<int64_t>(head.visits.size());
      for (const TileVisit& visit : head.visits) partial += visit.state == 1;
    }
  }
  const int64_t tiles = scene.mask.heads() * sound.grid.tiles();
  const bool swapped = partial > 0;
  // More idle visits than all passes of all heads together may make.
  const bool dense =
      tiles - visits > scene.asked.slack * scene.mask.heads() *
                           static_cast<int64_t>(sound.forward.size());
  if (!swapped && !dense) return nullptr;
  const char* name = swapped && (!dense || salt % 2 == 0)
                         ? "plan.states_swapped"
                         : "plan.dense_in_disguise";
  for (const PlanMutantInfo& mutant : PlanMutants()) {
    if (std::string_view(mutant.name) == name) return &mutant;
  }
  return nullptr;
}

}  // namespace

// Whether there are visits to judge.
bool Judgement::Traced(const RunOutcome& outcome) {
  using State = RunOutcome::State;
  if (outcome.state == State::kUnsupported) {
    result_.skip = Skip::kUnsupported;
    return End(Verdict::kSkipped, outcome.message);
  }
  AddCheck("forward_success", outcome.state != State::kError, 1);
  if (outcome.state == State::kError) {
    const std::string check =
        outcome.check.empty() ? "forward_success" : outcome.check;
    result_.findings.push_back(
        {Tier::kCandidate, check, outcome.message, "", std::nullopt});
    return End(Verdict::kError, outcome.message);
  }
  AddCheck("output_shape_valid", outcome.state != State::kMismatch, 1);
  if (outcome.state == State::kRan) return true;
  const std::string message = outcome.tensor + ": " + outcome.message;
  result_.findings.push_back(
      {Tier::kTables, outcome.tensor, message, "", std::nullopt});
  return End(Verdict::kFail, message);
}

// One finding an invariant that does not hold.
void Judgement::CheckInvariants(const PlanTrace& trace,
                                const IntendedMask& mask) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Violation> violations = CheckPlan(trace, mask);
  result_.reference_seconds = SecondsSince(start);
  for (const InvariantInfo& info : Invariants()) {
    const auto found = std::find_if(
        violations.begin(), violations.end(), [&](const Violation& violation) {
          return violation.invariant == info.invariant;
        });
    AddCheck(info.name, found == violations.end(), 1);
    if (found == violations.end()) continue;
    // Without the name in front: the check has it.
    std::string message =
        found->message.substr(std::string(info.name).size() + 2);
    if (found->count > 1) {
      message += " (and " + std::to_string(found->count - 1) + " more)";
    }
    result_.findings.push_back({Tier::kTables, info.name,
                                message + "; sound: " + info.statement, "",
                                std::nullopt});
  }
}

// What tables that know nothing would be found to be: no visit at all, every
// tile full.
void Judgement::CheckNoPlans(const IntendedMask& mask) {
  bool any = false, all = true;
  for (int64_t h = 0; h < mask.heads(); ++h) {
    const int64_t pairs = mask.Pairs(h);
    any = any || pairs > 0;
    all = all && pairs == mask.q_len() * mask.kv_len();
  }
  result_.power = {{"no_visits", any, !any}, {"all_full", !all, all}};
  if (any) return;
  result_.findings.push_back(
      {Tier::kPower, "nulls",
       "no pair is visible: tables that visit nothing pass", "", std::nullopt});
}

// A canary's tables take the place of the candidate's where they are wrong.
void Judgement::CheckPlanCanary(const BlockPlanScene& scene) {
  if (!options_.canaries || request_.call->expect != Expect::kPass) return;
  const uint64_t salt = std::strtoull(
      DigestText(result_.canonical).substr(0, 8).c_str(), nullptr, 16);
  if (request_.number != 1 && salt % kCanaryEvery != 0) return;
  const PlanMutantInfo* canary = CanaryFor(scene, salt / kCanaryEvery);
  if (canary == nullptr) return;
  PlanTrace trace;
  if (PlanWith(canary->bug, scene, &trace).state != RunOutcome::State::kRan) {
    return;
  }
  trace.slack = scene.asked.slack;
  const std::string spec = std::string("mutant:") + canary->name;
  const bool caught = !CheckPlan(trace, scene.mask).empty();
  result_.canaries.push_back({spec, caught});
  if (caught) return;
  result_.findings.push_back({Tier::kPower, "canary",
                              spec + ", which is wrong on this case, passes: "
                                     "this judge proves nothing here",
                              "", std::nullopt});
}

void Judgement::JudgeTables(const BlockPlanScene& scene) {
  result_.claims.reset();  // tables have no arithmetic
  result_.rows = 0;        // until they are judged
  PlanTrace trace;
  const auto start = std::chrono::steady_clock::now();
  const RunOutcome outcome =
      PlanBy(candidate_, request_, scene, &trace, &result_.execution);
  result_.candidate_seconds = SecondsSince(start);
  result_.runs = 1;
  if (result_.execution.backend.empty()) {
    result_.execution.backend = candidate_.traits().backend;
  }
  result_.executed_as_requested = true;
  // Planning has neither targets nor threads: only a host can do otherwise.
  if (candidate_.traits().apart) {
    JudgeExecution(candidate_, options_.require_executed, &result_);
  }
  if (Traced(outcome)) {
    NoteAnswers(outcome, &result_);
    result_.execution.counters = CountTiles(trace);
    result_.execution.plan = std::string("dialect=") +
                             DialectName(scene.asked.dialect) +
                             " tile=" + std::to_string(scene.asked.tile_q) +
                             "x" + std::to_string(scene.asked.tile_k);
    trace.slack = scene.asked.slack;
    FindUntrue(result_.execution, "", &result_);
    CheckInvariants(trace, scene.mask);
    result_.rows = result_.rows_compared = trial_->rows();
    CheckNoPlans(scene.mask);
    CheckPlanCanary(scene);
    result_.verdict = Proven()                   ? Verdict::kFail
                      : result_.findings.empty() ? Verdict::kPass
                                                 : Verdict::kUntrusted;
    if (!result_.findings.empty()) {
      result_.reason = result_.findings[0].message;
    }
    if (options_.causes && result_.verdict == Verdict::kFail) {
      result_.causes = CausesOfTables(scene, trace);
    }
  }
  const size_t before = result_.findings.size();
  SettleCandidate();
  if (result_.findings.size() == before) return;
  End(Verdict::kError, result_.findings.back().message);
}

}  // namespace lockstep::verify
