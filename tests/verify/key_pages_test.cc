// Keys and values in pages: what a line may say, what a pool holds, and that
// nothing but addresses changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/volume.h"
#include "tests/verify/encoding_lines.h"
#include "tests/verify/trials.h"
#include "verify/case/attention_forward/case.h"
#include "verify/domain/domain.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/pages.h"
#include "verify/ops/laws.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

constexpr const char* kRagged =
    "attention_forward b=2 hq=4 hkv=2 sq=1 skv=10 d=3 dv=2 page=4 "
    "valid_kv=10,3";

KeyPool PoolOf(const AttentionForwardData& data) {
  Result<KeyPool> pool = MakeKeyPool(data);
  EXPECT_TRUE(pool.ok()) << pool.message();
  return std::move(pool.value());
}

TEST(KeyPages, LinesWithoutMeaningAreRefused) {
  EXPECT_EQ(
      ErrorOf("sq=1 skv=9 d=4 page=0"),
      "column 39: a page of 0 keys is out of range; want 1..65536 (page is "
      "none|SIZE[:hnd|nhd][:share=PAGES|:pool=PAGES:file:PATH])");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 page=4:dnh"),
            "column 41: expected hnd, nhd, share=PAGES or pool=PAGES, found "
            "'dnh' (page is "
            "none|SIZE[:hnd|nhd][:share=PAGES|:pool=PAGES:file:PATH])");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 page=4:share=1"),
            "page: share=1: there is one batch row; want b=2 or more");
  EXPECT_EQ(ErrorOf("b=2 sq=1 skv=9 d=4 page=4:share=2 valid_kv=9,7"),
            "page: share=2: a batch row has 7 keys, which fill 1 pages of 4");
  EXPECT_EQ(ErrorOf("b=2 sq=1 skv=9 d=4 page=4:share=1 fill=probe:comb"),
            "page: share=1: fill probe:comb gives every batch row its own "
            "keys");
  EXPECT_EQ(ErrorOf("sq=1 skv=9 d=4 page=4 strides=k:64/32/8/2"),
            "strides of the pool of k: channels lie 2 elements apart; want 1");
  EXPECT_NE(ErrorOf("sq=1 skv=9 d=4 page=4 strides=k:8/16/4/1")
                .find("strides of the pool of k overlaps itself"),
            std::string::npos);
  EXPECT_NE(ParseCase("attention_backward sq=1 skv=9 d=4 page=4")
                .message()
                .find("unknown key 'page'"),
            std::string::npos);
}

// Every key is where the table says, in either order; all else is NaN.
TEST(KeyPages, PoolsHoldTheKeysAndPoison) {
  for (const char* order : {"", ":nhd"}) {
    std::string line = kRagged;
    line.insert(line.find(" valid"), order);
    const AttentionForwardData data = DataOf(line);
    const KeyPool pool = PoolOf(data);
    ASSERT_EQ(pool.width, 3);
    const int64_t pages = pool.k.view.shape[0];
    EXPECT_EQ(pages, 3 + 1 + 2);
    EXPECT_EQ(pool.k.view.strides[1] < pool.k.view.strides[2], *order != 0);
    std::set<int64_t> slots;
    for (int64_t b = 0; b < 2; ++b) {
      const int64_t keys = b == 0 ? 10 : 3;
      for (int64_t j = 0; j < keys; ++j) {
        const int64_t page = pool.table[static_cast<size_t>(b * 3 + j / 4)];
        EXPECT_TRUE(slots.insert(page * 4 + j % 4).second);
        for (int64_t h = 0; h < 2; ++h) {
          EXPECT_EQ(pool.k.const_view().Float(page, h, j % 4, 2),
                    data.inputs.k.Float(b, h, j, 2));
          EXPECT_EQ(pool.v.const_view().Float(page, h, j % 4, 1),
                    data.inputs.v.Float(b, h, j, 1));
        }
      }
    }
    EXPECT_EQ(pool.table[4], -1);
    EXPECT_EQ(pool.table[5], -1);
    for (int64_t slot = 0; slot < 4 * pages; ++slot) {
      const float x = pool.k.const_view().Float(slot / 4, 1, slot % 4, 0);
      EXPECT_EQ(std::isnan(x), !slots.contains(slot)) << slot;
    }
  }
}

