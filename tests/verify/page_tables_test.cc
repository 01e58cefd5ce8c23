// Tables of pages from a file: which are refused, where keys then lie, and that
// nothing but addresses changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/volume.h"
#include "tests/verify/encoding_lines.h"
#include "tests/verify/trials.h"
#include "verify/base/io/safetensors.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/pages.h"
#include "verify/case/attention_forward/views.h"
#include "verify/domain/domain.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/pages.h"
#include "verify/ops/laws.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {
namespace {

template <class Element>
SafetensorsTensor Of(const char* name, const char* type,
                     const std::vector<int64_t>& shape,
                     const std::vector<Element>& elements) {
  return {name,
          type,
          shape,
          {reinterpret_cast<const uint8_t*>(elements.data()),
           elements.size() * sizeof(Element)}};
}

class PageTables : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "page_tables_test." +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const char* name = "table") const {
    return folder_ + "/" + name;
  }

  void Write(const SafetensorsTensor& tensor) const {
    ASSERT_TRUE(WriteSafetensors(Path(), {{tensor}}, {}).ok());
  }

  void WriteTable(int64_t rows, const std::vector<int32_t>& pages) const {
    const int64_t columns = std::ssize(pages) / rows;
    Write(Of("page_table", "I32", {rows, columns}, pages));
  }

  // Two rows of 10 and 7 keys in pages of 4, in a pool of 8.
  std::string Line(const std::string& rest = "") const {
    return "attention_forward b=2 hq=4 hkv=2 sq=1 skv=10 d=3 dv=2 "
           "page=4:pool=8:file:" +
           Path() + " valid_kv=10,7" + rest;
  }

  void ExpectRefusal(const std::string& line, const std::string& words) const {
    const auto data = Materialise(ParseCase(line).value(), {});
    ASSERT_FALSE(data.ok()) << words;
    EXPECT_NE(data.message().find(words), std::string::npos) << data.message();
    EXPECT_EQ(data.message().find('\n'), std::string::npos);
  }

  std::string folder_;
};

KeyPool PoolOf(const AttentionForwardData& data) {
  Result<KeyPool> pool = MakeKeyPool(data);
  EXPECT_TRUE(pool.ok()) << pool.message();
  return std::move(pool.value());
}

TEST_F(PageTables, LinesReadBack) {
  const std::string digest(32, 'a');
  for (const std::string& page :
       {std::string("mask=index:4:file:a.npy"),
        std::string("page=16:pool=9:file:a.npy"),
        std::string("page=1:nhd:pool=4:file:d/a+b,c.npz#") + digest}) {
    const std::string line = "attention_forward b=2 sq=1 skv=9 d=4 " + page;
    const Case c = ParseCase(line).value();
    EXPECT_EQ(MinimalLine(c), line);
    EXPECT_EQ(ParseCase(CanonicalLine(c)).value(), c);
    EXPECT_TRUE(NamesFiles(c));
  }
}

TEST_F(PageTables, LinesWithoutMeaningAreRefused) {
  const std::string form = std::string(" (page is ") + kPagesForm + ")";
  const std::string line = "sq=1 skv=9 d=4 page=4:";
  EXPECT_EQ(ErrorOf(line + "pool=0:file:a"),
            "column 46: a pool of 0 pages is out of range; want 1..2147483647" +
                form);
  EXPECT_EQ(ErrorOf(line + "pool=9"),
            "column 47: expected pool=PAGES:file:PATH, found ''" + form);
  EXPECT_EQ(ErrorOf(line + "pool=9:file:"),
            "column 53: pool=PAGES:file: wants a file name" + form);
  EXPECT_EQ(ErrorOf(line + "file:a"),
            "column 41: expected hnd, nhd, share=PAGES or pool=PAGES, found "
            "'file:a'" +
                form);
  EXPECT_NE(ErrorOf(line + "pool=9:file:a#12").find("expected a digest"),
            std::string::npos);
  EXPECT_NE(ErrorOf("hkv=65536 hq=65536 sq=1 skv=9 d=16384 page=65536:"
                    "pool=2147483647:file:a")
                .find("pool of k"),
            std::string::npos);
}

