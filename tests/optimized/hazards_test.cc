// Six ways in which keys and payloads of masks go wrong in the trade, each
// shut here.
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "optimized/mask_class.h"
#include "optimized/plan_key.h"
#include "reference/contract/mask.h"
#include "reference/mask.h"

namespace lockstep::optimized {
namespace {

using Kind = MaskExpr::Kind;

MaskExpr Term(Kind kind) {
  MaskExpr mask;
  mask.kind = kind;
  return mask;
}

MaskExpr Window(int64_t left, int64_t right) {
  MaskExpr mask = Term(Kind::kWindow);
  mask.left = left;
  mask.right = right;
  return mask;
}

MaskExpr Sink(int64_t tokens) {
  MaskExpr mask = Term(Kind::kSink);
  mask.tokens = tokens;
  return mask;
}

MaskExpr Join(Kind kind, std::vector<MaskExpr> children) {
  MaskExpr mask = Term(kind);
  mask.children = std::move(children);
  return mask;
}

AttentionForwardProblem With(MaskExpr mask) {
  AttentionForwardProblem p;
  p.q_len = p.kv_len = 32;
  p.masks = {std::move(mask)};
  return p;
}

PlanKey KeyOf(const AttentionForwardProblem& p) {
  TileOptions tiles;
  tiles.tile_q = tiles.tile_k = 8;
  const Result<PlanKey> key = MakePlanKey(p, false, tiles, 4, 4);
  EXPECT_TRUE(key.ok()) << key.message();
  return key.value();
}

// Pairs of the mask, by its meaning.
std::vector<bool> Pairs(const AttentionForwardProblem& p) {
  std::vector<bool> pairs;
  for (int64_t i = 0; i < p.q_len; ++i) {
    for (int64_t j = 0; j < p.kv_len; ++j) {
      pairs.push_back(reference::IsVisible(p, {}, 0, 0, i, j));
    }
  }
  return pairs;
}

// h1: the key says ids, the call brings none.
TEST(Hazards, H1AMissingPayloadIsRefused) {
  AttentionForwardProblem p = With(Term(Kind::kCausal));
  p.segments = true;
  EXPECT_FALSE(CheckPayload(KeyOf(p), {}).ok());
}

// h2: a key of flags only takes two windows for one.
TEST(Hazards, H2WindowsArePartOfTheKey) {
  const auto key = [](int64_t left) {
    return KeyOf(
        With(Join(Kind::kAnd, {Term(Kind::kCausal), Window(left, 0)})));
  };
  EXPECT_TRUE(key(4) == key(4));
  for (int64_t left = 0; left < 30; ++left) {
    EXPECT_FALSE(key(left) == key(left + 1)) << left;
  }
}

// h3: a negative window is kept by one side and clamped to "off" by the other.
TEST(Hazards, H3NegativeWindowsAreRefusedAtTheDoor) {
  for (const int64_t left : {int64_t{-2}, int64_t{-100}, INT64_MIN}) {
    EXPECT_FALSE(Validate(With(Window(left, 0))).ok()) << left;
    EXPECT_FALSE(Validate(With(Window(0, left))).ok()) << left;
  }
  // Zero is a window of the query's own key, not "off".
  EXPECT_FALSE(KeyOf(With(Window(0, 0))) == KeyOf(With(Window(kUnlimited, 0))));
}

// h4: "no window" is (-1, 0) in one place and (-1, -1) in another. Here the
// first is causal, the second full, and the default is written nowhere twice.
TEST(Hazards, H4DefaultsOfWindowsAreTwoMasks) {
  const PlanKey none = KeyOf(With(MaskExpr()));
  EXPECT_TRUE(KeyOf(With(Window(kUnlimited, kUnlimited))) == none);
  EXPECT_FALSE(KeyOf(With(Window(kUnlimited, 0))) == none);
  EXPECT_EQ(Pairs(With(Window(kUnlimited, 0))),
            Pairs(With(Term(Kind::kCausal))));
}

// h5: a list of terms does not say how they combine. A tree does: each way to
// join causal, local and sink is another mask and another key.
TEST(Hazards, H5HowTermsCombineIsPartOfTheKey) {
  const MaskExpr causal = Term(Kind::kCausal);
  const MaskExpr local = Window(4, 4);
  const MaskExpr sink = Sink(2);
  const AttentionForwardProblem ways[] = {
      With(Join(Kind::kAnd, {causal, Join(Kind::kOr, {local, sink})})),
      With(Join(Kind::kAnd, {causal, local, sink})),
      With(Join(Kind::kOr, {Join(Kind::kAnd, {causal, local}), sink})),
      With(Join(Kind::kOr, {causal, local, sink})),
  };
  for (const auto& a : ways) {
    for (const auto& b : ways) {
      EXPECT_EQ(KeyOf(a) == KeyOf(b), &a == &b);
      EXPECT_EQ(Pairs(a) == Pairs(b), &a == &b);
    }
  }
}

// h6: keys by identity plan again, keys by a lossy value take one for another.
TEST(Hazards, H6KeysAreValues) {
  const PlanKey key = KeyOf(With(Window(4, 0)));
  EXPECT_TRUE(KeyOf(With(Window(4, 0))) == key);  // two objects, one value
  AttentionForwardProblem scaled = With(Window(4, 0));
  scaled.scale = 1.0 + 0x1p-52;
  EXPECT_FALSE(KeyOf(scaled) == key);
}

}  // namespace
}  // namespace lockstep::optimized
