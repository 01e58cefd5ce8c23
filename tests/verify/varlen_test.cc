// Ragged batches: which lines are legal, what the tokens hold, and that only
// addresses change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/volume.h"
#include "tests/verify/encoding_lines.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/base/compare.h"
#include "verify/base/mixing.h"
#include "verify/case/attention_backward.h"
#include "verify/case/attention_forward/case.h"
#include "verify/case/attention_forward/varlen.h"
#include "verify/domain/domain.h"
#include "verify/emulator/mutants.h"
#include "verify/inputs/attention_forward.h"
#include "verify/inputs/attention_forward/varlen.h"
#include "verify/inputs/varlen/token_rows.h"
#include "verify/ops/laws.h"
#include "verify/ops/varlen/token_outputs.h"
#include "verify/ops/wants.h"

namespace lockstep::verify {
namespace {

// Row counts of queries and of keys: one row has neither, one has no keys.
constexpr const char* kRagged =
    "attention_forward b=4 hq=4 hkv=2 sq=5 skv=10 d=3 dv=2 "
    "valid_q=3,0,5,1 valid_kv=10,0,3,0 layout=varlen";

TEST(Varlen, WhatItDoesNotGoWithIsRefused) {
  const std::string varlen = "b=2 hq=2 sq=2 skv=9 d=4 layout=varlen ";
  EXPECT_EQ(ErrorOf(varlen + "page=4"),
            "layout=varlen does not go with page: keys lie in pages or end to "
            "end, not both");
  EXPECT_EQ(ErrorOf(varlen + "strides=q:16/8/4/1"),
            "layout=varlen does not go with strides: tokens lie end to end");
  EXPECT_EQ(ErrorOf(varlen + "shard=heads:2"),
            "layout=varlen does not go with shard: shards are cut from rows of "
            "one length");
  EXPECT_EQ(ErrorOf(varlen + "valid_q=0"),
            "layout=varlen: no row has a query; want a valid_q above 0");
  const Case no_key =
      ParseCase("attention_backward sq=2 skv=2 d=1 valid_kv=0 layout=varlen")
          .value();
  EXPECT_EQ(
      ValidateCase(no_key).message(),
      "layout=varlen: no row has a key to have gradients; want a valid_kv "
      "above 0");
  EXPECT_EQ(ErrorOf(varlen + "valid_q=2,3"),
            "valid_q=3 is out of range; want 0..2");
}

// Every row is at the table's place; all tokens behind the last one are NaN.
TEST(Varlen, TokensHoldTheRowsAndPoison) {
  const AttentionForwardData data = DataOf(kRagged);
  const Result<TokenTensors> made = MakeTokens(data);
  ASSERT_TRUE(made.ok()) << made.message();
  const TokenTensors& tokens = made.value();
  EXPECT_EQ(tokens.cu_q, (std::vector<int32_t>{0, 3, 3, 8, 9}));
  EXPECT_EQ(tokens.cu_kv, (std::vector<int32_t>{0, 10, 10, 13, 13}));
  ASSERT_EQ(tokens.q.view.shape, (std::array<int64_t, 4>{1, 4, 12, 3}));
  ASSERT_EQ(tokens.v.view.shape, (std::array<int64_t, 4>{1, 2, 16, 2}));
  for (int64_t b = 0; b < 4; ++b) {
    const auto row = static_cast<size_t>(b);
    for (int64_t t = tokens.cu_q[row]; t < tokens.cu_q[row + 1]; ++t) {
      EXPECT_EQ(tokens.q.const_view().Float(0, 3, t, 2),
                data.inputs.q.Float(b, 3, t - tokens.cu_q[row], 2));
    }
    for (int64_t t = tokens.cu_kv[row]; t < tokens.cu_kv[row + 1]; ++t) {
      EXPECT_EQ(tokens.v.const_view().Float(0, 1, t, 1),
                data.inputs.v.Float(b, 1, t - tokens.cu_kv[row], 1));
    }
  }
  for (int64_t t = 0; t < 12; ++t) {
    EXPECT_EQ(std::isnan(tokens.q.const_view().Float(0, 0, t, 0)), t >= 9) << t;
  }
  for (int64_t t = 0; t < 16; ++t) {
    EXPECT_EQ(std::isnan(tokens.k.const_view().Float(0, 0, t, 0)), t >= 13)
        << t;
  }
}

// A host gets tokens in place of q, k and v, and only rows that exist.
TEST(Varlen, AreHandedOverByName) {
  const auto trial = Open(kRagged);
  EXPECT_EQ(trial->wants().NeededWants(), std::vector<std::string>{"varlen"});
  EXPECT_EQ(trial->rows(), 4 * 9);
  const Result<KernelInputs> handed = HandedInputs(*trial);
  ASSERT_TRUE(handed.ok()) << handed.message();
  const KernelInputs& inputs = handed.value();
  EXPECT_EQ(inputs.Find("q")->shape, (std::vector<int64_t>{12, 4, 3}));
  EXPECT_EQ(inputs.Find("k")->shape, (std::vector<int64_t>{16, 2, 3}));
  EXPECT_EQ(inputs.Find("v")->shape, (std::vector<int64_t>{16, 2, 2}));
  EXPECT_EQ(inputs.Find("cu_seqlens_q")->shape, std::vector<int64_t>{5});
  EXPECT_EQ(inputs.Find("cu_seqlens_k")->shape, std::vector<int64_t>{5});
  const std::vector<OutputSpec> files = FileOutputs::Specs(*trial);
  EXPECT_EQ(files[0].InFile(), (std::vector<int64_t>{12, 4, 2}));
  EXPECT_EQ(files[1].InFile(), (std::vector<int64_t>{4, 12}));
}

// Outputs return row by row unchanged; a write behind the last row is found.
TEST(Varlen, OutputsGoThereAndBack) {
  const auto trial = Open(kRagged);
  const OutputSet expected = Reference(*trial);
  const Result<FileOutputs> file = FileOutputs::Make(*trial, expected);
  ASSERT_TRUE(file.ok()) << file.message();
  file->Write();
  const Result<OutputSet> room = trial->Allocate(0);
  ASSERT_TRUE(room.ok()) << room.message();
  std::vector<NamedOutput> named = trial->Call(0, room.value()).outputs;
  const Result<TokenOutputs> packed = TokenOutputs::Make(*trial, &named);
  ASSERT_TRUE(packed.ok()) << packed.message();
  for (size_t t = 0; t < named.size(); ++t) {
    const LaneTensor& dense = file->set().tensors[t];
    const TokenRows rows = *trial->wants().RowsEndToEnd(named[t].name);
    NamedOutput from = named[t];
    from.strides = DenseStridesOf(from.shape);
    from.data = dense.view.data;
    std::vector<int64_t> there = named[t].shape;
    there[t == 0 ? 0 : 1] = rows.starts.back();
    CopyElements(there, 4, from.data, from.strides, named[t].data,
                 named[t].strides);
  }
  EXPECT_EQ(packed->Behind(), "");
  packed->Return();
  ExpectSameBits(expected, room.value(), kRagged);
  static_cast<float*>(named[1].data)[12 + 9] = 0;
  EXPECT_EQ(packed->Behind(), "token 9 of lse, whose rows end at 9");
}

TEST(Varlen, TheLawAsksForPaddedRows) {
  const auto trial = Open(kRagged);
  const std::vector<std::string> names = trial->laws().LawNames();
  EXPECT_EQ(std::count(names.begin(), names.end(), "encoding"), 1);
  const Result<Law> law = trial->laws().MakeLaw("encoding", 5);
  ASSERT_TRUE(law.ok()) << law.message();
  EXPECT_TRUE(law->may_be_refused);
  ASSERT_EQ(law->calls.size(), 1u);
  EXPECT_TRUE(law->calls[0].trial->wants().NeededWants().empty());
  // The rows that exist.
  EXPECT_EQ(law->calls[0].kept[0].size(), 4u * 9);
}

// A drawn case as a ragged batch, whose lengths are drawn from its number; none
// if that has no meaning.
std::optional<Case> WithRowsEndToEnd(Case c, uint64_t n) {
  AttentionForwardCase& a = c.Get<AttentionForwardCase>();
  // With padding, absent rows have a cotangent, and dsink depends on it.
  if (std::string_view(OpName(c)) == "attention_backward" && a.sinklogit) {
    c.Get<AttentionBackwardCase>().dlse.reset();
  }
  if (a.layout != Layout::kVarlen) {
    a.layout = Layout::kVarlen;
    a.page = {};
    a.strides = {};
    a.batch += static_cast<int64_t>(n % 2);
    uint64_t state = n;
    a.valid_q.clear();
    a.valid_kv.clear();
    for (int64_t b = 0; b < a.batch; ++b) {
      const auto draw = [&](int64_t extent) {
        const uint64_t drawn = NextMixed(&state);
        return drawn % 4 == 0
                   ? int64_t{0}
                   : static_cast<int64_t>((drawn >> 8) %
                                          static_cast<uint64_t>(extent + 1));
      };
      a.valid_q.push_back(draw(a.q_len));
      a.valid_kv.push_back(draw(a.kv_len));
    }
  }
  if (!ValidateCase(c).ok()) return std::nullopt;
  return c;
}

// The same line with padding.
std::string PaddedLine(Case c) {
  c.Get<AttentionForwardCase>().layout = Layout::kBhsd;
  return MinimalLine(c);
}

// The lines that exist.
void ExpectBits(const Trial& trial, const OutputSet& expected,
                const OutputSet& produced, const Case& c) {
  for (size_t t = 0; t < expected.tensors.size(); ++t) {
    const OutputSpec& spec = trial.outputs()[t];
    for (int64_t row = 0; row < trial.rows(); ++row) {
      for (const int64_t line : trial.Lines(t, row)) {
        for (int64_t at = 0; at < spec.shape[3]; ++at) {
          const auto index = LineIndex(spec, line, at);
          ASSERT_EQ(ElementBits(expected.tensors[t].const_view(), index),
                    ElementBits(produced.tensors[t].const_view(), index))
              << MinimalLine(c);
        }
      }
    }
  }
}

// Drawn cases: our kernel reads and writes tokens, and has the bits that its
// plain call has for padded rows.
TEST(Varlen, DrawnCasesHaveTheBitsOfPaddedRows) {
  uint64_t tried = 0;
  for (uint64_t n = 0; n < EncodingDraws(600); ++n) {
    const char* op = n % 3 == 2 ? "attention_backward" : "attention_forward";
    const Domain& domain = *FindDomain(op).value();
    const std::optional<Case> c =
        WithRowsEndToEnd(DrawCase(domain, {}, 17, n)[0], n);
    if (!c) continue;
    ++tried;
    const auto trial = Open(*c);
    const auto padded = Open(PaddedLine(*c));
    const OutputSet expected = Reference(*padded);
    for (const Trial* own : {trial.get(), padded.get()}) {
      ForEveryTarget(*own, n, [&](const OutputSet& produced) {
        ExpectBits(*trial, expected, produced, *c);
      });
    }
  }
  RecordProperty("cases", static_cast<int>(tried));
  EXPECT_GT(tried, EncodingDraws(600) / 3);
}

// Gradients: tokens of queries use one table and tokens of keys the other. The
// sinks have none.
TEST(Varlen, GradientsAreHandedOverByName) {
  const auto trial = Open(
      "attention_backward b=3 hq=4 hkv=2 sq=5 skv=10 d=3 dv=2 valid_q=3,0,5 "
      "valid_kv=10,0,3 layout=varlen sinklogit=const:1 dlse=normal:1");
  EXPECT_EQ(trial->rows(), 4 + 4 * 8 + 2 * 13);
  const Result<KernelInputs> handed = HandedInputs(*trial);
  ASSERT_TRUE(handed.ok()) << handed.message();
  EXPECT_EQ(handed->Find("do")->shape, (std::vector<int64_t>{11, 4, 2}));
  EXPECT_EQ(handed->Find("lse")->shape, (std::vector<int64_t>{4, 11}));
  EXPECT_EQ(handed->Find("dlse")->shape, (std::vector<int64_t>{4, 11}));
  EXPECT_EQ(trial->wants().RowsEndToEnd("dq")->tokens(), 11);
  EXPECT_EQ(trial->wants().RowsEndToEnd("dk")->tokens(), 16);
  EXPECT_FALSE(trial->wants().RowsEndToEnd("dsink"));
  const std::vector<OutputSpec> files = FileOutputs::Specs(*trial);
  EXPECT_EQ(files[0].InFile(), (std::vector<int64_t>{16, 2, 2}));
  EXPECT_EQ(files[3].InFile(), std::vector<int64_t>{4});
}

}  // namespace
}  // namespace lockstep::verify
