// Lists of keys: which lines are legal, what is drawn and read, and that a
// kernel that reads them gets the mask that everyone else gets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/support/volume.h"
#include "tests/verify/encoding_lines.h"
#include "tests/verify/trials.h"
#include "verify/base/io/safetensors.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/lists.h"
#include "verify/domain/domain.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/lists.h"
#include "verify/inputs/attention_forward_clone.h"
#include "verify/ops/attention_backward/trial.h"
#include "verify/ops/attention_forward/trial.h"
#include "verify/ops/laws.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

constexpr const char* kLists =
    "attention_forward b=2 hq=4 hkv=2 sq=3 skv=40 d=8 mask=causal&index:9 "
    "align=br";

// The keys of a list, each once.
std::set<int32_t> KeysOf(const ListTensor& lists, int64_t b, int64_t head,
                         int64_t i) {
  std::set<int32_t> keys;
  for (int64_t n = 0; n < lists.shape[3]; ++n) {
    const int32_t key = lists.view()(b, head, i, n);
    if (key < 0) break;
    keys.insert(key);
  }
  return keys;
}

const AttentionForwardData& ForwardDataOf(const Trial& trial) {
  const auto* forward = dynamic_cast<const AttentionForwardTrial*>(&trial);
  if (forward != nullptr) return forward->data();
  return dynamic_cast<const AttentionBackwardTrial&>(trial).data().forward;
}

// Expects that the dense mask of the data is that of its lists, for all
// queries and keys that exist.
void ExpectTheirMask(const AttentionForwardData& data) {
  const ListTensor lists = ListsOf(data);
  const AttentionForwardProblem& p = data.problem;
  const auto& mask = data.inputs.dense_masks[data.lists->dense];
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      for (int64_t i = 0; i < data.inputs.ValidQ(p, b); ++i) {
        const std::set<int32_t> keys = KeysOf(lists, b, h / p.group(), i);
        for (int64_t j = 0; j < data.inputs.ValidKv(p, b); ++j) {
          ASSERT_EQ(mask(b, mask.shape[1] == 1 ? 0 : h, i, j) != 0,
                    keys.contains(static_cast<int32_t>(j)))
              << b << " " << h << " " << i << " " << j;
        }
      }
    }
  }
}

TEST(IndexLists, LinesWithoutMeaningAreRefused) {
  EXPECT_EQ(ErrorOf("sq=2 skv=9 d=4 mask=index:0"),
            "mask: lists of 0 keys; want 1..67108864");
  EXPECT_EQ(ErrorOf("sq=2 skv=9 d=4 mask=index:3&index:2"),
            "mask: 2 index terms; want at most one in all heads");
  EXPECT_EQ(ErrorOf("hq=2 sq=2 skv=9 d=4 mask=index:3 mask.h1=index:2"),
            "mask: 2 index terms; want at most one in all heads");
  EXPECT_NE(ErrorOf("sq=2 skv=9 d=4 mask=index:3:near")
                .find("expected index:K, index:K:uniform, index:K:ascending, "
                      "index:K:recent or index:K:file:PATH"),
            std::string::npos);
  EXPECT_NE(ErrorOf("b=64 hq=65536 hkv=65536 sq=67108864 skv=9 d=1 "
                    "mask=index:67108864"),
            "");
}

// Shorter lists, empty ones, and keys that are there twice.
TEST(IndexLists, DrawsAreOfEveryKind) {
  const AttentionForwardData data = DataOf(
      "attention_forward b=2 hq=4 hkv=2 sq=200 skv=300 d=4 "
      "mask=index:8");
  const std::vector<int32_t>& given = data.lists->given;
  ASSERT_EQ(given.size(), 2u * 2 * 200 * 8);
  int64_t shorter = 0, empty = 0, twice = 0, falling = 0;
  for (size_t n = 0; n < given.size(); n += 8) {
    shorter += given[n + 7] < 0 ? 1 : 0;
    empty += given[n] < 0 ? 1 : 0;
    for (size_t m = n + 1; m < n + 8; ++m) {
      if (given[m] < 0) continue;
      ASSERT_GE(given[m - 1], 0);
      ASSERT_LT(given[m], 300);
      twice += given[m] == given[m - 1] ? 1 : 0;
      falling += given[m] < given[m - 1] ? 1 : 0;
    }
  }
  EXPECT_GT(shorter, 100);
  EXPECT_GT(empty, 5);
  EXPECT_GT(twice, 300);
  EXPECT_GT(falling, 500);
  ExpectTheirMask(data);
}

