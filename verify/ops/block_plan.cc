#include "verify/ops/block_plan.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/block_pool.h"
#include "optimized/tile_plan.h"
#include "verify/canary.h"
#include "verify/case_block_plan.h"
#include "verify/digest.h"
#include "verify/plan_bug.h"
#include "verify/plan_invariants.h"
#include "verify/plan_mutants.h"

namespace lockstep::verify {
namespace {

using optimized::TileGrid;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

// The visit of one tile by what its pairs say; none if it is empty.
void VisitTile(const BlockPlanScene& scene, int64_t head, int64_t row,
               int64_t col, PlanTrace* trace) {
  const TileGrid& g = trace->grid;
  TracedPass& forward = trace->forward[0];
  int64_t visible = 0;
  for (int64_t r = 0; r < g.tile_q; ++r) {
    for (int64_t c = 0; c < g.tile_k; ++c) {
      visible += scene.mask.At(head, row * g.tile_q + r, col * g.tile_k + c);
    }
  }
  if (visible == 0) return;
  const int64_t in_range = std::min(g.tile_q, g.q_len - row * g.tile_q) *
                           std::min(g.tile_k, g.kv_len - col * g.tile_k);
  const bool full =
      visible == (scene.asked.padded ? g.tile_q * g.tile_k : in_range);
  int64_t block = 0;
  if (!full && scene.asked.blocks) {
    block = forward.pool.Append();
    for (int64_t r = 0; r < g.tile_q; ++r) {
      for (int64_t c = 0; c < g.tile_k; ++c) {
        forward.pool.Set(
            block, r, c,
            scene.mask.At(head, row * g.tile_q + r, col * g.tile_k + c));
      }
    }
  }
  const int64_t state = full ? 2 : 1;
  const auto h = static_cast<size_t>(head);
  forward.heads[h].visits.push_back({row, col, state, block, {}});
  trace->transposed[0].heads[h].visits.push_back({col, row, state, block, {}});
}

void StoreAll(int64_t head, TracedPass* pass) {
  TracedHead& traced = pass->heads[static_cast<size_t>(head)];
  traced.table = head;
  std::stable_sort(
      traced.visits.begin(), traced.visits.end(),
      [](const TileVisit& a, const TileVisit& b) { return a.outer < b.outer; });
  for (int64_t o = pass->outer_begin; o < pass->outer_end; ++o) {
    traced.stored.push_back(o);
  }
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

class PlanJudgement {
 public:
  PlanJudgement(const CaseRequest& request, Candidate& candidate,
                const JudgeOptions& options)
      : request_(request), candidate_(candidate), options_(options) {}

  CaseResult Run();

 private:
  void Describe();
  void Judge(const BlockPlanScene& scene);
  bool Traced(const RunOutcome& outcome);
  void AddPower(const IntendedMask& mask);
  void CheckCanary(const BlockPlanScene& scene);
  void Decide();
  void End(Verdict verdict, const std::string& reason) {
    result_.verdict = verdict;
    result_.reason = reason;
  }
  void Find(Tier tier, const std::string& check, const std::string& message) {
    result_.findings.push_back({tier, check, message, "", std::nullopt});
  }

  const CaseRequest& request_;
  Candidate& candidate_;
  const JudgeOptions& options_;
  CaseResult result_;
};

void PlanJudgement::Describe() {
  result_.line = request_.line;
  result_.canonical = CanonicalLine(*request_.call);
  result_.replay_case = request_.line;
  result_.candidate = candidate_.Spec();
  result_.profile = options_.profile_spec;
  result_.expect = request_.call->expect;
  result_.requested_backend = candidate_.Backend();
  result_.requested_suffix = candidate_.Fixed().Suffix();
}

// Whether there are visits to judge.
bool PlanJudgement::Traced(const RunOutcome& outcome) {
  using State = RunOutcome::State;
  if (outcome.state == State::kUnsupported) {
    result_.skip = Skip::kUnsupported;
    End(Verdict::kSkipped, outcome.message);
    return false;
  }
  result_.checks.push_back(
      {"forward_success", outcome.state != State::kError, 1});
  if (outcome.state == State::kError) {
    Find(Tier::kCandidate, "forward_success", outcome.message);
    End(Verdict::kError, outcome.message);
    return false;
  }
  result_.checks.push_back(
      {"output_shape_valid", outcome.state != State::kMismatch, 1});
  if (outcome.state == State::kRan) return true;
  const std::string message = outcome.tensor + ": " + outcome.message;
  Find(Tier::kTables, outcome.tensor, message);
  End(Verdict::kFail, message);
  return false;
}

// What tables that know nothing would be found to be: no visit at all, every
// tile full.
void PlanJudgement::AddPower(const IntendedMask& mask) {
  bool any = false, all = true;
  for (int64_t h = 0; h < mask.heads(); ++h) {
    for (int64_t i = 0; i < mask.q_len(); ++i) {
      for (int64_t j = 0; j < mask.kv_len(); ++j) {
        any = any || mask.At(h, i, j);
        all = all && mask.At(h, i, j);
      }
    }
  }
  result_.power = {{"no_visits", any, !any}, {"all_full", !all, all}};
  if (any) return;
  Find(Tier::kPower, "nulls",
       "no pair is visible: tables that visit nothing pass");
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
  // More in vain than all passes of all heads together may.
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

// A canary's tables take the place of the candidate's where they are wrong.
void PlanJudgement::CheckCanary(const BlockPlanScene& scene) {
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
  Find(Tier::kPower, "canary",
       spec +
           ", which is wrong on this case, is found sound: this judge "
           "proves nothing here");
}

void PlanJudgement::Decide() {
  const bool broken = std::any_of(
      result_.findings.begin(), result_.findings.end(),
      [](const Finding& finding) { return finding.tier != Tier::kPower; });
  const bool vacuous = !result_.findings.empty() && !broken;
  result_.verdict = broken    ? Verdict::kFail
                    : vacuous ? Verdict::kUntrusted
                              : Verdict::kPass;
  if (!result_.findings.empty()) result_.reason = result_.findings[0].message;
}

void PlanJudgement::Judge(const BlockPlanScene& scene) {
  result_.input_digest = scene.data.InputDigest();
  const TileGrid grid{scene.asked.q_len, scene.asked.kv_len, scene.asked.tile_q,
                      scene.asked.tile_k};
  result_.facts = {
      {"segment_ids", scene.data.problem.segments ? "present" : "absent"},
      {"pairs", std::to_string(grid.q_len * grid.kv_len), true},
      {"tiles", std::to_string(grid.tiles()), true}};
  PlanTrace trace;
  const auto start = std::chrono::steady_clock::now();
  const RunOutcome outcome = candidate_.Plan(request_, scene, &trace);
  result_.candidate_seconds = SecondsSince(start);
  result_.runs = 1;
  result_.execution.backend = candidate_.Backend();
  result_.executed_as_requested = true;
  if (!Traced(outcome)) return;
  result_.execution.counters = CountTiles(trace);
  result_.execution.plan = std::string("dialect=") +
                           DialectName(scene.asked.dialect) +
                           " tile=" + std::to_string(grid.tile_q) + "x" +
                           std::to_string(grid.tile_k);
  trace.slack = scene.asked.slack;
  const auto judging = std::chrono::steady_clock::now();
  const std::vector<Violation> violations = CheckPlan(trace, scene.mask);
  result_.reference_seconds = SecondsSince(judging);
  for (const InvariantInfo& info : Invariants()) {
    const auto found = std::find_if(
        violations.begin(), violations.end(), [&](const Violation& violation) {
          return violation.invariant == info.invariant;
        });
    result_.checks.push_back({info.name, found == violations.end(), 1});
    if (found == violations.end()) continue;
    // Without the name in front: the check has it.
    std::string message =
        found->message.substr(std::string(info.name).size() + 2);
    if (found->count > 1) {
      message += " (and " + std::to_string(found->count - 1) + " more)";
    }
    Find(Tier::kTables, info.name, message + "; sound: " + info.statement);
  }
  result_.rows = result_.rows_compared = grid.rows() * scene.mask.heads();
  AddPower(scene.mask);
  CheckCanary(scene);
  Decide();
}

CaseResult PlanJudgement::Run() {
  const auto start = std::chrono::steady_clock::now();
  Describe();
  const Result<BlockPlanScene> scene =
      OpenBlockPlan(*request_.call, options_.materialise);
  if (scene.ok()) {
    Judge(scene.value());
  } else {
    Find(Tier::kSelf, "inputs", scene.message());
    End(Verdict::kError, scene.message());
  }
  ApplyExpectation(&result_);
  result_.seconds = SecondsSince(start);
  return std::move(result_);
}

}  // namespace

CaseResult JudgeBlockPlan(const CaseRequest& request, Candidate& candidate,
                          const JudgeOptions& options) {
  return PlanJudgement(request, candidate, options).Run();
}

Result<BlockPlanScene> OpenBlockPlan(const Case& c,
                                     const MaterialiseOptions& options) {
  Result<AttentionForwardData> data = Materialise(c, options);
  if (!data.ok()) return data.status();
  const BlockPlanCase& asked = c.block_plan();
  IntendedMask mask =
      IntendedMask::Of(data->problem, data->inputs, 0, asked.segments);
  return BlockPlanScene{asked, std::move(data.value()), std::move(mask), c};
}

Result<std::unique_ptr<Trial>> CheckBlockPlan(
    const Case& c, const MaterialiseOptions& options) {
  const Result<AttentionForwardData> data = Materialise(c, options);
  if (!data.ok()) return data.status();
  return std::unique_ptr<Trial>();
}

RunOutcome PlanByOptimized(const BlockPlanScene& scene, PlanTrace* trace) {
  return PlanWith({}, scene, trace);
}

RunOutcome PlanByReference(const BlockPlanScene& scene, PlanTrace* trace) {
  const BlockPlanCase& c = scene.asked;
  *trace = PlanTrace();
  trace->grid = {c.q_len, c.kv_len, c.tile_q, c.tile_k};
  trace->boundary = TileOptionsOf(c).boundary;
  trace->computed = !c.blocks;
  trace->forward.push_back(WholePass(trace->grid, false, c.q_heads));
  trace->transposed.push_back(WholePass(trace->grid, true, c.q_heads));
  trace->forward[0].pool = {c.tile_q, c.tile_k, {}};
  for (int64_t h = 0; h < c.q_heads; ++h) {
    for (int64_t row = 0; row < trace->grid.rows(); ++row) {
      for (int64_t col = 0; col < trace->grid.cols(); ++col) {
        VisitTile(scene, h, row, col, trace);
      }
    }
    StoreAll(h, &trace->forward[0]);
    StoreAll(h, &trace->transposed[0]);
  }
  trace->transposed[0].pool = Transpose(trace->forward[0].pool);
  return {};
}

}  // namespace lockstep::verify
