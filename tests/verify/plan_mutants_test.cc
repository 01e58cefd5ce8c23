// The checker of block tables on trial: every planted defect is caught and
// named, and the same case without it is sound.
#include "verify/tables/mutants.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "verify/case/block_plan.h"
#include "verify/case/case.h"
#include "verify/registry/ops.h"
#include "verify/tables/invariants.h"
#include "verify/tables/planner.h"
#include "verify/tables/scene.h"

namespace lockstep::verify {
namespace {

std::string Messages(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations)
    text += violation.message + "\n";
  return text;
}

TEST(PlanMutants, EveryOneIsCaughtAndNamed) {
  EXPECT_GE(PlanMutants().size(), 30u);
  for (const PlanMutantInfo& mutant : PlanMutants()) {
    SCOPED_TRACE(mutant.name);
    const Result<PlanTrial> sound = TryPattern(mutant, false);
    ASSERT_TRUE(sound.ok()) << sound.message();
    const auto none = CheckPlan(sound->trace, sound->mask);
    EXPECT_TRUE(none.empty()) << Messages(none);
    const Result<PlanTrial> broken = TryPattern(mutant, true);
    ASSERT_TRUE(broken.ok()) << broken.message();
    const auto found = CheckPlan(broken->trace, broken->mask);
    EXPECT_TRUE(std::any_of(
        found.begin(), found.end(),
        [&](const Violation& v) { return v.invariant == mutant.invariant; }))
        << "want " << InfoOf(mutant.invariant).name << ", found:\n"
        << Messages(found);
  }
}

TEST(PlanMutants, NamesAreDifferentAndEveryInvariantHasOne) {
  std::set<std::string> names;
  std::set<Invariant> invariants;
  for (const PlanMutantInfo& mutant : PlanMutants()) {
    EXPECT_TRUE(names.insert(mutant.name).second) << mutant.name;
    invariants.insert(mutant.invariant);
  }
  EXPECT_EQ(invariants.size(), Invariants().size());
}

TEST(PlanMutants, ThePageListsEveryOneAndEveryInvariant) {
  std::ifstream file("docs/plans.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const PlanMutantInfo& mutant : PlanMutants()) {
    const std::string row =
        std::string("| ") + mutant.name + " | " + mutant.family + " | " +
        InfoOf(mutant.invariant).name + " | " + mutant.breaks + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
  for (const InvariantInfo& info : Invariants()) {
    const std::string row =
        std::string("| ") + info.name + " | " + info.statement + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << row;
  }
}

// A plan judged by the truth is the planner's own, head by head.
TEST(PlanMutants, JudgedByTheTruthIsThePlan) {
  for (const char* line :
       {"block_plan hq=3 sq=7 skv=9 bq=2 bk=4 mask=causal&window:3,0 "
        "mask.h1=window:1,1 align=br",
        "block_plan sq=9 skv=9 bq=4 bk=2 mask=random:0.5 padded=yes",
        "block_plan sq=3 skv=3 bq=2 bk=2 padded=yes",
        "block_plan sq=9 skv=9 bq=4 bk=2 mask=causal blocks=no"}) {
    SCOPED_TRACE(line);
    const Case call = ParseCase(line).value();
    const BlockPlanScene scene = std::move(OpenBlockPlan(call, {}).value());
    const optimized::TilePlan plan =
        PlanTiles(scene.data.problem, scene.data.inputs, 0,
                  TileOptionsOf(scene.asked))
            .value();
    optimized::TilePlan judged = plan;
    Rejudge(
        scene.mask,
        [](int64_t, int64_t, int64_t, optimized::TileClass c) { return c; },
        &judged);
    EXPECT_EQ(judged.patterns, plan.patterns);
    EXPECT_EQ(judged.pool, plan.pool);
  }
}

// A bug has nothing to say about a mask without anything to get wrong, and
// answers every case that is legal.
TEST(PlanMutants, EveryOneAnswersAnyCase) {
  for (const PlanMutantInfo& mutant : PlanMutants()) {
    SCOPED_TRACE(mutant.name);
    for (const char* line :
         {"block_plan sq=1 skv=1 bq=1 bk=1",
          "block_plan sq=5 skv=3 bq=2 bk=2 valid_kv=0",
          "block_plan hq=2 sq=3 skv=9 bq=4 bk=2 mask=causal "
          "mask.h1=window:1,0 width=7",
          "block_plan sq=8 skv=8 bq=4 bk=2 dialect=splash q_shards=2",
          "block_plan sq=8 skv=8 bq=4 bk=2 dialect=flat_list kv_shards=4",
          "block_plan sq=7 skv=3 bq=4 bk=2 dialect=block_mask"}) {
      const Case call = ParseCase(line).value();
      const BlockPlanScene scene = std::move(OpenBlockPlan(call, {}).value());
      PlanTrace trace;
      const RunOutcome outcome = PlanWith(mutant.bug, scene, &trace);
      ASSERT_NE(outcome.state, RunOutcome::State::kError) << outcome.message;
      if (outcome.state == RunOutcome::State::kRan) {
        CheckPlan(trace, scene.mask);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::verify
