// The domains: legal, complete; reductions that stay legal and end.
#include "verify/domain/domain.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_merge/case.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

// Half of the calls that may have it, and none other.
TEST(DomainTest, OrdersAreDrawnWhereTheyMayBe) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int may = 0, has = 0, mixed = 0;
  for (uint64_t n = 0; n < 3000; ++n) {
    std::set<ProductOrder> orders;
    for (const Case& c : DrawCase(domain, {}, 0, n)) {
      const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
      const bool amx = a.order == ProductOrder::kAmx;
      const bool may_have_it = a.lane == Lane::kBf16 && a.p_lane == Lane::kBf16;
      EXPECT_TRUE(may_have_it || !amx) << CanonicalLine(c);
      may += may_have_it ? 1 : 0;
      has += amx ? 1 : 0;
      orders.insert(a.order);
    }
    mixed += orders.size() == 2 ? 1 : 0;
  }
  EXPECT_GT(may, 250);
  EXPECT_GT(has, 0.4 * may);
  EXPECT_LT(has, 0.6 * may);
  EXPECT_GT(mixed, 5);  // sequences that change it between two calls
}

// A reduction keeps only what a finding needs: the other order is tried.
TEST(DomainTest, OrdersAreReduced) {
  const Domain& domain = *FindDomain("attention_forward").value();
  const Case c = ParseCase(
                     "attention_forward sq=3 skv=40 d=8 lane=bf16 p=bf16 "
                     "order=amx")
                     .value();
  bool chain = false, shorter = false;
  for (const auto& smaller : domain.reduce(std::vector<Case>{c}, 0)) {
    const auto& a = smaller[0].Get<AttentionForwardCase>();
    chain |= a.order == ProductOrder::kChain && a.lane == Lane::kBf16;
    shorter |= a.order == ProductOrder::kAmx && a.kv_len < 40;
  }
  EXPECT_TRUE(chain);
  EXPECT_TRUE(shorter);
}

TEST(DomainTest, CornersAreDrawnNowAndThen) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int cases = 0, caps = 0;
  for (uint64_t n = 0; n < 3000; ++n) {
    const std::vector<Case> sequence = DrawCase(domain, {}, 0, n);
    const FillKind last =
        sequence[0].Get<AttentionForwardCase>().fill.back().kind;
    caps += last == FillKind::kCaps ? 1 : 0;
    cases += last == FillKind::kCaps || last == FillKind::kDrift ||
                     last == FillKind::kLow
                 ? 1
                 : 0;
  }
  EXPECT_GT(cases, 300);
  EXPECT_LT(cases, 600);
  EXPECT_GT(caps, 60);
}

TEST(DomainTest, EveryCaseIsLegalAndDrawnOnPurpose) {
  for (const Domain& domain : Domains()) {
    std::set<std::string> lines;
    int64_t sequences = 0;
    for (uint64_t n = 0; n < 5000; ++n) {
      const std::vector<Case> sequence = DrawCase(domain, {}, 3, n);
      ASSERT_FALSE(sequence.empty());
      sequences += sequence.size() > 1 ? 1 : 0;
      for (const Case& c : sequence) {
        const Status status = ValidateCase(c);
        ASSERT_TRUE(status.ok())
            << CanonicalLine(c) << ": " << status.message();
        const Result<Case> read = ParseCase(CanonicalLine(c));
        ASSERT_TRUE(read.ok()) << CanonicalLine(c) << ": " << read.message();
        EXPECT_EQ(read.value(), c) << CanonicalLine(c);
      }
      lines.insert(MinimalLine(sequence));
    }
    // An illegal draw would fall back to one and the same case.
    EXPECT_GT(lines.size(), 4980u);
    EXPECT_GT(sequences, 200);
  }
}

TEST(DomainTest, GuardCasesReplaceEveryFourthCase) {
  using Guards = DomainOptions::Guards;
  const Domain& domain = *FindDomain("attention_forward").value();
  DomainOptions some, only;
  some.guards = Guards::kSome;
  only.guards = Guards::kOnly;
  for (uint64_t n = 0; n < 40; ++n) {
    EXPECT_EQ(DrawCase(domain, some, 1, n),
              DrawCase(domain, n % 4 == 3 ? only : DomainOptions(), 1, n));
  }
  // An op without guards draws what it always does.
  const Domain& scan = *FindDomain("mamba3_scan").value();
  EXPECT_EQ(DrawCase(scan, only, 1, 3), DrawCase(scan, {}, 1, 3));
}

