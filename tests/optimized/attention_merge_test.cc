// The promise: the same bits as the reference for every target and number of
// threads.
#include "optimized/attention_merge.h"

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/attention_merge.h"
#include "tests/support/attention_merge_problem.h"
#include "tests/support/runnable_targets.h"

namespace lockstep::optimized {
namespace {

using test::MergedTensors;
using test::MergeInstance;

LOCKSTEP_NAME_TARGETS_NOT_RUN();

// Problems to try; LOCKSTEP_MERGE_PROBLEMS asks for more.
uint32_t Problems() {
  const char* asked = std::getenv("LOCKSTEP_MERGE_PROBLEMS");
  return asked ? static_cast<uint32_t>(std::strtoul(asked, nullptr, 10)) : 300;
}

TEST(AttentionMerge, BitsEqualTheReferenceOnRandomProblems) {
  const std::vector<std::string> targets = test::RunnableTargets();
  for (uint32_t seed = 0; seed < Problems(); ++seed) {
    std::mt19937 rng(seed);
    MergeInstance t = test::RandomMerge(rng);
    const AttentionMergeInputs inputs = t.Inputs();
    MergedTensors expected(t.problem);
    ASSERT_TRUE(
        reference::AttentionMerge(t.problem, inputs, expected.views).ok());
    for (const std::string& target : targets) {
      MergedTensors got(t.problem);
      AttentionMergeExecution ran;
      const AttentionMergeCaps caps = {target, 1 + static_cast<int>(seed % 3)};
      ASSERT_TRUE(
          AttentionMerge(t.problem, inputs, caps, got.views, &ran).ok());
      EXPECT_EQ(ran.target, target);
      EXPECT_GE(ran.threads, 1);
      ASSERT_EQ(expected.Bits(), got.Bits())
          << "seed " << seed << " " << target << " s " << t.problem.parts
          << " dv " << t.problem.value_dim;
    }
  }
}

// Rows whose channels lie apart, and parts that are broadcast.
TEST(AttentionMerge, BitsEqualTheReferenceWithAnyStrides) {
  MergeInstance t;
  t.problem = {.parts = 3, .heads = 2, .rows = 5, .value_dim = 7};
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (int n = 0; n < 500; ++n) t.o.push_back(normal(rng));
  for (int n = 0; n < 30; ++n) t.lse.push_back(normal(rng));
  AttentionMergeInputs inputs = t.Inputs();
  inputs.o.strides = {1, 3, 6, 60};
  inputs.lse.strides = {10, 0, 2};
  MergedTensors expected(t.problem);
  ASSERT_TRUE(
      reference::AttentionMerge(t.problem, inputs, expected.views).ok());
  for (const std::string& target : test::RunnableTargets()) {
    MergedTensors got(t.problem);
    ASSERT_TRUE(
        AttentionMerge(t.problem, inputs, {target, 2}, got.views, nullptr)
            .ok());
    EXPECT_EQ(expected.Bits(), got.Bits()) << target;
  }
}

TEST(AttentionMerge, RefusesATargetThatDoesNotExist) {
  MergeInstance t;
  t.o = {1};
  t.lse = {0};
  MergedTensors out(t.problem);
  const Status status =
      AttentionMerge(t.problem, t.Inputs(), {"AVX9", 1}, out.views, nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("AVX9"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::optimized