// Entries and places are those of the file, whatever its type and width.
TEST_F(PageTables, KeysLieWhereTheTableSays) {
  const std::vector<int64_t> wide = {6, 0, 3, 5, 7, 2, -1, 1};
  Write(Of("page_table", "I64", {2, 4}, wide));
  const AttentionForwardData data = DataOf(Line());
  const KeyPool pool = PoolOf(data);
  EXPECT_EQ(pool.width, 3);
  // The fourth entry is of no key that the case has; the last ones may stay.
  EXPECT_EQ(pool.table, (std::vector<int32_t>{6, 0, 3, 7, 2, -1}));
  ASSERT_EQ(pool.k.view.shape[0], 8);
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t j = 0; j < (b == 0 ? 10 : 7); ++j) {
      const int64_t page = wide[static_cast<size_t>(4 * b + j / 4)];
      EXPECT_EQ(pool.k.const_view().Float(page, 1, j % 4, 2),
                data.inputs.k.Float(b, 1, j, 2));
      EXPECT_EQ(pool.v.const_view().Float(page, 0, j % 4, 1),
                data.inputs.v.Float(b, 0, j, 1));
    }
  }
  for (const int64_t page : {1, 4, 5}) {
    EXPECT_TRUE(std::isnan(pool.k.const_view().Float(page, 0, 0, 0))) << page;
  }
  // A narrow table ends in -1, and one row may be a plain list.
  const std::vector<int32_t> list = {5, 1};
  Write(Of("any", "I32", {2}, list));
  const KeyPool one = PoolOf(
      DataOf("attention_forward sq=1 skv=10 d=3 page=4:pool=6:file:" + Path() +
             " valid_kv=8"));
  EXPECT_EQ(one.table, (std::vector<int32_t>{5, 1, -1}));
}

TEST_F(PageTables, HostileTablesAreRefused) {
  const auto refused = [&](const std::vector<int32_t>& pages,
                           const std::string& words) {
    WriteTable(2, pages);
    ExpectRefusal(Line(), Path() + ": " + words);
  };
  refused({6, 0, 8, 7, 2, -1},
          "'page_table': row 0, entry 2 is 8; want a page of 0..7, as pool=8 "
          "and the row has 3 pages");
  refused({6, 0, 3, 7, -1, -1},
          "'page_table': row 1, entry 1 is -1; want a page of 0..7, as pool=8 "
          "and the row has 2 pages");
  refused({6, 0, 3, 7, 2, 8},
          "'page_table': row 1, entry 2 is 8; want -1 or a page of 0..7, as "
          "pool=8");
  refused({6, 0, 3, 7, 2, -2}, "'page_table': row 1, entry 2 is -2; want -1");
  refused(
      {6, 0, 6, 7, 2, -1},
      "'page_table': page 6 is at row 0, entry 0, and at row 0, entry 2; rows "
      "may share a page only at the same entry");
  refused(
      {6, 0, 3, 7, 6, -1},
      "'page_table': page 6 is at row 0, entry 0, and at row 1, entry 1; rows");
  refused({6, 0, 7, 2},
          "tensor 'page_table' is I32 [2, 2]; want tensor 'page_table' (or one "
          "tensor alone), I32 or I64, [2, N] with N of 3 or more");
  WriteTable(3, {6, 0, 3, 7, 2, -1, 1, 4, 5});
  ExpectRefusal(Line(), "is I32 [3, 3]; want tensor 'page_table'");
  const std::vector<float> real = {6, 0, 3, 7, 2, -1};
  Write(Of("page_table", "F32", {2, 3}, real));
  ExpectRefusal(Line(), "is F32 [2, 3]; want tensor 'page_table'");
  const std::vector<int64_t> far = {6, 0, (int64_t{1} << 32) + 3, 7, 2, -1};
  Write(Of("page_table", "I64", {2, 3}, far));
  ExpectRefusal(Line(), "row 0, entry 2 is 4294967299; want a page of 0..7");
  const std::vector<int32_t> some = {6, 0, 3, 7, 2, -1};
  const SafetensorsTensor a = Of("a", "I32", {2, 3}, some);
  const SafetensorsTensor b = Of("b", "I32", {2, 3}, some);
  ASSERT_TRUE(WriteSafetensors(Path(), {{a, b}}, {}).ok());
  ExpectRefusal(Line(), "no page table; want tensor 'page_table'");
  std::string pinned = Line();
  pinned.insert(pinned.find(" valid"), "#" + std::string(32, '0'));
  ExpectRefusal(pinned, "the case pins 00000000000000000000000000000000");
  std::filesystem::remove(Path());
  ExpectRefusal(Line(), "no such file");
}