// Two of three calls of order=amx; nothing else of any case.
TEST(DomainTest, GpuOrdersReplaceThoseOfAmx) {
  const Domain& domain = *FindDomain("attention_forward").value();
  using Guards = DomainOptions::Guards;
  std::set<ProductOrder> orders;
  for (const Guards guards : {Guards::kNone, Guards::kOnly}) {
    DomainOptions plain, gpu;
    plain.guards = gpu.guards = guards;
    gpu.gpu_orders = true;
    for (uint64_t n = 0; n < 400; ++n) {
      const std::vector<Case> before = DrawCase(domain, plain, 5, n);
      std::vector<Case> after = DrawCase(domain, gpu, 5, n);
      ASSERT_EQ(before.size(), after.size());
      for (size_t i = 0; i < after.size(); ++i) {
        EXPECT_TRUE(ValidateCase(after[i]).ok());
        ProductOrder& order = after[i].Get<AttentionForwardCase>().order;
        const ProductOrder own = before[i].Get<AttentionForwardCase>().order;
        orders.insert(order);
        EXPECT_EQ(own == ProductOrder::kChain, order == ProductOrder::kChain);
        order = own;
        EXPECT_EQ(after[i], before[i]);
      }
    }
  }
  EXPECT_EQ(orders.size(), 4u);
}

TEST(DomainTest, EveryFeatureIsProduced) {
  for (const Domain& domain : Domains()) {
    FeatureSet all;
    for (uint64_t n = 0; n < 3000; ++n) {
      for (const Case& c : DrawCase(domain, {}, 0, n)) {
        all.Add(domain.features_of(c));
      }
    }
    ASSERT_EQ(all.has.size(), domain.features().size());
    for (size_t f = 0; f < all.has.size(); ++f) {
      EXPECT_TRUE(all.has[f]) << domain.op << " " << domain.features()[f];
    }
  }
}

std::set<std::string> FeaturesOf(const char* op, const char* line) {
  const Domain& domain = *FindDomain(op).value();
  const FeatureSet set = domain.features_of(ParseCase(line).value());
  std::set<std::string> names;
  for (size_t f = 0; f < set.has.size(); ++f) {
    if (set.has[f]) names.insert(domain.features()[f]);
  }
  return names;
}

// Read off the cases by hand: what the mask is counts, not how it is written.
TEST(DomainTest, FeaturesOfPlansAreTheirs) {
  using Names = std::set<std::string>;
  EXPECT_EQ(
      FeaturesOf("block_plan",
                 "block_plan sq=5 skv=5 bq=2 bk=2 "
                 "mask=causal"),
      (Names{"square", "causal", "align_top_left", "ragged_queries",
             "ragged_keys", "ragged_by_one", "dialect_shrunk", "every_class"}));
  EXPECT_EQ(FeaturesOf("block_plan",
                       "block_plan hq=2 sq=4 skv=4 bq=4 bk=2 valid_q=2 "
                       "valid_kv=2 blocks=no width=2 slack=1 "
                       "mask.h1=window:0,inf align=-4294967296"),
            (Names{"heads_many",
                   "square",
                   "mask_full",
                   "window",
                   "window_zero",
                   "window_unlimited",
                   "head_masks",
                   "align_offset",
                   "align_negative",
                   "valid_q",
                   "valid_kv",
                   "tile_oblong",
                   "whole_tiles",
                   "dialect_shrunk",
                   "blocks_computed",
                   "capacity",
                   "capacity_of_the_grid",
                   "slack",
                   "offset_beyond_int32",
                   "empty_tile_column",
                   "empty_query"}));
  EXPECT_EQ(
      FeaturesOf("block_plan",
                 "block_plan hq=2 sq=2 skv=2 bq=1 bk=2 "
                 "mask=causal mask.h1=full dialect=splash "
                 "q_shards=2"),
      (Names{"heads_many", "square", "mask_full", "causal", "head_masks",
             "align_top_left", "tile_one", "tile_oblong", "whole_tiles",
             "dialect_splash", "q_shards", "heads_differ_in_one", "all_full"}));
  EXPECT_EQ(FeaturesOf("block_plan",
                       "block_plan hq=2 sq=3 skv=3 bq=3 bk=3 "
                       "mask.h1=causal"),
            (Names{"heads_many", "square", "mask_full", "causal", "head_masks",
                   "align_top_left", "one_tile", "whole_tiles",
                   "dialect_shrunk", "all_full"}));
  EXPECT_EQ(FeaturesOf("block_plan", "block_plan sq=5 skv=3 bq=3 bk=2"),
            (Names{"more_queries", "mask_full", "align_top_left", "tile_oblong",
                   "ragged_queries", "ragged_keys", "ragged_by_one",
                   "dialect_shrunk", "all_full"}));
  EXPECT_EQ(
      FeaturesOf("block_plan", "block_plan sq=4 skv=4 bq=2 bk=2 valid_q=2"),
      (Names{"square", "mask_full", "align_top_left", "valid_q", "whole_tiles",
             "dialect_shrunk", "empty_tile_row", "empty_query"}));
}