TEST(KeyPages, RowsShareTheirFirstPages) {
  const AttentionForwardData data = DataOf(
      "attention_forward b=3 hq=2 sq=1 skv=12 d=3 page=4:share=2 "
      "valid_kv=12,8,9");
  const KeyPool pool = PoolOf(data);
  for (const size_t row : {3, 6}) {
    EXPECT_EQ(pool.table[row], pool.table[0]);
    EXPECT_EQ(pool.table[row + 1], pool.table[1]);
  }
  EXPECT_NE(pool.table[8], pool.table[2]);
  EXPECT_EQ(data.inputs.k.Float(2, 1, 7, 1), data.inputs.k.Float(0, 1, 7, 1));
  EXPECT_NE(data.inputs.k.Float(2, 1, 8, 1), data.inputs.k.Float(0, 1, 8, 1));
}

// The law `pages`: other places, and large numbers behind each row's last page.
TEST(KeyPages, LawsPutThePagesElsewhere) {
  const AttentionForwardData data = DataOf(kRagged);
  AttentionForwardData other = DataOf(kRagged);
  other.pages->seed += 1;
  other.pages->large_entries = true;
  const KeyPool here = PoolOf(data);
  const KeyPool there = PoolOf(other);
  EXPECT_NE(here.table, there.table);
  EXPECT_GE(there.table[5], there.k.view.shape[0]);
  const auto trial = Open(kRagged);
  const std::vector<std::string> names = trial->laws().LawNames();
  for (const char* law : {"pages", "encoding"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), law), 1) << law;
    EXPECT_EQ(trial->laws().MakeLaw(law, 5)->calls.size(), 1u);
  }
  const Result<Law> encoding = trial->laws().MakeLaw("encoding", 5);
  EXPECT_TRUE(encoding->may_be_refused);
  EXPECT_TRUE(encoding->calls[0].trial->wants().NeededWants().empty());
}

// A host has the pools in place of k and v, in the order of their axes.
TEST(KeyPages, AreHandedOverByName) {
  std::string line = kRagged;
  line.insert(line.find(" valid"), ":nhd");
  const auto trial = Open(line);
  EXPECT_EQ(trial->wants().NeededWants(), std::vector<std::string>{"pages"});
  const Result<KernelInputs> handed = HandedInputs(*trial);
  ASSERT_TRUE(handed.ok()) << handed.message();
  const KernelInputs& inputs = handed.value();
  EXPECT_EQ(inputs.Find("k"), nullptr);
  EXPECT_EQ(inputs.Find("v"), nullptr);
  ASSERT_NE(inputs.Find("k_pages"), nullptr);
  EXPECT_EQ(inputs.Find("k_pages")->shape, (std::vector<int64_t>{6, 4, 2, 3}));
  EXPECT_EQ(inputs.Find("v_pages")->shape, (std::vector<int64_t>{6, 4, 2, 2}));
  EXPECT_EQ(inputs.Find("page_table")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(inputs.Find("kv_len")->shape, (std::vector<int64_t>{2}));
}

// Drawn cases: our kernel reads the pool, the reference keys that lie together.
TEST(KeyPages, DrawnCasesHaveTheBitsOfKeysThatLieTogether) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int64_t paged = 0;
  for (uint64_t n = 0; n < EncodingDraws(4000); ++n) {
    const Case c = DrawCase(domain, {}, 17, n)[0];
    if (!c.Get<AttentionForwardCase>().page.any()) continue;
    ++paged;
    const auto trial = Open(c);
    ExpectBitsOnTargets(Reference(*trial), *trial, n, MinimalLine(c));
  }
  RecordProperty("cases", static_cast<int>(paged));
  EXPECT_GT(paged, test::Volume(100));
}

}  // namespace
}  // namespace lockstep::verify
