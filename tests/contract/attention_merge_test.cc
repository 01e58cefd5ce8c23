// What Validate() refuses of a merge, one line each.
#include "reference/contract/attention_merge.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/attention_merge_problem.h"

namespace lockstep {
namespace {

std::string Refused(const AttentionMergeProblem& p) {
  const Status status = Validate(p);
  return status.ok() ? "" : status.message();
}

TEST(AttentionMergeContract, NamesTheExtentThatIsOutOfRange) {
  EXPECT_EQ(Refused({}), "");
  EXPECT_EQ(Refused({.parts = kMaxParts}), "");
  EXPECT_NE(Refused({.parts = 0}).find("s=0"), std::string::npos);
  EXPECT_NE(Refused({.parts = kMaxParts + 1}).find("s=4097"),
            std::string::npos);
  EXPECT_NE(Refused({.heads = 0}).find("h=0"), std::string::npos);
  EXPECT_NE(Refused({.rows = -1}).find("n=-1"), std::string::npos);
  EXPECT_NE(Refused({.value_dim = 0}).find("dv=0"), std::string::npos);
  EXPECT_NE(Refused({.parts = kMaxParts,
                     .heads = kMaxHeads,
                     .rows = kMaxLength,
                     .value_dim = kMaxChannels})
                .find("o_parts"),
            std::string::npos);
}

class Tensors : public testing::Test {
 protected:
  Tensors() {
    t_.problem = {.parts = 2, .heads = 3, .rows = 4, .value_dim = 5};
    t_.o.assign(120, 1.0f);
    t_.lse.assign(24, 0.0f);
    inputs_ = t_.Inputs();
  }
  std::string Refused() {
    const Status status = Validate(t_.problem, inputs_, out_.views);
    return status.ok() ? "" : status.message();
  }

  test::MergeInstance t_;
  AttentionMergeInputs inputs_;
  test::MergedTensors out_{{.parts = 2, .heads = 3, .rows = 4, .value_dim = 5}};
};

TEST_F(Tensors, AgreeWithTheProblem) { EXPECT_EQ(Refused(), ""); }

TEST_F(Tensors, NameWhatIsMissingOrOfAnotherShape) {
  inputs_.lse.data = nullptr;
  EXPECT_EQ(Refused(), "lse_parts is missing");
  inputs_ = t_.Inputs();
  inputs_.o.shape[3] = 4;
  EXPECT_EQ(Refused(), "o_parts has shape [2,3,4,4]; want [2,3,4,5]");
  inputs_ = t_.Inputs();
  inputs_.o.lane = Lane::kBf16;
  EXPECT_EQ(Refused(), "o_parts has lane bf16; want f32");
  inputs_ = t_.Inputs();
  out_.views.o.strides[2] = 0;
  EXPECT_NE(Refused().find("o overlaps itself"), std::string::npos);
}

// Parts may be broadcast; that is no fault of theirs.
TEST_F(Tensors, MayBroadcastInputs) {
  inputs_.lse.strides[0] = 0;
  EXPECT_EQ(Refused(), "");
}

}  // namespace
}  // namespace lockstep
