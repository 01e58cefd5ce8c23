// The matrix of long cases on trial: covers without holes, caches that hold
// what they should, bugs without effect told from bugs that survive, and a
// judge that has lost a probe noticed.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/power/dials/dials.h"
#include "tests/power/lengths/admitted.h"
#include "tests/power/lengths/cases.h"
#include "tests/power/lengths/cover.h"
#include "tests/power/lengths/matrix.h"
#include "tests/power/lengths/structural.h"
#include "tests/power/stages.h"
#include "verify/candidate/candidate.h"
#include "verify/case/case.h"
#include "verify/case/probe_kind.h"
#include "verify/emulator/catalogue.h"
#include "verify/emulator/mutants.h"
#include "verify/registry/ops.h"
#include "verify/selftest/pool.h"
#include "verify/selftest/selftest.h"

namespace lockstep::verify {
namespace {

template <typename T>
T Take(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.message();
  return std::move(result.value());
}

TEST(Cover, HasEveryPairAndNoFewerRowsWould) {
  const std::vector<std::vector<size_t>> kinds = {
      {2, 2}, {1, 3}, {3, 3, 3, 3}, {11, 6, 5, 5, 3, 3, 3, 3, 2, 2}};
  for (const auto& levels : kinds) {
    std::vector<CoverRow> rows = PairwiseCover(levels);
    EXPECT_EQ(MissingPairs(levels, rows), 0u);
    EXPECT_EQ(rows, PairwiseCover(levels));
    // The rows are not idle: without the first one pairs are missing.
    rows.erase(rows.begin());
    EXPECT_GT(MissingPairs(levels, rows), 0u);
  }
  // At most a fifth more than the product of the two largest factors.
  EXPECT_LE(PairwiseCover(kinds.back()).size(), 80u);
}

TEST(Pool, CallsEveryJobOnce) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> calls(101);
    ForEach(101, threads, [&](int64_t n) { ++calls[static_cast<size_t>(n)]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1);
  }
  ForEach(0, 2, [](int64_t) { FAIL(); });
}

TEST(LengthCases, AreCasesAtEveryLength) {
  for (const int64_t length : {64, 1024, 4096, 16384}) {
    auto cases = AttentionLengthCases(length);
    EXPECT_EQ(cases.size(), AttentionLengthCases(64).size());
    int64_t sinks = 0;
    for (const char* op : {"mamba3_scan", "mamba3_step", "ssd_scan"}) {
      for (LengthCase& c : ScanLengthCases(length, op)) {
        c.base = "scan";
        cases.push_back(c);
      }
    }
    for (const LengthCase& c : cases) {
      sinks += c.sink ? 1 : 0;
      // Without a base the line is that of one bug, which has its own.
      const std::string base =
          c.base.empty() ? FindBug(Mutants(), c.only).value()->base : c.base;
      const auto stages = Stages::Make(c.line, base, {});
      EXPECT_TRUE(stages.ok()) << stages.message();
    }
    EXPECT_GT(sinks, 10);
  }
}

TEST(LengthCases, ZooLinesAreCases) {
  const NumericProfile flash = ProfileOfBase("flash").value();
  const NumericProfile scan = ProfileOfBase("scan").value();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    for (const std::string& line : {AttentionLineAt(seed, 4096, flash),
                                    Mamba3ScanLineAt(seed, 4096, scan),
                                    SsdScanLineAt(seed, 4096, scan)}) {
      const Result<Case> c = ParseCase(line);
      ASSERT_TRUE(c.ok()) << line << ": " << c.message();
      EXPECT_TRUE(ValidateCase(c.value()).ok())
          << line << ": " << ValidateCase(c.value()).message();
    }
  }
}

constexpr const char* kLine =
    "attention_forward hq=4 hkv=2 sq=5 skv=256 d=16 lane=bf16 mask=causal "
    "align=br sinklogit=normal:1";