TEST(IndexLists, DrawsFollowTheirKind) {
  const AttentionForwardData up =
      DataOf("attention_forward sq=50 skv=90 d=4 mask=index:8:ascending");
  const AttentionForwardData near =
      DataOf("attention_forward sq=50 skv=90 d=4 mask=index:8:recent");
  for (size_t n = 0; n < up.lists->given.size(); ++n) {
    if (n % 8 > 0 && up.lists->given[n] >= 0) {
      EXPECT_GE(up.lists->given[n], up.lists->given[n - 1]);
    }
    const auto own = static_cast<int32_t>(n / 8 + 40);
    const int32_t key = near.lists->given[n];
    if (key < 0) continue;
    EXPECT_LE(key, own);
    EXPECT_GT(key, own - 16);
  }
}

// A query's place is that of align=br: with more queries than keys the first of
// them are before every key.
TEST(IndexLists, RecentKeysEndAtTheQuerysOwn) {
  const AttentionForwardData data =
      DataOf("attention_forward b=3 sq=9 skv=4 d=2 mask=index:3:recent");
  int64_t listed = 0;
  for (size_t n = 0; n < data.lists->given.size(); ++n) {
    const auto own = static_cast<int32_t>(n / 3 % 9) - 5;
    const int32_t key = data.lists->given[n];
    EXPECT_LE(key, std::max(own, -1)) << n;
    listed += key >= 0 ? 1 : 0;
  }
  EXPECT_GT(listed, 10);
  ExpectTheirMask(data);
}

// A kernel may add in the order of its list, so no law of order writes another.
TEST(IndexLists, LawsOfOrderKeepTheLists) {
  const auto trial = Open(kLists);
  const ListTensor own = ListsOf(ForwardDataOf(*trial));
  for (const bool rows : {true, false}) {
    const Result<Law> law = trial->laws().MakeLaw(rows ? "rows" : "heads", 1);
    ASSERT_TRUE(law.ok()) << law.message();
    const ListTensor made = ListsOf(ForwardDataOf(*law->calls.front().trial));
    ASSERT_EQ(made.shape, own.shape);
    for (int64_t b = 0; b < 2; ++b) {
      for (int64_t head = 0; head < 2; ++head) {
        for (int64_t at = 0; at < 3 * 9; ++at) {
          EXPECT_EQ(made.view()(b, head, at / 9, at % 9),
                    own.view()(rows ? 1 - b : b, rows ? head : 1 - head, at / 9,
                               at % 9));
        }
      }
    }
  }
}

// Heads that share keys share lists, and one mask does where all share.
TEST(IndexLists, HeadsOfAGroupShareLists) {
  EXPECT_EQ(DataOf("attention_forward hq=4 hkv=1 sq=2 skv=9 d=4 mask=index:3")
                .inputs.dense_masks[0]
                .shape[1],
            1);
  const AttentionForwardData data = DataOf(kLists);
  const auto& mask = data.inputs.dense_masks[0];
  ASSERT_EQ(mask.shape[1], 4);
  int64_t differ = 0;
  for (int64_t j = 0; j < 40; ++j) {
    EXPECT_EQ(mask(0, 0, 0, j), mask(0, 1, 0, j));
    differ += mask(0, 1, 0, j) != mask(0, 2, 0, j) ? 1 : 0;
  }
  EXPECT_GT(differ, 0);
}