// Drawn keys of a shared page are those of the first row that has them.
TEST_F(PageTables, RowsMayShareAPageAtOneEntry) {
  WriteTable(2, {6, 0, 3, 7, 0, -1});
  const AttentionForwardData data = DataOf(Line());
  EXPECT_TRUE(data.pages->shared);
  for (int64_t j = 0; j < 7; ++j) {
    EXPECT_EQ(
        data.inputs.k.Float(0, 1, j, 2) == data.inputs.k.Float(1, 1, j, 2),
        j >= 4)
        << j;
    EXPECT_EQ(
        data.inputs.v.Float(0, 0, j, 1) == data.inputs.v.Float(1, 0, j, 1),
        j >= 4)
        << j;
  }
  // The row that shares has more keys of the page than the first.
  WriteTable(2, {6, 0, -1, 7, 0, 3});
  std::string other = Line();
  other.replace(other.find("10,7"), 4, "7,10");
  const AttentionForwardData turned = DataOf(other);
  const KeyPool pool = PoolOf(turned);
  EXPECT_EQ(pool.k.const_view().Float(0, 0, 3, 0),
            turned.inputs.k.Float(1, 0, 7, 0));
  EXPECT_FALSE(std::isnan(pool.k.const_view().Float(0, 0, 3, 0)));
}

// Keys of one's own stay what they are: rows that share a page have the same.
TEST_F(PageTables, KeysOfAFileAgreeWhereRowsShare) {
  WriteTable(2, {1, 0, 1, 2});
  std::vector<float> k(16), q(8, 1.0f);
  std::iota(k.begin(), k.end(), 0.0f);
  const std::string line =
      "attention_forward b=2 sq=1 skv=2 d=4 page=1:pool=3:file:" + Path() +
      " fill=file:" + Path("keys") + "#";
  const auto write = [&] {
    std::vector<SafetensorsTensor> all = {Of("q", "F32", {2, 1, 1, 4}, q),
                                          Of("k", "F32", {2, 1, 2, 4}, k),
                                          Of("v", "F32", {2, 1, 2, 4}, k)};
    EXPECT_TRUE(WriteSafetensors(Path("keys"), all, {}).ok());
    return DigestTensors(all);
  };
  ExpectRefusal(
      line + write(),
      "page: rows 0 and 1 share the page of key 0, and fill gives it other "
      "elements in each");
  std::copy(k.begin(), k.begin() + 4, k.begin() + 8);
  EXPECT_TRUE(Materialise(ParseCase(line + write()).value(), {}).ok());
  k[8] = -k[8];  // -0 is another element than 0
  ExpectRefusal(line + write(), "share the page of key 0");
  // So have a key that one row sees, and one that no query of another sees.
  ExpectRefusal(
      "attention_forward b=2 sq=1 skv=2 d=4 page=1:pool=3:file:" + Path() +
          " mask=prefix:0,2 align=1 q_seg=[ids:0*1;ids:1*1] "
          "kv_seg=[ids:1*2;ids:1*2] fill=normal:1+poison:masked",
      "share the page of key 0");
}

TEST_F(PageTables, LawsKeepTheTablesSharing) {
  WriteTable(2, {6, 0, 3, 7, 0, 5});
  const auto trial = Open(Line());
  const std::vector<std::string> names = trial->laws().LawNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "neighbours"), 0);
  for (const char* law : {"pages", "encoding", "rows"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), law), 1) << law;
  }
  AttentionForwardData moved = DataOf(Line());
  moved.pages->large_entries = true;
  const std::vector<int32_t> table = PoolOf(moved).table;
  EXPECT_NE(table, moved.pages->given);
  EXPECT_EQ(table[1], table[4]);
  EXPECT_GE(table[5], 8);
  const Result<Law> encoding = trial->laws().MakeLaw("encoding", 5);
  ExpectSameBits(Reference(*encoding->calls[0].trial), Optimized(*trial),
                 Line());
  WriteTable(2, {6, 0, 3, 7, 1, 5});
  const std::vector<std::string> alone = Open(Line())->laws().LawNames();
  EXPECT_EQ(std::count(alone.begin(), alone.end(), "neighbours"), 1);
}

