// The case grammar: parse and print are inverse, defaults, call sequences.
#include "verify/case/case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/case/text.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

Case Parse(const std::string& line) {
  auto c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << "\n" << (c.ok() ? "" : c.message());
  return c.ok() ? c.value() : Case{};
}

// The lines of the record: of every op, drawn and written by hand. Drawn cases
// would not do: the domain itself prints and parses them.
std::set<std::string> RecordedLines() {
  std::set<std::string> lines;
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/record")) {
    if (entry.path().extension() != ".rows") continue;
    std::ifstream file(entry.path());
    for (std::string row; std::getline(file, row);) {
      const size_t begin = row.find('\t') + 1;
      lines.insert(row.substr(begin, row.find('\t', begin) - begin));
    }
  }
  return lines;
}

TEST(Case, PrintAndParseAreInverse) {
  int64_t cases = 0;
  for (const std::string& line : RecordedLines()) {
    const auto sequence = ParseCaseSequence(line);
    if (!sequence.ok()) continue;
    for (const Case& c : sequence.value()) {
      ++cases;
      const std::string canonical = CanonicalLine(c);
      const std::string minimal = MinimalLine(c);
      const auto from_canonical = ParseCase(canonical);
      const auto from_minimal = ParseCase(minimal);
      ASSERT_TRUE(from_canonical.ok()) << from_canonical.message();
      ASSERT_TRUE(from_minimal.ok()) << from_minimal.message();
      EXPECT_EQ(from_canonical.value(), c) << canonical;
      EXPECT_EQ(from_minimal.value(), c) << minimal;
      EXPECT_EQ(CanonicalLine(from_minimal.value()), canonical);
      EXPECT_EQ(MinimalLine(from_canonical.value()), minimal);
      EXPECT_LE(minimal.size(), canonical.size());
    }
  }
  EXPECT_GE(cases, 4000);
}

TEST(Case, DefaultsAreThoseOfTheDocumentation) {
  const Case c = Parse("attention_forward sq=37 skv=129 d=64");
  EXPECT_EQ(CanonicalLine(c),
            "attention_forward b=1 hq=1 hkv=1 sq=37 skv=129 d=64 dv=64 "
            "lane=f32 p=f32 scale=0.125 cap=none mask=full align=tl q_seg=none "
            "kv_seg=none valid_q=37 valid_kv=129 layout=bhsd strides=none "
            "fill=normal:1 gen=1 seed=0 sinklogit=none expect=pass");
  EXPECT_EQ(MinimalLine(c), "attention_forward sq=37 skv=129 d=64");
}

TEST(Case, DefaultsFollowOtherKeysWhateverTheOrder) {
  const Case c = Parse("attention_forward d=80 hq=6 skv=9 sq=4");
  const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  EXPECT_EQ(a.kv_heads, 6);
  EXPECT_EQ(a.value_dim, 80);
  EXPECT_EQ(a.scale.value, 1.0 / std::sqrt(80.0));
  EXPECT_EQ(a.valid_q, std::vector<int64_t>{4});
  EXPECT_EQ(a.valid_kv, std::vector<int64_t>{9});
  EXPECT_EQ(MinimalLine(c), "attention_forward hq=6 sq=4 skv=9 d=80");
}

// Chips with one matrix unit are one order.
TEST(Case, ChipsNameOrders) {
  const std::string line =
      "attention_forward sq=4 skv=4 d=4 lane=bf16 p=bf16 order=";
  for (const auto& [word, order] :
       {std::pair{"ada", "ampere"}, std::pair{"ampere", "ampere"},
        std::pair{"blackwell", "hopper"}, std::pair{"hopper", "hopper"}}) {
    EXPECT_EQ(MinimalLine(Parse(line + word)), line + order);
  }
}

TEST(Case, TheDesignsExampleIsRead) {
  const Case c = Parse(
      "attention_forward b=1 hq=4 hkv=2 sq=37 skv=129 d=64 dv=64 lane=bf16 "
      "p=bf16 scale=0.125 cap=50 mask=causal&window:32,0 align=br "
      "q_seg=runs:20,17 kv_seg=ids:0*60,1*69 valid_kv=129 layout=bhsd "
      "fill=normal:1 gen=1 seed=7");
  EXPECT_TRUE(ValidateCase(c).ok());
  EXPECT_EQ(MinimalLine(c),
            "attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 lane=bf16 p=bf16 "
            "cap=50 mask=causal&window:32,0 align=br q_seg=runs:20,17 "
            "kv_seg=runs:60,69 seed=7");
}

TEST(Case, NumbersKeepTheirBits) {
  for (const double x :
       {0x1.921fb54442d18p+1, 0x1p-1074, 0x1.fffffffffffffp+1023, -0.0, 0.1,
        1e22, 123456789.0, 1.0 / 3}) {
    char hex[64];
    std::snprintf(hex, sizeof(hex), "%a", x);
    for (const std::string& text :
         {std::string(hex), FormatNumber(Number{x})}) {
      const Case c = Parse("attention_forward sq=1 skv=1 d=1 scale=" + text);
      EXPECT_EQ(c.Get<AttentionForwardCase>().scale, Number{x}) << text;
    }
  }
  const double inf = std::numeric_limits<double>::infinity();
  const Case c = Parse("attention_forward sq=1 skv=1 d=1 sinklogit=const:-inf");
  EXPECT_EQ(c.Get<AttentionForwardCase>().sinklogit->a.value, -inf);
}