TEST(DomainTest, PlainCasesAreOrdinary) {
  for (uint64_t n = 0; n < 2000; ++n) {
    const Case c =
        PlainCase(*FindDomain("attention_forward").value(), n, Lane::kBf16);
    const AttentionForwardCase& a = c.Get<AttentionForwardCase>();
    EXPECT_EQ(a.lane, Lane::kBf16);
    EXPECT_TRUE(a.layout == Layout::kBhsd || a.layout == Layout::kVarlen);
    EXPECT_EQ(a.strides, StrideOverrides{});
    EXPECT_GT(a.scale.value, 0);
    for (const FillTerm& term : a.fill) {
      EXPECT_NE(term.kind, FillKind::kSpecial);
      EXPECT_NE(term.kind, FillKind::kPoison);
      EXPECT_NE(term.kind, FillKind::kHuge);
    }
  }
}

// Behind the end of the bytes every choice is the first: still a case.
TEST(DomainTest, AnyBytesAreACase) {
  for (const Domain& domain : Domains()) {
    std::vector<uint8_t> bytes;
    for (int n = 0; n < 400; ++n) {
      Draw draw{std::span<const uint8_t>(bytes)};
      for (const Case& c : domain.draw(*domain.row, &draw, {})) {
        const Status status = ValidateCase(c);
        ASSERT_TRUE(status.ok()) << status.message();
      }
      bytes.push_back(static_cast<uint8_t>(n * 151 + 7));
    }
  }
}

TEST(DomainTest, DrawsAreUniformAndInRange) {
  Draw draw(5, kDrawKey, 9);
  std::vector<int> seen(7);
  for (int n = 0; n < 7000; ++n) {
    const int64_t x = draw.In(-3, 3);
    ASSERT_GE(x, -3);
    ASSERT_LE(x, 3);
    ++seen[static_cast<size_t>(x + 3)];
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

// Taking the first reduction again and again reaches an end, and every one on
// the way is legal and another case.
TEST(DomainTest, ReductionsEnd) {
  for (const Domain& domain : Domains()) {
    for (uint64_t n = 0; n < 60; ++n) {
      std::vector<Case> sequence = DrawCase(domain, {}, 11, n);
      std::set<std::string> seen;
      for (int step = 0;; ++step) {
        ASSERT_LT(step, 200) << MinimalLine(sequence);
        bool smaller = false;
        for (size_t call = 0; call < sequence.size() && !smaller; ++call) {
          for (const auto& next : domain.reduce(sequence, call)) {
            for (const Case& c : next) {
              ASSERT_TRUE(ValidateCase(c).ok()) << CanonicalLine(c);
            }
            if (!seen.insert(MinimalLine(next)).second) continue;
            sequence = next;
            smaller = true;
            break;
          }
        }
        if (!smaller) break;
      }
      if (domain.op == std::string("block_plan")) {
        for (const Case& c : sequence) {
          EXPECT_EQ(MinimalLine(c), "block_plan sq=1 skv=1 bq=1 bk=1");
        }
        continue;
      }
      if (domain.op == std::string("attention_merge")) {
        const AttentionMergeCase& a = sequence[0].Get<AttentionMergeCase>();
        EXPECT_EQ(a.parts * a.heads * a.rows * a.value_dim, 1);
        continue;
      }
      if (!std::string(domain.op).starts_with("attention_")) {
        const Mamba3ScanProblem& p = sequence[0].Get<Mamba3ScanCase>().problem;
        EXPECT_EQ(p.length * p.heads * p.batch * p.ranks * p.head_dim, 1);
        continue;
      }
      const AttentionForwardCase& a = sequence[0].Get<AttentionForwardCase>();
      EXPECT_EQ(a.q_len, 1);
      EXPECT_EQ(a.kv_len, 1);
      EXPECT_EQ(a.q_heads, 1);
    }
  }
}

TEST(DomainTest, UnknownOpNamesTheKnownOnes) {
  const Result<const Domain*> none = FindDomain("attention");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.message().find("attention_forward"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::verify