TEST_F(PageTables, AnotherTableIsAnotherInput) {
  WriteTable(2, {6, 0, 3, 7, 1, -1});
  const std::string digest = DataOf(Line()).InputDigest();
  WriteTable(2, {6, 0, 3, 1, 7, -1});
  EXPECT_NE(DataOf(Line()).InputDigest(), digest);
}

// A table for the case's rows: pages anywhere in the pool, some of them shared,
// and any page or none behind a row's last one.
std::vector<int32_t> DrawnTable(const AttentionForwardCase& a, uint64_t n) {
  const AttentionForwardProblem p = ToProblem(a);
  const AttentionForwardInputs in = InputShapes(a);
  const int64_t width = TableWidth(p, a.page);
  std::vector<int32_t> free(static_cast<size_t>(a.page.pool));
  std::iota(free.begin(), free.end(), 0);
  uint64_t state = n;
  const auto below = [&](int64_t limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(limit));
  };
  std::vector<int32_t> table;
  for (int64_t b = 0; b < p.batch; ++b) {
    const int64_t used = PagesOfRow(p, in, a.page, b);
    for (int64_t entry = 0; entry < width; ++entry) {
      const bool has = b > 0 && entry < PagesOfRow(p, in, a.page, b - 1);
      if (entry >= used) {
        table.push_back(static_cast<int32_t>(below(a.page.pool + 1) - 1));
      } else if (has && below(3) == 0) {
        table.push_back(table[table.size() - static_cast<size_t>(width)]);
      } else {
        const auto at = static_cast<size_t>(below(std::ssize(free)));
        table.push_back(free[at]);
        free.erase(free.begin() + static_cast<int64_t>(at));
      }
    }
  }
  return table;
}

// Drawn cases: our kernel reads the pool, the reference keys that lie together.
TEST_F(PageTables, DrawnCasesHaveTheBitsOfKeysThatLieTogether) {
  const Domain& domain = *FindDomain("attention_forward").value();
  int64_t cases = 0, shared = 0;
  for (uint64_t n = 0; n < EncodingDraws(4000); ++n) {
    Case c = DrawCase(domain, {}, 43, n)[0];
    auto& a = c.Get<AttentionForwardCase>();
    if (!a.page.any() || ProbeOf(a)) continue;
    const bool poison = std::any_of(
        a.fill.begin(), a.fill.end(),
        [](const FillTerm& t) { return t.kind == FillKind::kPoison; });
    if (poison) continue;
    a.page = a.page.Drawn();
    a.page.pool = PoolPages(ToProblem(a), InputShapes(a), a.page);
    a.page.path = Path();
    WriteTable(a.batch, DrawnTable(a, n));
    ++cases;
    const auto trial = Open(c);
    shared += DataOf(MinimalLine(c)).pages->shared ? 1 : 0;
    ExpectBitsOnTargets(Reference(*trial), *trial, n, MinimalLine(c));
  }
  RecordProperty("cases", static_cast<int>(cases));
  EXPECT_GT(cases, test::Volume(100));
  EXPECT_GT(shared, 0);
}

// Bugs of pages fail over a table of 1024 keys a row, of which a quarter is
// shared.
TEST_F(PageTables, BugsFail) {
  std::vector<int32_t> table;
  for (int32_t b = 0; b < 2; ++b) {
    for (int32_t n = 0; n < 64; ++n) {
      const int32_t own = b * 64 + n;
      table.push_back((b == 1 && n < 16 ? n : own) * 37 % 150);
    }
  }
  WriteTable(2, table);
  const std::string line =
      "attention_forward b=2 hq=2 sq=1 skv=1024 d=32 page=16:pool=150:file:" +
      Path() + " valid_kv=1020,1001";
  for (const char* bug :
       {"page_of_next_row", "page_table_row_zero", "page_entry_next",
        "page_key_of_neighbour", "page_length_row_zero", "page_count_floored",
        "page_size_doubled", "page_shared_written"}) {
    const CaseResult result =
        JudgeSpec(line, std::string("mutant:attn.") + bug);
    EXPECT_EQ(result.verdict, Verdict::kFail) << bug;
  }
}

}  // namespace
}  // namespace lockstep::verify