TEST(IndexLists, AKernelThatWantsThemGetsNoMask) {
  const auto trial = Open(kLists);
  KernelInputs inputs = trial->Inputs();
  ASSERT_NE(inputs.Find("indices"), nullptr);
  EXPECT_EQ(inputs.Find("indices")->shape, (std::vector<int64_t>{2, 2, 3, 9}));
  EXPECT_NE(inputs.Find("dense_mask_0"), nullptr);
  EXPECT_FALSE(inputs.listed);
  EXPECT_TRUE(trial->wants().NeededWants().empty());
  EXPECT_EQ(trial->wants().AddWanted("indices", &inputs), "");
  EXPECT_EQ(inputs.Find("dense_mask_0"), nullptr);
  EXPECT_EQ(inputs.listed, 0u);
  KernelInputs plain = Open("attention_forward sq=1 skv=4 d=2")->Inputs();
  EXPECT_EQ(plain.Find("indices"), nullptr);
}

// Behind the end of a list a kernel that stops there finds numbers of all
// kinds; what stands before the end is the list as it was.
TEST(IndexLists, BehindTheEndOfAListAreOtherNumbers) {
  const auto trial = Open(
      "attention_forward b=2 hq=4 hkv=2 sq=30 skv=40 d=8 mask=index:9 "
      "valid_kv=40,17");
  KernelInputs plain = trial->Inputs(), ended = trial->Inputs();
  EXPECT_EQ(trial->wants().AddWanted("indices:ended", &ended), "");
  const NamedTensor* const before = plain.Find("indices");
  const NamedTensor* const after = ended.Find("indices");
  ASSERT_EQ(after->shape, before->shape);
  const auto* const was = static_cast<const int32_t*>(before->data);
  const auto* const is = static_cast<const int32_t*>(after->data);
  int64_t keys = 0, beyond = 0, negative = 0;
  for (int64_t list = 0; list < 2 * 2 * 30; ++list) {
    bool end = false;
    for (int64_t at = 9 * list; at < 9 * (list + 1); ++at) {
      if (!end) EXPECT_EQ(is[at], was[at]) << at;
      if (end) ++(is[at] < 0 ? negative : is[at] < 40 ? keys : beyond);
      end = end || was[at] < 0;
      if (end) EXPECT_EQ(was[at], -1);
    }
  }
  EXPECT_GT(keys, 20);
  EXPECT_GT(beyond, 20);
  EXPECT_GT(negative, 10);
  KernelInputs none = Open("attention_forward sq=1 skv=4 d=2")->Inputs();
  EXPECT_EQ(Open("attention_forward sq=1 skv=4 d=2")
                ->wants()
                .AddWanted("indices:ended", &none),
            "");
}

// Laws and shards change the mask; its lists follow.
TEST(IndexLists, LawsKeepListsAndMaskTogether) {
  const auto trial = Open(std::string(kLists) + " valid_kv=40,17");
  for (const std::string& name : trial->laws().LawNames()) {
    const Result<Law> law = trial->laws().MakeLaw(name, 5);
    ASSERT_TRUE(law.ok()) << law.message();
    for (const auto& call : law->calls) {
      const auto& other =
          dynamic_cast<const AttentionForwardTrial&>(*call.trial);
      SCOPED_TRACE(name);
      EXPECT_EQ(other.data().lists.has_value(), name != "encoding");
      if (name != "encoding") ExpectTheirMask(other.data());
    }
  }
  const Result<Law> law = trial->laws().MakeLaw("encoding", 1);
  ASSERT_TRUE(law.ok());
  EXPECT_TRUE(law->may_be_refused);
  EXPECT_EQ(law->calls[0].trial->Inputs().Find("indices"), nullptr);
  ExpectSameBits(Reference(*law->calls[0].trial), Optimized(*trial), kLists);
}

