// Document ids to segment ids: the rules, their refusals, and what is seen.
#include "optimized/packed_rows.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/mask.h"
#include "tests/support/attention_problem.h"

namespace lockstep::optimized {
namespace {

using test::Draw;

// Rows that own their arrays.
struct Arrays {
  int64_t length = 0;
  std::vector<int32_t> ids;
  std::vector<int64_t> valid;
  std::vector<int64_t> num_docs;
  std::vector<uint8_t> loss;

  PackedRows View() const {
    const auto batch = static_cast<int64_t>(ids.size()) / length;
    PackedRows rows;
    rows.doc_ids = {ids.data(), {batch, length}, {length, 1}};
    rows.valid = valid;
    rows.num_docs = num_docs;
    if (!loss.empty()) {
      rows.loss_mask = {loss.data(), {batch, length}, {length, 1}};
    }
    return rows;
  }
};

Arrays Sound() {
  return {5,
          {0, 0, 3, 3, -1, 7, -1, -1, -1, -1},
          {4, 1},
          {2, 1},
          {1, 1, 1, 1, 0, 1, 0, 0, 0, 0}};
}

TEST(PackedRows, ValidTokensGetRunsAndPaddingMatchesNothing) {
  const Arrays arrays = Sound();
  const Result<SegmentIds> segments =
      SegmentsOf(arrays.View(), RepeatedIds::kRefuse);
  ASSERT_TRUE(segments.ok()) << segments.message();
  EXPECT_EQ(segments->q,
            (std::vector<int32_t>{0, 0, 1, 1, -1, 0, -1, -1, -1, -1}));
  EXPECT_EQ(segments->kv,
            (std::vector<int32_t>{0, 0, 1, 1, -2, 0, -2, -2, -2, -2}));
  EXPECT_EQ(segments->valid, (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(segments->num_segments, (std::vector<int32_t>{2, 1}));
}

TEST(PackedRows, EveryRuleRefuses) {
  const struct {
    const char* rule;
    void (*plant)(Arrays*);
  } kRows[] = {
      {"V1", [](Arrays* a) { a->valid[0] = -1; }},
      {"V1", [](Arrays* a) { a->valid[1] = 6; }},
      {"V2", [](Arrays* a) { a->ids[1] = -1; }},
      {"V2", [](Arrays* a) { a->ids[4] = 3; }},
      {"V2", [](Arrays* a) { a->ids[4] = -2; }},
      {"V2", [](Arrays* a) { a->ids[4] = 0; }},
      {"V3", [](Arrays* a) { a->ids[0] = a->ids[1] = 4; }},
      {"V4", [](Arrays* a) { a->ids[3] = 0; }},
      {"V5", [](Arrays* a) { a->num_docs[0] = 3; }},
      {"V6", [](Arrays* a) { a->loss[4] = 1; }},
      {"V7", [](Arrays* a) { a->valid.pop_back(); }},
      {"V7", [](Arrays* a) { a->num_docs.pop_back(); }},
  };
  for (const auto& row : kRows) {
    Arrays arrays = Sound();
    row.plant(&arrays);
    const Status status =
        ValidatePackedRows(arrays.View(), RepeatedIds::kRefuse);
    ASSERT_FALSE(status.ok()) << row.rule;
    EXPECT_NE(status.message().find(std::string(row.rule) + ":"),
              std::string::npos)
        << status.message();
  }
  EXPECT_FALSE(ValidatePackedRows(PackedRows{}, RepeatedIds::kRefuse).ok());
}

TEST(PackedRows, AZeroCountIsAnEmptyRowNotAnAbsentOne) {
  const Arrays arrays{3, {-1, -1, -1}, {0}, {0}, {}};
  const Result<SegmentIds> segments =
      SegmentsOf(arrays.View(), RepeatedIds::kRefuse);
  ASSERT_TRUE(segments.ok()) << segments.message();
  EXPECT_EQ(segments->num_segments, (std::vector<int32_t>{0}));
  EXPECT_EQ(segments->valid, (std::vector<int64_t>{0}));
}

// The smallest row on which the rules differ.
TEST(PackedRows, RepeatedIdsAreNewOrMergedAsAsked) {
  const Arrays arrays{4, {0, 1, 0, -1}, {3}, {2}, {}};
  EXPECT_FALSE(SegmentsOf(arrays.View(), RepeatedIds::kRefuse).ok());
  EXPECT_EQ(SegmentsOf(arrays.View(), RepeatedIds::kAsNew)->q,
            (std::vector<int32_t>{0, 1, 2, -1}));
  EXPECT_EQ(SegmentsOf(arrays.View(), RepeatedIds::kMerge)->q,
            (std::vector<int32_t>{0, 1, 0, -1}));
  EXPECT_EQ(RunsOf(std::vector<int32_t>{0, 1, 0, -1, -1}),
            (std::vector<int32_t>{0, 1, 2, 3, 3}));
  EXPECT_TRUE(RunsOf({}).empty());
}

TEST(PackedRows, StartsCountDocuments) {
  EXPECT_EQ(DocumentsFromStarts(std::vector<uint8_t>{0, 1, 0, 1, 0, 0}),
            (std::vector<int32_t>{0, 1, 1, 2, 2, 2}));
}

// Ids of 2^24 and more differ by one: nothing narrows them on the way.
// V8: a row of one-token documents outgrows narrow ids.
TEST(PackedRows, SegmentNumbersHaveToFitTheKernelsIds) {
  SegmentIds ids;
  ids.num_segments = {3, 128};
  EXPECT_TRUE(CheckIdsFit(ids, 1).ok());
  ids.num_segments[1] = 129;
  const Status status = CheckIdsFit(ids, 1);
  EXPECT_NE(status.message().find("V8: row 1 has 129 segments"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(CheckIdsFit(ids, 2).ok());
  EXPECT_TRUE(CheckIdsFit(ids, 4).ok());
}

TEST(PackedRows, LargeIdsStayApart) {
  const int32_t big = (1 << 30) + 1;
  const Arrays arrays{3, {big - 1, big, big + 1}, {3}, {3}, {}};
  EXPECT_EQ(SegmentsOf(arrays.View(), RepeatedIds::kRefuse)->kv,
            (std::vector<int32_t>{0, 1, 2}));
}

// Whoever sees whom: exactly the valid tokens of one document.
TEST(PackedRows, SegmentsShowExactlyTheOwnDocument) {
  for (uint32_t seed = 0; seed < 500; ++seed) {
    std::mt19937 rng(seed);
    Arrays a;
    a.length = Draw(rng, 1, 20);
    a.valid = {Draw(rng, 0, a.length)};
    int32_t id = 0;
    for (int64_t t = 0; t < a.length; ++t) {
      id += static_cast<int32_t>(Draw(rng, 0, 3) == 0 ? Draw(rng, 1, 3) : 0);
      a.ids.push_back(t < a.valid[0] ? id : kNoDocument);
    }
    const Result<SegmentIds> s = SegmentsOf(a.View(), RepeatedIds::kRefuse);
    ASSERT_TRUE(s.ok()) << s.message();
    AttentionForwardProblem p;
    p.q_len = p.kv_len = a.length;
    p.segments = true;
    AttentionForwardInputs in;
    in.q_seg = {s->q.data(), {1, a.length}, {a.length, 1}};
    in.kv_seg = {s->kv.data(), {1, a.length}, {a.length, 1}};
    for (int64_t i = 0; i < a.length; ++i) {
      for (int64_t j = 0; j < a.length; ++j) {
        const bool same =
            i < a.valid[0] && j < a.valid[0] &&
            a.ids[static_cast<size_t>(i)] == a.ids[static_cast<size_t>(j)];
        ASSERT_EQ(reference::IsVisible(p, in, 0, 0, i, j), same);
      }
    }
  }
}

}  // namespace
}  // namespace lockstep::optimized