// A stage that has judged many answers judges the next as a fresh one does.
TEST(Stages, WhatIsKeptEqualsWhatIsFresh) {
  const auto kept = Take(Stages::Make(kLine, "flash", {}));
  for (const char* name : {"drop_last_key", "sink_head_zero", "v_rows_permuted",
                           "lse_drops_key", "segments_ignored"}) {
    const auto fresh = Take(Stages::Make(kLine, "flash", {}));
    ASSERT_EQ(kept->size(), fresh->size());
    const std::string spec = std::string("mutant:attn.") + name + ",base=flash";
    for (size_t n = 0; n < kept->size(); ++n) {
      Stage& old = (*kept)[n];
      Stage& young = (*fresh)[n];
      ASSERT_TRUE(old.Open().ok());
      ASSERT_TRUE(young.Open().ok());
      EXPECT_EQ(Compare(old.trial(), nullptr, old.right(), young.right()),
                Difference::kNone);
      EXPECT_TRUE(young.Allows(old.right())) << young.tier();
      const auto mutant = Take(ParseCandidate(spec));
      const OutputSet answer = Take(old.Run(mutant.get()));
      EXPECT_EQ(old.Allows(answer), young.Allows(answer))
          << spec << " " << old.tier();
      EXPECT_EQ(old.DifferenceOf(answer), young.DifferenceOf(answer));
    }
  }
}

TEST(Stages, DifferencesAreMeasuredInLastPlaces) {
  const auto stages = Take(Stages::Make(kLine, "flash", {}));
  Stage& own = (*stages)[0];
  ASSERT_TRUE(own.Open().ok());
  const auto right = Take(ParseCandidate("variant:flash"));
  OutputSet answer = Take(own.Run(right.get()));
  EXPECT_EQ(own.DifferenceOf(answer), Difference::kNone);
  float& lse = *static_cast<float*>(answer.tensors[1].view.data);
  const float before = lse;
  lse = std::nextafter(lse, 100.0f);
  EXPECT_EQ(own.DifferenceOf(answer), Difference::kRounded);
  lse = before * (1 + 0x1p-20f);
  EXPECT_EQ(own.DifferenceOf(answer), Difference::kWrong);
  const auto zeros = Take(ParseCandidate("mutant:attn.zeros,base=flash"));
  EXPECT_FALSE(own.Allows(Take(own.Run(zeros.get()))));
}

MatrixResult Matrix(const std::string& only, std::vector<int64_t> lengths,
                    std::vector<std::string> without) {
  MatrixOptions options;
  options.lengths = std::move(lengths);
  options.only = {only};
  options.without = std::move(without);
  options.threads = 2;
  return Take(RunMatrix(options));
}

// A bug of segments has no effect where there are none, and is proved where it
// has one; the second length meets two rows only.
TEST(Matrix, TellsNoEffectFromSurvival) {
  const MatrixResult result = Matrix("attn.segments_ignored", {64, 128}, {});
  ASSERT_EQ(result.lines.size(), 2u);
  EXPECT_TRUE(result.Passed()) << MatrixText(result);
  EXPECT_GT(result.lines[0].proved, 3);
  EXPECT_GT(result.lines[0].without_effect, 3);
  EXPECT_EQ(result.rows[1], 2);
  EXPECT_EQ(result.lines[1].proved + result.lines[1].without_effect, 2);
}

TEST(Matrix, IsTheSameOnAnyNumberOfThreads) {
  MatrixOptions options;
  options.lengths = {64, 128};
  options.only = {"attn.tail_d", "scan.d"};
  options.threads = 1;
  const MatrixResult one = Take(RunMatrix(options));
  options.threads = 3;
  const MatrixResult three = Take(RunMatrix(options));
  EXPECT_EQ(PowerPage(one), PowerPage(three));
  EXPECT_EQ(one.cells, three.cells);
}

// A judge that has lost its probes lets one dropped key of 512 pass.
TEST(Matrix, NoticesALostProbe) {
  std::vector<std::string> all;
  for (const ProbeInfo& probe : Probes()) all.push_back(probe.name);
  const MatrixResult seeing = Matrix("attn.drop_last_key", {512}, {});
  const MatrixResult blind = Matrix("attn.drop_last_key", {512}, all);
  EXPECT_TRUE(seeing.Passed()) << MatrixText(seeing);
  EXPECT_FALSE(blind.Passed());
  EXPECT_GT(blind.lines[0].survived, 0);
  EXPECT_NE(
      MatrixText(blind).find("survivor at 512: mutant:attn.drop_last_key"),
      std::string::npos);
  EXPECT_NE(
      PowerPage(blind).find("**not proved: attn.drop_last_key survives**"),
      std::string::npos);
}

