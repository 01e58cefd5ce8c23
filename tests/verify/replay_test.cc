// "The one line that replays it": every finding of a run over all mutants,
// judged again from nothing but its replay line.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "verify/emulator/mutants.h"
#include "verify/judge/verdict.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/run/run.h"

namespace lockstep::verify {
namespace {

// As a POSIX shell splits a line that has only plain words and '...'.
std::vector<std::string> ShellSplit(const std::string& line) {
  std::vector<std::string> words;
  bool inside = false;
  bool open = false;
  for (size_t n = 0; n < line.size(); ++n) {
    const char c = line[n];
    if (c == '\'') {
      inside = !inside;
      if (!open) words.emplace_back();
      open = true;
    } else if (c == ' ' && !inside) {
      open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c == '\\' && !inside ? line[++n] : c;
    }
  }
  return words;
}

class Collector : public RunObserver {
 public:
  void OnCase(const CaseResult& result, const Totals&, int64_t) override {
    results.push_back(result);
  }
  std::vector<CaseResult> results;
};

std::vector<CaseResult> Judge(const std::vector<std::string>& lines,
                              const std::string& spec,
                              const RunOptions& options) {
  Result<std::vector<Job>> jobs = JobsFromLines(lines, Ops());
  EXPECT_TRUE(jobs.ok()) << jobs.message();
  std::vector<std::unique_ptr<Candidate>> candidates;
  auto candidate = ParseCandidate(spec);
  EXPECT_TRUE(candidate.ok()) << candidate.message();
  candidates.push_back(std::move(candidate.value()));
  Result<Run> run =
      Run::Prepare(std::move(jobs.value()), std::move(candidates), options);
  EXPECT_TRUE(run.ok()) << run.message();
  Collector collector;
  run->Judge(&collector);
  return collector.results;
}

// What the line asks for, as `lockstep verify` would.
std::vector<CaseResult> Replay(const std::string& line) {
  const std::vector<std::string> words = ShellSplit(line);
  EXPECT_GE(words.size(), 3u) << line;
  std::string spec = "builtin:optimized";
  RunOptions options;
  for (size_t n = 3; n < words.size(); ++n) {
    if (words[n] == "--candidate") {
      spec = words[++n];
    } else if (words[n] == "--profile") {
      options.judge.profile = LoadProfile(words[++n]).value();
      options.judge.profile_spec = words[n];
    } else if (words[n] == "--all-rows") {
      options.judge.all_rows = true;
    } else if (words[n] == "--no-probes") {
      options.judge.probes = false;
    } else {
      ADD_FAILURE() << "unknown word " << words[n] << " in " << line;
    }
  }
  return Judge({words[2]}, spec, options);
}

// Tier, check and first element of a finding.
std::string Point(const Finding& finding) {
  std::string text =
      std::string(TierName(finding.tier)) + " " + finding.check + " ";
  std::optional<std::array<int64_t, 4>> at;
  if (finding.comparison && finding.comparison->first) {
    at = finding.comparison->first->index;
  }
  if (finding.envelope && finding.envelope->first) {
    at = finding.envelope->first->index;
  }
  if (at) {
    for (const int64_t n : *at) text += std::to_string(n) + " ";
  }
  return text;
}

std::set<std::string> Points(const CaseResult& result) {
  std::set<std::string> points;
  for (const Finding& finding : result.findings) points.insert(Point(finding));
  return points;
}

// Returns the number of lines replayed.
int64_t ExpectReplays(const std::vector<std::string>& lines,
                      const std::string& spec, const RunOptions& options) {
  int64_t replayed = 0;
  std::set<std::string> seen;
  for (const CaseResult& result : Judge(lines, spec, options)) {
    for (const Finding& finding : result.findings) {
      const std::string line = ReplayLine(result, finding);
      if (!seen.insert(line).second) continue;
      const std::vector<CaseResult> again = Replay(line);
      EXPECT_FALSE(again.empty()) << line;
      if (again.empty()) continue;
      ++replayed;
      // A finding of a probe is one of the probe as a case.
      const CaseResult& last = again.back();
      const Verdict wanted = finding.line.empty() ? result.verdict
                             : finding.tier == Tier::kPower
                                 ? Verdict::kUntrusted
                                 : Verdict::kFail;
      bool found = false;
      for (const CaseResult& one : again) {
        found = found || Points(one).contains(Point(finding));
      }
      EXPECT_TRUE(found) << line << "\n  wants " << Point(finding);
      if (finding.line.empty() && again.size() == 1) {
        EXPECT_EQ(last.verdict, wanted) << line;
        EXPECT_EQ(Point(last.findings.front()), Point(result.findings.front()))
            << line;
      }
    }
  }
  return replayed;
}

// More than one case, so that none but the first is number 1.
std::vector<std::string> LinesOf(const MutantInfo& mutant) {
  if (mutant.attention()) {
    return {"attention_forward sq=3 skv=5 d=4", mutant.pattern,
            "attention_forward hq=4 hkv=2 sq=13 skv=21 d=8 cap=3 mask=causal "
            "align=br seed=5",
            "attention_forward b=2 sq=6 skv=18 d=4 sinklogit=normal:1 "
            "q_seg=runs:2,4 kv_seg=runs:9,9"};
  }
  if (mutant.gradients()) {
    return {"attention_backward sq=3 skv=5 d=4", mutant.pattern,
            "attention_backward hq=4 hkv=2 sq=13 skv=21 d=8 cap=3 mask=causal "
            "align=br dlse=normal:1 seed=5"};
  }
  if (mutant.op() == "attention_merge") {
    return {"attention_merge s=2 n=3 dv=4", mutant.pattern};
  }
  return {mutant.op() + " t=1 n=8 p=2", mutant.pattern};
}

TEST(Replay, EveryFindingOfEveryMutantComesAgain) {
  int64_t replayed = 0;
  for (const MutantInfo& mutant : Mutants()) {
    SCOPED_TRACE(mutant.name);
    replayed += ExpectReplays(LinesOf(mutant),
                              std::string("mutant:") + mutant.name, {});
  }
  EXPECT_GE(replayed, static_cast<int64_t>(Mutants().size()));
}

// What a bf16 kernel claims: findings of probes, with lines of their own.
TEST(Replay, FindingsOfProbesComeAgain) {
  const std::vector<std::string> lines = {
      "attention_forward sq=5 skv=9 d=8 lane=bf16",
      "attention_forward sq=2 skv=2000 d=8 lane=bf16 mask=causal align=br"};
  for (const char* spec : {"mutant:attn.drop_last_key,base=flash",
                           "mutant:attn.v_row_off_by_one,base=flash",
                           "mutant:attn.causal_strict,base=mma"}) {
    EXPECT_GE(ExpectReplays(lines, spec, {}), 1) << spec;
  }
}

// Without --all-rows the row is outside the sample.
TEST(Replay, OptionsThatChangeTheVerdictAreInTheLine) {
  CaseResult result;
  result.replay_case = "attention_forward sq=3";
  result.candidate = "files:out dir";
  result.replay_candidate = "files:out dir/2";
  result.line = "attention_forward sq=3";
  result.profile = "my profile.txt";
  result.replay_options = {"--all-rows", "--max-memory", "2G"};
  const std::string line = ReplayLine(result, {});
  EXPECT_EQ(line,
            "lockstep verify 'attention_forward sq=3' --candidate "
            "'files:out dir/2' --profile 'my profile.txt' --all-rows "
            "--max-memory 2G");
  EXPECT_EQ(ShellSplit(line),
            (std::vector<std::string>{
                "lockstep", "verify", "attention_forward sq=3", "--candidate",
                "files:out dir/2", "--profile", "my profile.txt", "--all-rows",
                "--max-memory", "2G"}));
}

}  // namespace
}  // namespace lockstep::verify
