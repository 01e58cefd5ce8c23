// Kernels that add in no fixed order: every known bug is found in them, too,
// but for those that only other bits show.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "tests/verify/judge_line.h"
#include "verify/emulator/mutants.h"

namespace lockstep::verify {
namespace {

// A bug that is nothing but other bits: a law of bits alone tells it.
constexpr const char* kOtherBits[] = {"attn.racy"};

// Bugs within every envelope, of ordered kernels, too: they break the
// contract's own bits, which no kernel of a profile claims.
constexpr const char* kWithinEnvelopes[] = {
    "attn.out_double_rounded", "attn.block_of_16",
    "attn.block_odd_first",    "attn.block_unflushed",
    "attn.block_from_sum",     "attn.unit_half_step",
    "attn.unit_fewer_bits",    "attn.unit_more_bits",
    "attn.unit_terms_nearest", "attn.unit_sums_nearest",
    "attn.unit_sum_apart",     "attn.unit_normalised_first",
};

template <size_t kCount>
bool Lists(const char* const (&names)[kCount], const std::string& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// A kernel of a profile whose runs differ, with the bug, and the case that
// shows it, in that kernel's lane.
struct UnorderedBug {
  std::string spec;
  std::string line;
};
UnorderedBug Unordered(const MutantInfo& bug) {
  UnorderedBug made = {bug.base, bug.pattern};
  const bool narrow = made.line.find("bf16") != std::string::npos;
  if (made.spec == "exact" || made.spec.starts_with("exact-")) {
    made.spec = narrow ? "flash" : "cpu";
    if (narrow && made.line.find("lane=bf16") == std::string::npos) {
      made.line += " lane=bf16";
    }
  }
  if (made.spec == "grad-exact") made.spec = "grad-cpu";
  // What few elements leave room for, more of them do not.
  if (made.spec == "cpu-tf32") {
    for (int seed = 1; seed < 9; ++seed) {
      made.line +=
          " ;; " + std::string(bug.pattern) + " seed=" + std::to_string(seed);
    }
  }
  if (made.spec == "flash") {
    made.line += " ;; attention_forward sq=16 skv=33 d=16 lane=bf16 p=bf16";
  }
  made.spec =
      std::string("mutant:") + bug.name + ",base=" + made.spec + "-unordered";
  return made;
}

TEST(Unordered, PassesWithinItsEnvelope) {
  const struct {
    const char* spec;
    const char* line;
  } kKernels[] = {
      {"variant:cpu-unordered",
       "attention_forward hq=2 sq=12 skv=20 d=8 mask=causal align=br"},
      {"variant:flash-unordered",
       "attention_forward hq=2 sq=12 skv=20 d=8 lane=bf16 p=bf16"},
      {"variant:grad-cpu-unordered",
       "attention_backward hq=2 sq=12 skv=20 d=8 mask=causal align=br"},
      {"variant:scan-unordered", "mamba3_scan h=2 t=24 n=8 p=4 s=2"},
      {"variant:scan-grad-unordered",
       "mamba3_scan_backward h=2 t=12 n=8 p=4 s=2"},
  };
  for (const auto& [spec, line] : kKernels) {
    const CaseResult result = JudgeSpec(line, spec);
    EXPECT_EQ(result.verdict, Verdict::kPass) << spec << result.reason;
    EXPECT_GT(result.runs_apart, 0) << spec;
    EXPECT_GT(result.runs_again, result.runs_apart) << spec;
  }
}

TEST(Unordered, HidesNoBugButThoseOfBits) {
  for (const MutantInfo& bug : Mutants()) {
    const UnorderedBug unordered = Unordered(bug);
    const auto sequence = ParseCaseSequence(unordered.line);
    ASSERT_TRUE(sequence.ok()) << unordered.line;
    const auto candidate = ParseCandidate(unordered.spec);
    ASSERT_TRUE(candidate.ok()) << candidate.message();
    bool found = false;
    for (const Case& c : sequence.value()) {
      const Verdict verdict =
          JudgeLine(MinimalLine(c), *candidate.value()).verdict;
      found |= verdict == Verdict::kFail || verdict == Verdict::kError;
    }
    const bool listed =
        Lists(kOtherBits, bug.name) || Lists(kWithinEnvelopes, bug.name);
    EXPECT_EQ(found, !listed) << unordered.spec << " " << unordered.line;
  }
}

// These are no loss of order.
TEST(Unordered, BugsWithinEnvelopesPassInOrder) {
  for (const char* name : kWithinEnvelopes) {
    const std::string spec = std::string("mutant:") + name;
    const std::string line = ParseMutant(name)->info->pattern;
    EXPECT_EQ(JudgeSpec(line, spec + ",base=flash").verdict, Verdict::kPass)
        << name;
    EXPECT_EQ(JudgeSpec(line, spec).verdict, Verdict::kFail) << name;
  }
}

}  // namespace
}  // namespace lockstep::verify
