// Masks as pictures: rows are queries, 'x' is visible.
#include "reference/mask.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lockstep::reference {
namespace {

struct Scene {
  AttentionForwardProblem problem;
  AttentionForwardInputs inputs;
  std::vector<int32_t> q_seg, kv_seg;
};

std::string Picture(Scene& s) {
  AttentionForwardProblem& p = s.problem;
  p.segments = !s.kv_seg.empty();
  if (p.segments) {
    s.inputs.q_seg = {s.q_seg.data(), {1, p.q_len}, {p.q_len, 1}};
    s.inputs.kv_seg = {s.kv_seg.data(), {1, p.kv_len}, {p.kv_len, 1}};
  }
  std::string picture;
  for (int64_t i = 0; i < p.q_len; ++i) {
    if (i > 0) picture += "|";
    for (int64_t j = 0; j < p.kv_len; ++j) {
      picture += IsVisible(p, s.inputs, 0, 0, i, j) ? 'x' : '.';
    }
  }
  return picture;
}

Scene Make(int64_t q_len, int64_t kv_len, MaskExpr mask,
           Alignment align = Alignment()) {
  Scene s;
  s.problem.q_len = q_len;
  s.problem.kv_len = kv_len;
  s.problem.masks = {mask};
  s.problem.align = align;
  return s;
}

MaskExpr Causal() {
  MaskExpr m;
  m.kind = MaskExpr::Kind::kCausal;
  return m;
}
MaskExpr Window(int64_t left, int64_t right) {
  MaskExpr m;
  m.kind = MaskExpr::Kind::kWindow;
  m.left = left;
  m.right = right;
  return m;
}
MaskExpr Sink(int64_t tokens) {
  MaskExpr m;
  m.kind = MaskExpr::Kind::kSink;
  m.tokens = tokens;
  return m;
}
MaskExpr Join(MaskExpr::Kind kind, MaskExpr a, MaskExpr b) {
  MaskExpr m;
  m.kind = kind;
  m.children = {a, b};
  return m;
}

constexpr Alignment kTopLeft{};
constexpr Alignment kBottomRight{Alignment::Kind::kBottomRight, 0};
constexpr Alignment At(int64_t offset) {
  return {Alignment::Kind::kOffset, offset};
}

TEST(IsVisible, CausalAlignments) {
  const auto picture = [](int64_t sq, int64_t skv, Alignment align) {
    Scene s = Make(sq, skv, Causal(), align);
    return Picture(s);
  };
  EXPECT_EQ(picture(2, 5, kTopLeft), "x....|xx...");
  EXPECT_EQ(picture(2, 5, kBottomRight), "xxxx.|xxxxx");
  EXPECT_EQ(picture(5, 2, kTopLeft), "x.|xx|xx|xx|xx");
  EXPECT_EQ(picture(5, 2, kBottomRight), "..|..|..|x.|xx");
  EXPECT_EQ(picture(4, 6, At(2)), "xxx...|xxxx..|xxxxx.|xxxxxx");
}

TEST(IsVisible, WindowsCountNeighboursBesideTheQuerysOwn) {
  const auto picture = [](int64_t sq, int64_t skv, MaskExpr mask,
                          Alignment align) {
    Scene s = Make(sq, skv, mask, align);
    return Picture(s);
  };
  EXPECT_EQ(picture(4, 4, Window(1, 0), kTopLeft), "x...|xx..|.xx.|..xx");
  EXPECT_EQ(picture(4, 4, Window(0, 0), kTopLeft), "x...|.x..|..x.|...x");
  EXPECT_EQ(picture(6, 4, Window(1, 1), kTopLeft),
            "xx..|xxx.|.xxx|..xx|...x|....");
  EXPECT_EQ(picture(4, 1, Window(kUnlimited, 1), kBottomRight), ".|.|x|x");
}

TEST(IsVisible, ChunkedAndPrefix) {
  MaskExpr chunked;
  chunked.kind = MaskExpr::Kind::kChunked;
  chunked.chunk = 2;
  Scene s = Make(4, 4, chunked);
  EXPECT_EQ(Picture(s), "x...|xx..|..x.|..xx");
  // Position -1 lies in chunk -1, not in chunk 0.
  s = Make(3, 3, chunked, At(-1));
  EXPECT_EQ(Picture(s), "...|x..|xx.");
  MaskExpr prefix;
  prefix.kind = MaskExpr::Kind::kPrefix;
  prefix.prefix = {2};
  s = Make(4, 4, prefix);
  EXPECT_EQ(Picture(s), "xx..|xx..|xxx.|xxxx");
}

TEST(IsVisible, SegmentsAreEqualityNotOrder) {
  Scene s = Make(5, 5, MaskExpr());
  s.q_seg = s.kv_seg = {0, 1, 1, 0, 7};
  EXPECT_EQ(Picture(s), "x..x.|.xx..|.xx..|x..x.|....x");
}

TEST(IsVisible, SinkTokensAreRelativeToTheRun) {
  Scene s = Make(1, 5, Sink(2));
  EXPECT_EQ(Picture(s), "xx...");
  // Ids 0 0 0 1 1: the second run has its own sink. A return of id 0 would be
  // a third run.
  const MaskExpr streaming =
      Join(MaskExpr::Kind::kAnd, Causal(),
           Join(MaskExpr::Kind::kOr, Window(0, 0), Sink(1)));
  s = Make(5, 5, streaming);
  s.q_seg = s.kv_seg = {0, 0, 0, 1, 1};
  EXPECT_EQ(Picture(s), "x....|xx...|x.x..|...x.|...xx");
}

TEST(IsVisible, ValidCountsCutBothAxes) {
  Scene s = Make(3, 4, MaskExpr());
  s.inputs.valid_q = {2};
  s.inputs.valid_kv = {3};
  EXPECT_EQ(Picture(s), "xxx.|xxx.|....");
  s.problem.masks = {Causal()};
  s.problem.align = kBottomRight;  // offset 3 - 2
  EXPECT_EQ(Picture(s), "xx..|xxx.|....");
}

}  // namespace
}  // namespace lockstep::reference
