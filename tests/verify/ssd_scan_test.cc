// ssd_scan before the judge: the keys it has, the tensors it shows, a law.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/ops/op.h"
#include "verify/ops/ssd_scan/trial.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

TEST(SsdCase, HasTheKeysOfMamba2Only) {
  for (const char* key :
       {"s=2", "variant=mimo", "r=1", "rot=bf16", "bias=no", "reduce=no",
        "norm=1e-5", "tau=const:0", "rate=const:0"}) {
    const auto c = ParseCase(std::string("ssd_scan t=4 n=8 p=2 ") + key);
    ASSERT_FALSE(c.ok()) << key;
    EXPECT_NE(c.message().find("of ssd_scan"), std::string::npos)
        << c.message();
  }
  const auto part = ParseCase("ssd_scan t=4 n=8 p=2 carry=hk");
  EXPECT_NE(part.message().find("expected 'no' or 'yes'"), std::string::npos)
      << part.message();
  const auto whole = ParseCase("ssd_scan t=4 n=8 p=2 carry=yes");
  ASSERT_TRUE(whole.ok()) << whole.message();
  EXPECT_TRUE(ValidateCase(whole.value()).ok());
  EXPECT_EQ(MinimalLine(whole.value()), "ssd_scan t=4 n=8 p=2 carry=yes");
}

TEST(SsdTrial, ShowsWhatMamba2Reads) {
  const auto trial = Open("ssd_scan t=4 h=2 g=1 n=8 p=3 carry=yes gate=yes");
  std::vector<std::string> names;
  for (const NamedTensor& x : trial->Inputs().tensors) names.push_back(x.name);
  EXPECT_EQ(names, (std::vector<std::string>{"q", "k", "v", "z", "dt", "a", "d",
                                             "init_h"}));
  const KernelInputs inputs = trial->Inputs();
  EXPECT_EQ(inputs.op, "ssd_scan");
  EXPECT_EQ(inputs.Find("q")->shape, (std::vector<int64_t>{1, 4, 1, 8}));
  EXPECT_EQ(inputs.Find("init_h")->shape, (std::vector<int64_t>{1, 2, 3, 8}));
  const auto has = [&](const char* name) {
    return std::any_of(inputs.scalars.begin(), inputs.scalars.end(),
                       [&](const auto& s) { return s.first == name; });
  };
  EXPECT_TRUE(has("n") && has("runs") && has("carry_in"));
  EXPECT_FALSE(has("r") || has("s") || has("bias") || has("norm_epsilon"));
  const OutputSet outputs = Reference(*trial);
  const KernelCall call = trial->Call(0, outputs);
  ASSERT_EQ(call.outputs.size(), 2u);
  EXPECT_EQ(call.outputs[0].shape, (std::vector<int64_t>{1, 4, 2, 3}));
  EXPECT_EQ(call.outputs[1].name, "carry_h");
  EXPECT_EQ(call.outputs[1].shape, (std::vector<int64_t>{1, 2, 3, 8}));
}

// What a call exports is all that the next one needs, but behind a value that
// is not finite: that law is then not tried.
TEST(SsdLaws, AChainIsTheWholeWhereItsTokensAreFinite) {
  const auto splits = [](const std::string& line) {
    const auto trial = Open(line);
    const auto law = trial->laws().MakeLaw("split", 1);
    EXPECT_TRUE(law.ok()) << law.message();
    return law->calls.size();
  };
  EXPECT_EQ(splits("ssd_scan t=2 n=2 p=1 seed=1"), 2u);
  EXPECT_EQ(splits("ssd_scan t=2 n=2 p=1 fill=special:1 seed=1"), 0u);
  EXPECT_EQ(splits("mamba3_scan t=2 n=4 p=1 fill=special:1 seed=1"), 2u);
  const CaseResult result = JudgeSpec(
      "ssd_scan t=2 n=2 p=1 fill=special:0.2 seed=1", "builtin:optimized");
  EXPECT_NE(result.verdict, Verdict::kFail) << result.reason;
}

}  // namespace
}  // namespace lockstep::verify
