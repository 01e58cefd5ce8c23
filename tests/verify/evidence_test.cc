// Planted faults before the judge: what counts as shown, what does not.
#include "verify/judge/evidence/evidence.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "verify/report/report.h"

namespace lockstep::verify {
namespace {

// A problem of eight rows whose right answer is 0; faults set a row to the
// number that its `what` names. It computes nothing else.
class FakeTrial final : public Trial, public TrialFaults {
 public:
  struct Fault {
    const char* kind;
    const char* what;
    std::vector<int64_t> rows;
  };
  explicit FakeTrial(std::vector<Fault> faults, int64_t cost = 1)
      : Trial({{.name = "o", .shape = {1, 1, 8, 1}}}),
        faults_(std::move(faults)),
        cost_(cost) {}

  std::vector<PlantedFault> PlantFaults(uint64_t) const override {
    std::vector<PlantedFault> faults;
    for (const Fault& fault : faults_) {
      const auto bits = static_cast<uint32_t>(std::stoul(fault.what));
      faults.push_back({fault.kind, fault.what, fault.rows,
                        [this, bits](int64_t, RowBits* row) {
                          ++computed;
                          row->assign(1, {bits});
                        }});
    }
    return faults;
  }
  std::vector<NullCandidate> Nulls() const override {
    return {{"ones", [](int64_t, RowBits* row) { row->assign(1, {1}); }}};
  }
  int64_t RowCost() const override { return cost_; }

  KernelInputs Inputs() const override { return {}; }
  void ReferenceRow(int64_t, RowBits* row) const override {
    row->assign(1, {0});
  }

  mutable int computed = 0;

 private:
  TrialParts parts() const override { return {.faults = this}; }

  std::vector<Fault> faults_;
  int64_t cost_;
};

// Rejects what is above `most`, on the rows given.
class Above final : public AllowedResults {
 public:
  Above(uint32_t most, std::vector<int64_t> rows)
      : most_(most), rows_(std::move(rows)) {}
  const std::vector<int64_t>& rows() const override { return rows_; }
  std::vector<EnvelopeResult> JudgeEach(const OutputSet&,
                                        const ElementSink&) const override {
    return {};
  }
  bool Allows(size_t n, const RowBits& bits) const override {
    EXPECT_LT(n, rows_.size());
    return bits[0][0] <= most_;
  }
  bool Bounds(size_t) const override { return true; }
  std::span<const double> truth() const override { return {}; }

 private:
  uint32_t most_;
  std::vector<int64_t> rows_;
};

const std::vector<int64_t> kAllRows = {0, 1, 2, 3, 4, 5, 6, 7};

std::string Unshown(const std::vector<Evidence>& book) {
  std::string kinds;
  for (const Evidence& entry : book) {
    if (entry.shown_by.empty()) {
      kinds += entry.kind + entry.what + (entry.looked_at ? " " : "? ");
    }
  }
  return kinds;
}

TEST(Evidence, EveryFaultNeedsItsOwnProof) {
  const FakeTrial own(
      {{"lse", "7", {0}}, {"key", "5", {1}}, {"key", "2", {2}}});
  EvidenceBook book(own, 1);
  const Above envelope(6, kAllRows);
  book.LookAtOwn(own, BySets(envelope), "case");
  const Above weak(4, kAllRows);
  EXPECT_TRUE(book.LookAtProbe(own, BySets(weak), "weak"));
  EXPECT_FALSE(book.LookAtProbe(own, BySets(weak), "again"));
  const std::vector<Evidence> entries = book.Take();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].kind, "key");
  EXPECT_EQ(entries[0].shown_by, "weak");
  EXPECT_EQ(entries[2].shown_by, "case");
  EXPECT_EQ(Unshown(entries), "key2 ");
}

// A probe's faults of other words stand for the case's only all together.
TEST(Evidence, FaultsOfOtherWordsCountTogether) {
  const FakeTrial own({{"key", "1", {0}}, {"lse", "1", {0}}});
  const FakeTrial probe({{"key", "8", {0}}, {"key", "3", {0}}});
  for (const uint32_t most : {2u, 5u}) {
    EvidenceBook book(own, 1);
    const Above sets(most, kAllRows);
    book.LookAtProbe(probe, BySets(sets), "probe");
    EXPECT_EQ(Unshown(book.Take()), most == 2 ? "lse1 " : "key1 lse1 ");
  }
}

TEST(Evidence, OnlyJudgedRowsCount) {
  const FakeTrial own({{"key", "9", {3, 1}}});
  EvidenceBook book(own, 1);
  const Above elsewhere(4, {0, 2});
  book.LookAtOwn(own, BySets(elsewhere), "case");
  EXPECT_EQ(own.computed, 0);
  EXPECT_EQ(Unshown(EvidenceBook(book).Take()), "key9 ");
  const Above there(4, {0, 1});
  book.LookAtOwn(own, BySets(there), "case");
  EXPECT_EQ(own.computed, 1);
  EXPECT_EQ(Unshown(book.Take()), "");
}