TEST(IndexLists, FilesAreReadAsTheyAre) {
  const std::string folder = ::testing::TempDir() + "index_lists";
  std::filesystem::create_directories(folder);
  MaterialiseOptions options;
  options.search_directories = {folder};
  const std::string line =
      "attention_forward b=2 hq=2 hkv=2 sq=2 skv=5 d=2 "
      "mask=index:3:file:lists.safetensors";
  const auto write = [&](const std::vector<int32_t>& keys,
                         const std::vector<int64_t>& shape) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(keys.data());
    const std::vector<SafetensorsTensor> tensors = {
        {"indices", "I32", shape, {bytes, keys.size() * 4}}};
    ASSERT_TRUE(
        WriteSafetensors(folder + "/lists.safetensors", tensors, {}).ok());
  };
  const auto refused = [&](const std::string& why) {
    const auto data = Materialise(ParseCase(line).value(), options);
    ASSERT_FALSE(data.ok());
    EXPECT_NE(data.message().find(why), std::string::npos) << data.message();
  };
  write({4, 1, 4, 2, -1, -1}, {2, 3});
  const AttentionForwardData data = DataOf(line, options);
  const std::vector<int32_t> given = {4, 1, 4, 2, -1, -1};
  EXPECT_TRUE(
      std::equal(given.begin(), given.end(), ListsOf(data).keys.begin()));
  EXPECT_EQ(ListsOf(data).keys.size(), 24u);
  ExpectTheirMask(data);
  write({4, 1, 5, 2, -1, -1}, {2, 3});
  refused("'indices': element 2 is 5; want -1 or a key below skv=5");
  write({4, 1, 3, -1, 2, -1}, {2, 3});
  refused("'indices': element 4 is 2; want -1, as the entry before is -1");
  write({4, 1, 3, 2, -1, -1}, {3, 2});
  refused("tensor 'indices' is I32 [3, 2]; want tensor 'indices'");
}

// Gradients have the same lists.
TEST(IndexLists, GradientsHaveThem) {
  const auto trial =
      Open("attention_backward hq=4 hkv=2 sq=3 skv=9 d=4 mask=causal&index:4");
  KernelInputs inputs = trial->Inputs();
  ASSERT_NE(inputs.Find("indices"), nullptr);
  EXPECT_EQ(trial->wants().AddWanted("indices", &inputs), "");
  EXPECT_EQ(inputs.listed, 0u);
}

// Drawn cases: our kernel reads the mask that was made of the lists, and a
// reader of the lists makes the same.
void ExpectBitsOfDrawnMasks(const char* op, uint64_t seed) {
  const Domain& domain = *FindDomain(op).value();
  int64_t listed = 0, beside = 0;
  for (uint64_t n = 0; n < EncodingDraws(4000); ++n) {
    Case c = DrawCase(domain, {}, seed, n)[0];
    auto& a = c.Get<AttentionForwardCase>();
    if (!ListTerm(a)) continue;
    // Rows that a ragged batch does not have are no answer to compare.
    if (a.layout == Layout::kVarlen) a.layout = Layout::kThd;
    ++listed;
    beside += a.mask.children.empty() ? 0 : 1;
    const auto trial = Open(c);
    ExpectTheirMask(ForwardDataOf(*trial));
    const Result<Law> law = trial->laws().MakeLaw("encoding", 1);
    ASSERT_TRUE(law.ok()) << law.message();
    ExpectBitsOnTargets(Reference(*law->calls[0].trial), *trial, n,
                        MinimalLine(c));
  }
  testing::Test::RecordProperty("cases", static_cast<int>(listed));
  EXPECT_GT(listed, test::Volume(100));
  EXPECT_GT(beside, 0);
}

TEST(IndexLists, DrawnCasesHaveTheBitsOfTheirMask) {
  ExpectBitsOfDrawnMasks("attention_forward", 19);
}

TEST(IndexLists, DrawnGradientsHaveTheBitsOfTheirMask) {
  ExpectBitsOfDrawnMasks("attention_backward", 19);
}

// A shrunk case of gradients has fewer entries, or no lists.
TEST(IndexLists, GradientsAreReduced) {
  const Domain& domain = *FindDomain("attention_backward").value();
  const std::string line = "attention_backward sq=2 skv=9 d=1 mask=index:";
  std::set<std::string> lines;
  for (const auto& sequence :
       domain.reduce({{ParseCase(line + "8").value()}}, 0)) {
    lines.insert(MinimalLine(sequence[0]));
  }
  EXPECT_TRUE(lines.contains(line + "4"));
  EXPECT_TRUE(lines.contains("attention_backward sq=2 skv=9 d=1 mask=causal"));
}

}  // namespace
}  // namespace lockstep::verify