// A lost channel under a cap of 0.5 moves 4101 weights by less than their
// rounding; of 1029 without a cap it shows, and no word of the judge excuses
// it.
TEST(Matrix, TheJudgeNamesWhatItIsBlindTo) {
  const std::string spec = "mutant:attn.drop_channel,base=mma";
  const std::string rest =
      " d=48 dv=16 lane=bf16 fill=spread:3 sinklogit=normal:1";
  const std::string blind =
      "attention_forward hq=2 sq=1 skv=4101 cap=0.5" + rest;
  const std::string seen = "attention_forward hq=2 sq=1 skv=1029" + rest;
  const std::string kind = FaultKindOf(*ParseMutant("attn.drop_channel")->info);
  EXPECT_TRUE(Take(Admitted(blind, spec, kind)));
  EXPECT_FALSE(Take(Admitted(seen, spec, kind)));
  EXPECT_FALSE(Take(Admitted(blind, spec, "key")));
  EXPECT_FALSE(Admitted("no case", spec, kind).ok());
}

TEST(Matrix, ReasonsBelongToMutants) {
  for (const Exempt& exempt : ExemptMutants()) {
    EXPECT_TRUE(ParseMutant(exempt.mutant).ok()) << exempt.mutant;
  }
  MatrixOptions options;
  options.only = {"attn.no_such_bug"};
  EXPECT_FALSE(RunMatrix(options).ok());
}

std::string Read(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The words before each " survives" of the page.
std::set<std::string> NotProved(const std::string& page) {
  std::set<std::string> names;
  const std::string word = " survives";
  for (size_t at = page.find(word); at != std::string::npos;
       at = page.find(word, at + 1)) {
    const size_t from = page.rfind(' ', at - 1) + 1;
    names.insert(page.substr(from, at - from));
  }
  return names;
}

// The pages are made by commands: every bug and kind is on them, nothing is
// left unproved, and a part of the table is made anew.
TEST(Pages, HoldWhatTheCommandsPrint) {
  const std::string mutants = Read("docs/mutants.md");
  const std::string lengths = Read("docs/lengths.md");
  for (const MutantInfo& info : Mutants()) {
    EXPECT_NE(mutants.find(std::string("| ") + info.name + " |"),
              std::string::npos)
        << info.name << " is not in docs/mutants.md: scripts/mutants-page.py";
    const std::string name = info.name;
    const std::string op =
        info.attention() ? "" : name.substr(0, name.find('.')) + ": ";
    const std::string family = "| " + op + info.family;
    if (WhyExempt(info) != nullptr) {
      EXPECT_NE(lengths.find(std::string("| ") + info.name + " | "),
                std::string::npos)
          << info.name;
    } else {
      EXPECT_NE(lengths.find("\n" + family + " | "), std::string::npos)
          << family;
    }
  }
  EXPECT_EQ(NotProved(lengths), std::set<std::string>());
  MatrixOptions tails;
  tails.lengths = {1024};
  tails.only = {"attn.tail_", "attn.value_tail_"};
  tails.threads = 2;
  const MatrixResult part = Take(RunMatrix(tails));
  const std::string row = PowerRow(part, "tail");
  // The page goes on with further lengths.
  EXPECT_NE(lengths.find(row.substr(0, row.size() - 1)), std::string::npos)
      << row;
}

TEST(Dials, FindTheMildestSetting) {
  const auto rows = MeasureDials(
      {"attention_forward sq=3 skv=40 d=8 cap=2 lane=bf16 mask=causal "
       "align=br"},
      2);
  ASSERT_TRUE(rows.ok()) << rows.message();
  for (const DialRow& row : rows.value()) {
    const std::string name = row.info->name;
    if (name == "attn.drop_last_key") {
      EXPECT_EQ(row.mildest, 1);
      EXPECT_FALSE(row.tier.empty());
    }
    // A flash kernel rounds its weights to eight bits: a tanh of 23 is none
    // the worse, one of two bits is.
    if (name == "attn.tanh_coarse") {
      EXPECT_GT(row.mildest, 0);
      EXPECT_LT(row.mildest, 20);
    }
  }
  EXPECT_NE(DialsText(rows.value()).find("dial attn.drop_last_key: 1 keys by "),
            std::string::npos);
  EXPECT_FALSE(MeasureDials({"no case"}, 1).ok());
}

}  // namespace
}  // namespace lockstep::verify
