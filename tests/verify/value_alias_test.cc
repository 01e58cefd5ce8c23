// V in k: which lines are legal, that there is one buffer, and that only
// addresses change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/volume.h"
#include "tests/verify/encoding_lines.h"
#include "tests/verify/trials.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"
#include "verify/domain/draws/further.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/pages.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/laws.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

constexpr const char* kLatent =
    "attention_forward b=2 hq=4 hkv=1 sq=2 skv=10 d=6 alias=v_in_k:4";

// V uses k's memory, and o and lse are those of separate k and v.
void ExpectBits(const Case& c, uint64_t n) {
  const auto trial = Open(c);
  const auto& attention = dynamic_cast<const AttentionForwardTrial&>(*trial);
  ASSERT_EQ(attention.data().inputs.v.data, attention.data().inputs.k.data);
  const Result<Law> law = trial->laws().MakeLaw("encoding", 1);
  ASSERT_TRUE(law.ok()) << law.message();
  const Trial& plain = *law->calls[0].trial;
  const auto& apart = dynamic_cast<const AttentionForwardTrial&>(plain);
  ASSERT_NE(apart.data().inputs.v.data, apart.data().inputs.k.data);
  ExpectBitsOnTargets(Reference(plain), *trial, n, MinimalLine(c));
}

TEST(ValueAlias, LinesWithoutMeaningAreRefused) {
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=k_in_v:2"),
            "column 40: expected none or v_in_k:DV, found 'k_in_v:2' (alias is "
            "none|v_in_k:DV)");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:0"),
            "column 47: v has 0 channels of k; want 1 or more (alias is "
            "none|v_in_k:DV)");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:5"),
            "alias=v_in_k:5: k has only d=4 channels");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 dv=2 alias=v_in_k:3"),
            "alias=v_in_k:3: v has 3 channels, not dv=2");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:2 strides=v:18/18/2/1"),
            "alias=v_in_k:2: v has the strides of k");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:2 layout=varlen"),
            "alias=v_in_k:2: layout=varlen needs separate memory for v");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:2 kvlane=e4m3"),
            "alias=v_in_k:2: kvlane= needs separate memory for v");
  EXPECT_EQ(
      ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:2 fill=qk.normal:1+v.normal:2"),
      "alias=v_in_k:2: fill v.normal:2 is of v, which has the numbers of "
      "k");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 alias=v_in_k:4 fill=probe:comb"),
            "fill probe:comb: v is all of k");
  EXPECT_NE(ParseCase("attention_backward sq=1 skv=9 d=4 alias=v_in_k:2")
                .message()
                .find("unknown key 'alias'"),
            std::string::npos);
}

TEST(ValueAlias, ThereIsOneBuffer) {
  const AttentionForwardData data = DataOf(kLatent);
  EXPECT_EQ(data.inputs.v.data, data.inputs.k.data);
  EXPECT_EQ(data.inputs.v.strides, data.inputs.k.strides);
  EXPECT_EQ(data.inputs.v.shape[3], 4);
  const Result<AttentionForwardData> copy = Clone(data);
  ASSERT_TRUE(copy.ok());
  EXPECT_NE(copy->inputs.k.data, data.inputs.k.data);
  EXPECT_EQ(copy->inputs.v.data, copy->inputs.k.data);
  const AttentionForwardData paged = DataOf(std::string(kLatent) + " page=4");
  const Result<KeyPool> pool = MakeKeyPool(paged);
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->view().v.data, pool->view().k.data);
  EXPECT_EQ(pool->view().v.strides, pool->view().k.strides);
  // V takes no bytes of its own.
  const auto bytes = [](const std::string& line) {
    return EstimateBytes(ParseCase(line).value());
  };
  EXPECT_EQ(bytes(kLatent) + 2 * 10 * 4 * 4,
            bytes("attention_forward b=2 hq=4 hkv=1 sq=2 skv=10 d=6 dv=4"));
}

// A kernel gets v as a part of k, and a number can tell it so.
TEST(ValueAlias, IsHandedOverAsAView) {
  const auto trial = Open(kLatent);
  const KernelInputs inputs = trial->Inputs();
  EXPECT_TRUE(trial->wants().NeededWants().empty());
  ASSERT_EQ(inputs.tensors[2].name, "v");
  EXPECT_EQ(inputs.HolderOf(2), 1u);
  const KernelInputs turned = TurnedInputs(inputs);
  EXPECT_EQ(turned.HolderOf(2), 1u);
  EXPECT_NE(turned.tensors[1].data, inputs.tensors[1].data);
  const auto told =
      std::find_if(inputs.scalars.begin(), inputs.scalars.end(),
                   [](const auto& one) { return one.first == "v_in_k"; });
  ASSERT_NE(told, inputs.scalars.end());
  EXPECT_EQ(std::get<int64_t>(told->second), 4);
}

TEST(ValueAlias, LawsChangeKeysAndValuesTogether) {
  const auto trial = Open(kLatent);
  const std::vector<std::string> names = trial->laws().LawNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "encoding"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "scale"), 0);
  EXPECT_TRUE(trial->laws().MakeLaw("encoding", 5)->may_be_refused);
  const Result<Law> rows = trial->laws().MakeLaw("neighbours", 5);
  ASSERT_TRUE(rows.ok());
  const auto& other =
      dynamic_cast<const AttentionForwardTrial&>(*rows->calls[0].trial);
  EXPECT_EQ(other.data().inputs.v.data, other.data().inputs.k.data);
}

// Drawn cases: our kernel reads one buffer, the reference two.
TEST(ValueAlias, DrawnCasesHaveTheBitsOfValuesApart) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int64_t aliased = 0, paged = 0;
  for (uint64_t n = 0; n < EncodingDraws(4000); ++n) {
    const Case c = DrawCase(domain, {}, 18, n)[0];
    const auto& a = c.Get<AttentionForwardCase>();
    if (a.v_in_k == 0) continue;
    ++aliased;
    paged += a.page.any() ? 1 : 0;
    ExpectBits(c, n);
  }
  RecordProperty("cases", static_cast<int>(aliased));
  EXPECT_GT(aliased, test::Volume(100));
  EXPECT_GT(paged, 0);
}

// Further draws leave out the keys that describe v alone.
TEST(ValueAlias, HasFurtherDraws) {
  const Case c =
      ParseCase(std::string(kLatent) + " cap=5 sinklogit=normal:1").value();
  const std::vector<Case> draws = FurtherDraws(c, 12);
  EXPECT_EQ(draws.size(), 12u);
  for (const Case& drawn : draws) {
    EXPECT_EQ(drawn.Get<AttentionForwardCase>().v_in_k, 4);
  }
}

}  // namespace
}  // namespace lockstep::verify
