// Selection and fallback: a feature is never dropped, and who ran is said.
#include "optimized/attention_dispatch.h"

#include <vector>

#include "gtest/gtest.h"

namespace lockstep::optimized {
namespace {

FeatureSet Set(std::vector<Feature> features) {
  FeatureSet set;
  for (const Feature feature : features) set.Add(feature);
  return set;
}

// As in a chain of kernels of the trade: the sparse one knows no softcap.
std::vector<Backend> Chain() {
  return {{"sparse", Set({Feature::kMask, Feature::kSegments})},
          {"plain", Set({Feature::kMask})},
          {"general", AllFeatures()}};
}

AttentionForwardProblem Everything() {
  AttentionForwardProblem p;
  p.q_heads = 2;
  p.value_dim = p.head_dim + 1;
  p.softcap = 30;
  p.segments = p.sink = true;
  p.lane = p.p_lane = Lane::kBf16;
  p.order = ProductOrder::kAmx;
  MaskExpr causal, sink, dense, tree;
  causal.kind = MaskExpr::Kind::kCausal;
  sink.kind = MaskExpr::Kind::kSink;
  dense.kind = MaskExpr::Kind::kDense;
  tree.kind = MaskExpr::Kind::kOr;
  tree.children = {causal, sink, dense};
  p.masks = {tree, causal};
  return p;
}

TEST(Dispatch, RequiredFeaturesAreThoseOfTheCall) {
  AttentionForwardInputs in;
  EXPECT_EQ(FeatureNames(RequiredFeatures(AttentionForwardProblem(), in)), "");
  EXPECT_EQ(FeatureNames(RequiredFeatures(Everything(), in)),
            "softcap mask sink_tokens dense_mask head_masks segments "
            "sink_logit grouped_heads other_value_dim bf16 amx_order");
  in.valid_kv = {0};  // present and zero is present
  EXPECT_EQ(FeatureNames(RequiredFeatures(AttentionForwardProblem(), in)),
            "valid_counts");
  // A call has one order.
  AttentionForwardProblem steps = Everything();
  steps.order = ProductOrder::kHopper;
  EXPECT_EQ(FeatureNames(RequiredFeatures(steps, {})),
            "softcap mask sink_tokens dense_mask head_masks segments "
            "sink_logit grouped_heads other_value_dim bf16 step_order");
  // And one lane.
  AttentionForwardProblem half = Everything();
  half.lane = half.p_lane = Lane::kF16;
  half.order = ProductOrder::kChain;
  half.split = 2;
  EXPECT_EQ(FeatureNames(RequiredFeatures(half, {})),
            "softcap mask sink_tokens dense_mask head_masks segments "
            "sink_logit grouped_heads other_value_dim f16 split");
  AttentionForwardProblem fp8 = Everything();
  fp8.kv_lane = fp8.q_lane = Lane::kE4m3;
  EXPECT_EQ(FeatureNames(RequiredFeatures(fp8, {})),
            "softcap mask sink_tokens dense_mask head_masks segments "
            "sink_logit grouped_heads other_value_dim bf16 amx_order fp8_keys "
            "fp8_queries");
  FeatureSet all = RequiredFeatures(Everything(), in);
  all.bits |= RequiredFeatures(fp8, in).bits;
  all.bits |= RequiredFeatures(steps, in).bits;
  all.bits |= RequiredFeatures(half, in).bits;
  EXPECT_EQ(all, AllFeatures());
}

TEST(Dispatch, TheFirstEligibleBackendIsTaken) {
  const auto receipt = SelectBackend(Chain(), Set({Feature::kMask}), {});
  ASSERT_TRUE(receipt.ok());
  EXPECT_EQ(receipt->selected, "sparse");
  EXPECT_FALSE(receipt->explicit_request);
}

// Rule 1 of the trade's table takes the sparse kernel whatever the softcap.
TEST(Dispatch, ASoftcapIsNotDroppedForTheSparsePath) {
  const auto receipt =
      SelectBackend(Chain(), Set({Feature::kMask, Feature::kSoftcap}), {});
  ASSERT_TRUE(receipt.ok());
  EXPECT_EQ(receipt->selected, "general");
  ASSERT_EQ(receipt->tried.size(), 3u);
  EXPECT_EQ(receipt->tried[0].reason, "lacks softcap");
  EXPECT_EQ(receipt->tried[2].reason, "");
}

TEST(Dispatch, ANameIsHonouredOrRefusedNeverExchanged) {
  const auto plain = SelectBackend(Chain(), Set({Feature::kMask}), "plain");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->selected, "plain");
  EXPECT_TRUE(plain->explicit_request);
  const auto lacks = SelectBackend(Chain(), Set({Feature::kSegments}), "plain");
  EXPECT_EQ(lacks.status().message(),
            "no backend can serve the request (segments): plain lacks "
            "segments");
  EXPECT_FALSE(SelectBackend(Chain(), {}, "fast").ok());
}

TEST(Dispatch, NoEligibleBackendIsAnError) {
  std::vector<Backend> chain = Chain();
  chain.pop_back();
  const auto receipt = SelectBackend(chain, Set({Feature::kSinkLogit}), {});
  EXPECT_EQ(receipt.status().message(),
            "no backend can serve the request (sink_logit): sparse lacks "
            "sink_logit; plain lacks sink_logit");
  EXPECT_FALSE(SelectBackend({}, {}, {}).ok());
}

TEST(Dispatch, WhatIsAvailableRunsAndNeedsNoReason) {
  const std::vector<Backend> chain = Chain();
  const auto selection = SelectBackend(chain, Set({Feature::kMask}), {});
  const auto receipt = FallBack(chain, selection.value());
  ASSERT_TRUE(receipt.ok());
  EXPECT_EQ(receipt->actual, "sparse");
  EXPECT_EQ(receipt->reason, "");
}

// A fallback that lacks what the request needs is passed over, too.
TEST(Dispatch, TheFallbackHasEveryFeature) {
  std::vector<Backend> chain = Chain();
  chain[0].available = false;
  chain[0].why_not = "this CPU has no such unit";
  const FeatureSet required = Set({Feature::kMask, Feature::kSegments});
  const auto selection = SelectBackend(chain, required, "sparse");
  ASSERT_TRUE(selection.ok());  // selected is not executed
  EXPECT_EQ(selection->selected, "sparse");
  const auto receipt = FallBack(chain, selection.value());
  ASSERT_TRUE(receipt.ok());
  EXPECT_EQ(receipt->requested, "sparse");
  EXPECT_EQ(receipt->actual, "general");
  EXPECT_EQ(receipt->reason, "this CPU has no such unit");
  EXPECT_EQ(receipt->tried[1].reason, "lacks segments");
  chain[2].available = false;
  const auto none = FallBack(chain, selection.value());
  EXPECT_EQ(none.status().message(),
            "'sparse' cannot run and nothing can step in: sparse this CPU has "
            "no such unit; plain lacks segments; general is not available");
}

}  // namespace
}  // namespace lockstep::optimized