TEST(Case, SequencesKeepTheirOrder) {
  const std::string line =
      "attention_forward sq=1 skv=2 d=3 ;; attention_forward sq=4 skv=5 d=6";
  const auto sequence = ParseCaseSequence(line);
  ASSERT_TRUE(sequence.ok()) << sequence.message();
  ASSERT_EQ(sequence.value().size(), 2u);
  EXPECT_EQ(sequence.value()[1].Get<AttentionForwardCase>().q_len, 4);
  EXPECT_EQ(MinimalLine(sequence.value()), line);
  const auto again = ParseCaseSequence(CanonicalLine(sequence.value()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value(), sequence.value());
}

TEST(Case, FamiliesStandInTheOrderOfTheirEnum) {
  for (size_t i = 0; i < FillFamilies().size(); ++i) {
    EXPECT_EQ(static_cast<size_t>(FillFamilies()[i].kind), i);
  }
  EXPECT_EQ(FillFamilies().size(), static_cast<size_t>(FillKind::kPeak) + 1);
}

TEST(Case, HeadMasksReplaceTheMaskOfTheirHead) {
  const Case c = Parse(
      "attention_forward hq=3 sq=4 skv=4 d=8 mask=random:0.5|causal "
      "mask.h2=random:0.25 mask.h0=full");
  ASSERT_TRUE(ValidateCase(c).ok());
  const AttentionForwardProblem p = ToProblem(c.Get<AttentionForwardCase>());
  ASSERT_EQ(p.masks.size(), 3u);
  EXPECT_EQ(p.mask(0).kind, MaskExpr::Kind::kFull);
  EXPECT_EQ(p.mask(1).kind, MaskExpr::Kind::kOr);
  EXPECT_EQ(p.mask(1).children[0].dense, 0u);
  EXPECT_EQ(p.mask(2).dense, 1u);
  EXPECT_EQ(c.Get<AttentionForwardCase>().dense[1].density.value, 0.25);
}

TEST(Case, GroupingThatChangesNothingLeavesNoTrace) {
  const struct {
    const char* text;
    const char* canonical;
  } pairs[] = {
      {"mask=((causal))", "mask=causal"},
      {"mask=causal&(window:1,0&sink:1)", "mask=causal&window:1,0&sink:1"},
      {"mask=(causal|sink:1)|full", "mask=causal|sink:1|full"},
      {"mask=(causal&full)|sink:1", "mask=causal&full|sink:1"},
      {"q_seg=ids:4*1,4*2,5*1 kv_seg=ids:0*2,1*2",
       "q_seg=ids:4*3,5*1 kv_seg=runs:2,2"},
      {"mask=causal q_seg=[runs:4] kv_seg=runs:4",
       "mask=causal q_seg=runs:4 kv_seg=runs:4"},
  };
  const std::string line = "attention_forward sq=4 skv=4 d=8 ";
  for (const auto& [text, canonical] : pairs) {
    EXPECT_EQ(MinimalLine(Parse(line + text)), line + canonical);
    EXPECT_EQ(Parse(line + text), Parse(line + canonical));
  }
  // Brackets that matter stay.
  const std::string kept = line + "mask=causal&(sink:1|window:0,0)";
  EXPECT_EQ(MinimalLine(Parse(kept)), kept);
}

TEST(Case, EstimateCountsEveryTensorAndSaturates) {
  const Case c = Parse(
      "attention_forward b=2 hq=4 hkv=2 sq=3 skv=5 d=8 dv=16 lane=bf16 "
      "mask=random:0.5&blocks:2x2:0.5 q_seg=runs:3 kv_seg=runs:5");
  const int64_t q = 2 * 4 * 3 * 8, k = 2 * 2 * 5 * 8, v = 2 * 2 * 5 * 16,
                o = 2 * 4 * 3 * 16, lse = 2 * 4 * 3;
  EXPECT_EQ(EstimateBytes(c), 2 * (q + k + v + o) + 4 * lse + 4 * 2 * (3 + 5) +
                                  2 * 4 * 3 * 5 + 3 * 5);
  EXPECT_EQ(EstimateBytes(Parse("attention_forward sq=9223372036854775807 "
                                "skv=9223372036854775807 d=64")),
            INT64_MAX);
  // Lists are held as they were drawn, and as kernels take them.
  const std::string listed = "attention_forward sq=2 skv=4 d=4 mask=index:";
  EXPECT_EQ(EstimateBytes(Parse(listed + "1004")) -
                EstimateBytes(Parse(listed + "4")),
            2 * 4 * 2 * 1000);
  // Strides count, elements do not.
  const Case wide =
      Parse("attention_forward sq=2 skv=1 d=4 strides=q:0/0/1000/1");
  EXPECT_EQ(EstimateBytes(wide), 4 * (1004 + 4 + 4 + 8 + 2));
}

}  // namespace
}  // namespace lockstep::verify
