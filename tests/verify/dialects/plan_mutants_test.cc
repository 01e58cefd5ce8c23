// The checker of block tables on trial: every planted defect is caught and
// named, and the same case without it is sound.
#include "verify/plan_mutants.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/verify/plan_fixture.h"
#include "verify/plan_invariants.h"
#include "verify/plan_scene.h"

namespace lockstep::verify {
namespace {

TEST(PlanMutants, EveryOneIsCaughtAndNamed) {
  EXPECT_GE(PlanMutants().size(), 30u);
  for (const PlanMutantInfo& mutant : PlanMutants()) {
    SCOPED_TRACE(mutant.name);
    const PlanTrial sound = mutant.trial(false);
    const auto none = CheckPlan(sound.trace, sound.mask);
    EXPECT_TRUE(none.empty()) << test::Messages(none);
    const PlanTrial broken = mutant.trial(true);
    const auto found = CheckPlan(broken.trace, broken.mask);
    EXPECT_TRUE(std::any_of(
        found.begin(), found.end(),
        [&](const Violation& v) { return v.invariant == mutant.invariant; }))
        << "want " << InfoOf(mutant.invariant).name << ", found:\n"
        << test::Messages(found);
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

// A scene that is not bent has the planner's own plan.
TEST(PlanMutants, JudgedByTheTruthIsThePlan) {
  const PlanScene scene = MakeScene(
      {7, 9, 2, 4}, 1,
      [](int64_t, int64_t i, int64_t j) { return j <= i + 1 && j != 2; });
  const optimized::TilePlan judged =
      Judged(scene, [](int64_t, int64_t, optimized::TileClass c) { return c; });
  EXPECT_EQ(judged.patterns, scene.plan.patterns);
  EXPECT_EQ(judged.pool, scene.plan.pool);
}

}  // namespace
}  // namespace lockstep::verify