// Work is bounded; a key is looked at whatever it costs.
TEST(Evidence, WhatIsTooDearIsNotLookedAt) {
  const FakeTrial own({{"lse", "1", kAllRows},
                       {"q_row", "1", kAllRows},
                       {"key", "1", kAllRows}},
                      100);
  // 100: nothing is left for the key when its probe is asked.
  for (const int64_t work : {150, 100}) {
    own.computed = 0;
    EvidenceBook book(own, 1, work);
    const Above blind(4, kAllRows);
    book.LookAtOwn(own, BySets(blind), "case");
    book.LookAtProbe(own, BySets(blind), "probe");
    EXPECT_EQ(Unshown(book.Take()), "key1 lse1? q_row1? ") << work;
    EXPECT_LE(own.computed, 3);
  }
}

TEST(Evidence, BitsRejectWhatDiffers) {
  const FakeTrial own({{"key", "9", {1}}, {"lse", "0", {1}}});
  Truth truth;
  truth.rows = {0, 1};
  truth.bits = {{0, 0}};
  truth.begin = {{0, 1, 2}};
  EvidenceBook book(own, 1);
  book.LookAtOwn(own, ByBits(own, truth, false), "case");
  // A fault that leaves every bit as it was is none, and struck out.
  const std::vector<Evidence> shown = book.Take();
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0].kind, "key");
  EXPECT_EQ(shown[0].shown_by, "case");
  // Outside the sample, where the optimized path was compared with.
  const FakeTrial far({{"key", "9", {5}}});
  for (const bool every_row : {false, true}) {
    EvidenceBook other(far, 1);
    other.LookAtOwn(far, ByBits(far, truth, every_row), "case");
    EXPECT_EQ(Unshown(other.Take()), every_row ? "" : "key9 ");
  }
}

TEST(Evidence, AProbeThatRejectsNothingIsNone) {
  const FakeTrial own({});
  EXPECT_TRUE(RejectsANull(own, Above(0, kAllRows)));
  EXPECT_FALSE(RejectsANull(own, Above(1, kAllRows)));
}

CaseResult ResultOf(std::vector<Evidence> entries) {
  CaseResult result;
  result.line = "attention_forward";
  result.evidence = std::move(entries);
  return result;
}

int64_t Findings(EvidenceRule rule, const CaseResult& result) {
  CaseResult copy = result;
  FindUnshown(rule, &copy);
  for (const Finding& finding : copy.findings) {
    EXPECT_EQ(finding.tier, Tier::kPower);
    EXPECT_EQ(finding.check, "evidence");
  }
  return static_cast<int64_t>(copy.findings.size());
}

TEST(Evidence, WhatIsNotShownDecidesTrust) {
  const EvidenceRule files = {false, false};
  const EvidenceRule runs = {true, false};
  const EvidenceRule probe = {false, true};
  const CaseResult all = ResultOf({{"key", "a", "case"}, {"lse", "b", "case"}});
  const CaseResult lse = ResultOf({{"key", "a", "case"}, {"lse", "b", ""}});
  const CaseResult key = ResultOf({{"key", "a", ""}, {"lse", "b", "case"}});
  const CaseResult none = ResultOf({{"key", "a", ""}, {"lse", "b", ""}});
  const CaseResult dear =
      ResultOf({{"key", "a", "case"}, {"lse", "b", "", false}});
  EXPECT_EQ(Findings(files, all), 0);
  EXPECT_EQ(Findings(files, lse), 1);
  EXPECT_EQ(Findings(files, key), 1);
  EXPECT_EQ(Findings(files, dear), 0);
  EXPECT_EQ(Findings(runs, lse), 0);
  EXPECT_EQ(Findings(runs, key), 1);
  // A probe as a case of its own answers for what it can show.
  EXPECT_EQ(Findings(probe, key), 0);
  EXPECT_EQ(Findings(probe, none), 1);
  EXPECT_EQ(Findings(files, ResultOf({})), 0);
}

// A kernel that declares no lse cannot show a fault of it.
TEST(Evidence, OutputsNobodyClaimsHaveNoFaults) {
  CaseResult result = ResultOf({{"key", "a", ""}, {"lse", "b", ""}});
  result.outputs.resize(2);
  result.outputs[0].name = "o";
  result.outputs[1].name = "lse";
  EnvelopeResult found;
  found.tensor = "o";
  result.judged.push_back({Tier::kEnvelope, "", found});
  DropUnclaimed(&result);
  EXPECT_EQ(Unshown(result.evidence), "keya ");
  result.evidence.push_back({"lse", "b", ""});
  found.tensor = "lse";
  result.judged.push_back({Tier::kEnvelope, "", found});
  DropUnclaimed(&result);
  EXPECT_EQ(Unshown(result.evidence), "keya lseb ");
}

TEST(Evidence, TheReportListsWhatNothingShows) {
  RunStatistics statistics;
  CaseResult result = ResultOf({{"key", "a", ""}, {"lse", "b", "", false}});
  result.execution.backend = "files";
  EnvelopeResult found;
  found.expected = found.inside = 10;
  result.judged.push_back({Tier::kProbes, "p fill=probe:cancel", found, true});
  result.judged.push_back({Tier::kProbes, "p fill=probe:cancel", found, true});
  result.judged.push_back({Tier::kProbes, "p fill=probe:idle", found, false});
  statistics.Add(result);
  const std::string text = ReportSummary({}, statistics, 0, {});
  EXPECT_NE(text.find("unprobed  key 1, lse (not looked at) 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("on 1 exact probe, 1 probe that would show nothing"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace lockstep::verify
