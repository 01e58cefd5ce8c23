#include "tests/record/answer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/record/bounds.h"
#include "verify/base/digest.h"
#include "verify/base/status_macros.h"
#include "verify/candidate/candidate.h"
#include "verify/judge/verdict.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"
#include "verify/run/run.h"

namespace lockstep::record {
namespace {

using verify::CaseResult;

// Fixed, so that what memory allows is the same everywhere.
constexpr int64_t kMemory = int64_t{4} << 30;
constexpr int64_t kShortLine = int64_t{1} << 15;  // bytes of its tensors
// Of each claim, in multiply-adds: a sixteenth of what a user's kernel gets.
constexpr int64_t kClaimWork = int64_t{1} << 22;
constexpr std::string_view kProfileWord = " --profile ";
constexpr std::string_view kClaimsWord = " --claims";

class Columns {
 public:
  void Add(const char* name, const std::string& value) {
    if (value.empty()) return;
    if (!text_.empty()) text_ += '\t';
    text_ += std::string(name) + '=';
    for (const char c : value) text_ += c == '\t' || c == '\n' ? ' ' : c;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Names in the order of the alphabet, "a,b*3".
class Names {
 public:
  void Add(const std::string& name) { ++counts_[name]; }
  std::string Text(bool counted = false) const {
    std::string text;
    for (const auto& [name, count] : counts_) {
      text += (text.empty() ? "" : ",") + name;
      if (counted && count > 1) text += "*" + std::to_string(count);
    }
    return text;
  }

 private:
  std::map<std::string, int64_t> counts_;
};

// "cancel" of a line with fill=probe:cancel.
std::string ProbeOf(const std::string& line) {
  const size_t at = line.find("probe:");
  if (at == std::string::npos) return line;
  const size_t begin = at + 6;
  return line.substr(begin, line.find_first_of(" +,:", begin) - begin);
}

using Results = std::vector<CaseResult>;

template <typename Visit>
std::string NamesOf(const Results& results, bool counted, const Visit& visit) {
  Names names;
  for (const CaseResult& result : results) visit(result, &names);
  return names.Text(counted);
}

// "pass*3,fail": of calls one after another.
std::string Verdicts(const Results& results) {
  std::string text;
  for (size_t n = 0; n < results.size();) {
    size_t end = n;
    while (end < results.size() && results[end].verdict == results[n].verdict) {
      ++end;
    }
    text += (n > 0 ? "," : "") +
            std::string(verify::VerdictName(results[n].verdict));
    if (end - n > 1) text += "*" + std::to_string(end - n);
    n = end;
  }
  return text;
}

std::string Saying(const Results& results) {
  for (const CaseResult& result : results) {
    const bool passed = result.verdict == verify::Verdict::kPass;
    const bool failed = result.verdict == verify::Verdict::kFail;
    const bool refused = result.expect == verify::Expect::kRefuse;
    if (refused || (!passed && !failed)) return result.reason;
  }
  return "";
}

void AddProbes(const CaseResult& result, Names* names) {
  for (const std::string& line : result.probes_met) names->Add(ProbeOf(line));
  for (const std::string& name : result.probes_missed) names->Add(name + "-");
}

void AddLaws(const CaseResult& result, Names* names) {
  for (const verify::Check& check : result.checks) {
    const std::string law = verify::LawOf(check.name);
    if (!law.empty()) names->Add(law + (check.passed ? "" : "!"));
  }
}

void AddNulls(const CaseResult& result, Names* names) {
  for (const verify::Power& power : result.power) {
    names->Add(power.null + (power.rejected ? "" : power.same ? "=" : "!"));
  }
}

void AddFaults(const CaseResult& result, Names* names) {
  for (const verify::Evidence& fault : result.evidence) {
    const char* mark = !fault.looked_at         ? "?"
                       : fault.shown_by.empty() ? "!"
                                                : "";
    names->Add(fault.kind + mark);
  }
}

void AddSkips(const CaseResult& result, Names* names) {
  for (const auto* list :
       {&result.untried, &result.refused, &result.too_large, &result.lacking}) {
    for (const std::string& name : *list) names->Add(name);
  }
  for (const auto& one : result.unanswered) names->Add(one.check + "-");
}

void AddCanaries(const CaseResult& result, Names* names) {
  for (const verify::Canary& canary : result.canaries) {
    names->Add(canary.candidate + (canary.caught ? "" : "!"));
  }
}

void AddFindings(const CaseResult& result, Names* names) {
  for (const verify::Finding& finding : result.findings) {
    names->Add(verify::SignatureOf(finding));
  }
}

void AddCauses(const CaseResult& result, Names* names) {
  for (const verify::Explanation& cause : result.causes) {
    names->Add(cause.bug + (cause.Proved() ? "" : "?"));
  }
  if (!result.no_cause.empty()) names->Add("none");
}

void AddShards(const CaseResult& result, Names* names) {
  if (!result.shards) return;
  const verify::ShardsTried& tried = *result.shards;
  names->Add(tried.why_not.empty() ? std::to_string(tried.elements)
                                   : tried.why_not);
}

void AddClaims(const CaseResult& result, Names* names) {
  using verify::ClaimState;
  for (const verify::ClaimTried& tried : result.claims_tried) {
    if (tried.state == ClaimState::kNotApplicable) continue;
    const char* mark = tried.state == ClaimState::kBroken   ? "!"
                       : tried.state == ClaimState::kNotRun ? "?"
                                                            : "";
    names->Add(verify::ClaimName(tried.claim) + std::string(mark));
  }
}

std::string InputDigests(const Results& results) {
  verify::Digester digest;
  for (const CaseResult& result : results) {
    digest.UpdateText(result.input_digest);
  }
  return ShortHex(digest);
}

// Tables are no outputs: of these, how many tiles they visit.
std::string OutputDigests(const Results& results) {
  verify::Digester digest;
  for (const CaseResult& result : results) {
    for (const std::string& output : result.output_digests) {
      digest.UpdateText(output);
    }
    if (result.op != "block_plan") continue;
    for (const auto& counter : result.execution.counters) {
      digest.UpdateText(counter.name);
      digest.UpdateU64(static_cast<uint64_t>(counter.value));
    }
  }
  return ShortHex(digest);
}

std::string JudgedDigests(const Results& results) {
  verify::Digester digest;
  bool any = false;
  for (const CaseResult& result : results) {
    for (const verify::Judged& judged : result.judged) {
      any = true;
      const verify::EnvelopeResult& found = judged.result;
      digest.UpdateText(judged.line + found.tensor);
      for (const int64_t count : {found.expected, found.inside, found.unbounded,
                                  found.unclaimed, found.vacuous, found.outside,
                                  found.unlikely, int64_t{judged.evidence}}) {
        digest.UpdateU64(static_cast<uint64_t>(count));
      }
      UpdateNumber(found.worst, &digest);
      for (const double share : found.shares) UpdateNumber(share, &digest);
    }
  }
  return any ? ShortHex(digest) : "";
}

// Of calls that were judged by sets; and the truth of those that are not what
// it is.
void AddBounds(const std::vector<verify::Case>& calls, const Results& results,
               Columns* columns) {
  BoundsDigest all;
  for (size_t n = 0; n < results.size() && n < calls.size(); ++n) {
    const CaseResult& result = results[n];
    const bool held = result.rows_compared > 0 && result.op != "block_plan";
    const bool itself =
        !result.claims && result.verdict == verify::Verdict::kPass;
    if (!held || itself) continue;
    all.Add(calls[n], result.claims ? &*result.claims : nullptr);
  }
  columns->Add("truth", all.truth());
  columns->Add("lo", all.lo());
  columns->Add("hi", all.hi());
  columns->Add("sets", all.sets());
}

class Collector : public verify::RunObserver {
 public:
  void OnCase(const CaseResult& result, const verify::Totals& totals,
              int64_t) override {
    results.push_back(result);
    exit = verify::ExitCode(totals, {});
  }
  Results results;
  int exit = 0;
};

// "SPEC --profile NAME" or "SPEC --claims", in parts.
struct Asked {
  explicit Asked(std::string_view kernel) {
    const size_t at = kernel.find(" --");
    spec = kernel.substr(0, at);
    const std::string_view words = kernel.substr(std::min(at, kernel.size()));
    claims = words == kClaimsWord;
    if (words.starts_with(kProfileWord)) {
      profile = words.substr(kProfileWord.size());
    }
    if (spec.starts_with("builtin:optimized") &&
        spec.find("threads=") == std::string::npos) {
      spec += ",threads=1";
    }
  }
  std::string spec, profile;
  bool claims = false;
};

// Whether a failure's cause is looked for: replaying the known bugs on a long
// line takes most of its time, so that one in eight is enough.
bool IsExplained(const std::vector<verify::Case>& calls,
                 std::string_view line) {
  int64_t bytes = 0;
  for (const verify::Case& call : calls) bytes += verify::EstimateBytes(call);
  return bytes <= kShortLine || verify::DigestText(line)[0] < '2';
}

// As `lockstep verify` judges a line, but for what depends on the machine.
// `asked.claims`: as `lockstep invariance --claims all` does.
Result<verify::RunOptions> OptionsOf(const Asked& asked, bool explained,
                                     const verify::Candidate& candidate) {
  verify::RunOptions options;
  options.jobs = 1;
  options.max_memory = kMemory;
  options.judge.threads = 1;
  options.judge.materialise.max_bytes = kMemory;
  options.judge.one_field = true;
  options.judge.causes = explained;
  options.judge.profile_spec = asked.profile;
  if (asked.profile == verify::kProfileFromCandidate) {
    ASSIGN_OR_RETURN(options.judge.profile, verify::StatedProfileOf(candidate));
  } else if (!asked.profile.empty()) {
    ASSIGN_OR_RETURN(options.judge.profile, verify::LoadProfile(asked.profile));
  }
  if (asked.claims) {
    ASSIGN_OR_RETURN(options.judge.try_claims, verify::ParseClaims("all"));
    options.judge.only_claims = true;
    options.judge.claim_budget.seconds = HUGE_VAL;
    options.judge.claim_budget.work = kClaimWork;
    options.judge.profile = candidate.traits().claims;
    if (options.judge.profile) {
      options.judge.profile->claims = options.judge.try_claims;
    }
  }
  return options;
}

struct Judged {
  std::vector<verify::Case> calls;
  bool ours = true;
  Collector collected;
};

Result<Judged> Judge(const Asked& asked, std::string_view line) {
  ASSIGN_OR_RETURN(std::vector<verify::Job> jobs,
                   verify::JobsFromLines({std::string(line)}, verify::Ops()));
  Judged judged{jobs.front().sequence, true, {}};
  std::vector<std::unique_ptr<verify::Candidate>> candidates;
  ASSIGN_OR_RETURN(candidates.emplace_back(),
                   verify::ParseCandidate(asked.spec));
  RETURN_IF_ERROR(candidates.front()->Start());
  judged.ours = candidates.front()->traits().ours;
  ASSIGN_OR_RETURN(
      const verify::RunOptions options,
      OptionsOf(asked, IsExplained(judged.calls, line), *candidates.front()));
  ASSIGN_OR_RETURN(
      verify::Run run,
      verify::Run::Prepare(std::move(jobs), std::move(candidates), options));
  run.Judge(&judged.collected);
  return judged;
}

}  // namespace

std::string AnswerTo(std::string_view kernel, std::string_view line) {
  Columns columns;
  const Result<Judged> judged = Judge(Asked(kernel), line);
  if (!judged.ok()) {
    columns.Add("exit", std::to_string(verify::kExitUsage));
    columns.Add("say", judged.message());
    return columns.Take();
  }
  const Results& results = judged->collected.results;
  columns.Add("exit", std::to_string(judged->collected.exit));
  columns.Add("verdict", Verdicts(results));
  columns.Add("found", NamesOf(results, false, AddFindings));
  columns.Add("cause", NamesOf(results, false, AddCauses));
  columns.Add("field", NamesOf(results, false,
                               [](const CaseResult& result, Names* names) {
                                 if (!result.one_field.empty()) {
                                   names->Add(result.one_field);
                                 }
                               }));
  columns.Add("probes", NamesOf(results, true, AddProbes));
  columns.Add("laws", NamesOf(results, false, AddLaws));
  columns.Add("nulls", NamesOf(results, false, AddNulls));
  columns.Add("faults", NamesOf(results, false, AddFaults));
  columns.Add("skips", NamesOf(results, false, AddSkips));
  columns.Add("canary", NamesOf(results, false, AddCanaries));
  columns.Add("shards", NamesOf(results, false, AddShards));
  columns.Add("claims", NamesOf(results, false, AddClaims));
  columns.Add("in", InputDigests(results));
  if (judged->ours) {
    columns.Add("out", OutputDigests(results));
    columns.Add("judged", JudgedDigests(results));
  }
  AddBounds(judged->calls, results, &columns);
  columns.Add("say", Saying(results));
  return columns.Take();
}

}  // namespace lockstep::record
