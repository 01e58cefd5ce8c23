// The compiled instruction sets that this CPU runs, for tests that loop over
// them, and tests that name the others: what a CPU cannot execute is `not run`,
// never passed.
#ifndef LOCKSTEP_TESTS_SUPPORT_RUNNABLE_TARGETS_H_
#define LOCKSTEP_TESTS_SUPPORT_RUNNABLE_TARGETS_H_

#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/plan.h"

namespace lockstep::optimized {

// As gtest shows the parameter of a test.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << target.name;
}

}  // namespace lockstep::optimized

namespace lockstep::test {

// Names of the supported ones, best first.
inline std::vector<std::string> RunnableTargets() {
  std::vector<std::string> names;
  for (const optimized::Target& target : optimized::Targets()) {
    if (target.supported) names.push_back(target.name);
  }
  return names;
}

class CompiledTarget : public testing::TestWithParam<optimized::Target> {
 protected:
  void SetUp() override {
    if (GetParam().supported) return;
    GTEST_SKIP() << "not run: " << GetParam().name << " (this CPU)";
  }
};

inline std::string NameOfTarget(
    const testing::TestParamInfo<optimized::Target>& info) {
  return info.param.name;
}

}  // namespace lockstep::test

// One test per compiled target that is skipped, by name, where the loops of
// this program leave the target out. Once per program, in any namespace.
#define LOCKSTEP_NAME_TARGETS_NOT_RUN()                        \
  using CompiledTargets = ::lockstep::test::CompiledTarget;    \
  TEST_P(CompiledTargets, Runs) {                              \
    EXPECT_FALSE(::lockstep::test::RunnableTargets().empty()); \
  }                                                            \
  INSTANTIATE_TEST_SUITE_P(                                    \
      All, CompiledTargets,                                    \
      ::testing::ValuesIn(::lockstep::optimized::Targets()),   \
      ::lockstep::test::NameOfTarget)

// The same for the bf16 dot instruction, which only some targets have.
#define LOCKSTEP_NAME_NATIVE_DOT_NOT_RUN()                        \
  TEST(NativeDotInstruction, Runs) {                              \
    for (const auto& target : ::lockstep::optimized::Targets()) { \
      if (target.supported && target.native_dot) return;          \
    }                                                             \
    GTEST_SKIP() << "not run: bf16 dot instruction (this CPU)";   \
  }                                                               \
  static_assert(true)

#endif  // LOCKSTEP_TESTS_SUPPORT_RUNNABLE_TARGETS_H_
