#include "verify/judge/verdict.h"

#include <algorithm>
#include <string_view>

#include "verify/base/text.h"

namespace lockstep::verify {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "pass";
    case Verdict::kFail:
      return "fail";
    case Verdict::kSuspicious:
      return "suspicious";
    case Verdict::kUntrusted:
      return "untrusted";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kError:
      return "error";
  }
  return "unknown";
}

const char* TierName(Tier tier) {
  switch (tier) {
    case Tier::kBits:
      return "bits";
    case Tier::kProbes:
      return "probes";
    case Tier::kEnvelope:
      return "envelope";
    case Tier::kCalibrated:
      return "calibrated";
    case Tier::kStatistics:
      return "statistics";
    case Tier::kStatisticsOnce:
      return "unconfirmed";
    case Tier::kInvariance:
      return "invariance";
    case Tier::kTables:
      return "tables";
    case Tier::kPower:
      return "power";
    case Tier::kExecution:
      return "execution";
    case Tier::kRefusal:
      return "refusal";
    case Tier::kExpect:
      return "expect";
    case Tier::kCandidate:
      return "candidate";
    case Tier::kSelf:
      return "self";
  }
  return "unknown";
}

std::string OriginText(const CaseOrigin& origin) {
  const std::string number = std::to_string(origin.number);
  return origin.file == nullptr ? "case " + number
                                : *origin.file + ":" + number;
}

bool Counts(const CaseResult& result, const Finding& finding) {
  const bool proven =
      result.verdict == Verdict::kFail || result.verdict == Verdict::kError;
  return !proven ||
         (!IsSuspicion(finding.tier) && finding.tier != Tier::kPower);
}

std::string SignatureOf(const Finding& finding) {
  return std::string(TierName(finding.tier)) + ":" + finding.check;
}

std::string SignatureOf(const CaseResult& result) {
  for (const Finding& finding : result.findings) {
    if (Counts(result, finding)) return SignatureOf(finding);
  }
  return VerdictName(result.verdict);
}

bool Excused(const CaseResult& result) {
  return result.known && !result.known->expired;
}

bool HasVerdict(const CaseResult& result, Verdict verdict) {
  if (result.verdict == verdict && !Excused(result)) return true;
  return std::any_of(result.draws.begin(), result.draws.end(),
                     [&](const CaseResult& drawn) {
                       return drawn.verdict == verdict && !Excused(drawn);
                     });
}

int64_t UnheldRows(const CaseResult& result) {
  if (result.rows_compared == 0) return 0;
  return result.rows - result.rows_compared - result.rows_optimized -
         result.rows_witnessed - result.rows_oracle - result.rows_ranged;
}

std::string ReplayCase(const CaseResult& result, const Finding& finding) {
  if (!finding.line.empty()) return finding.line;
  // Files that answer one call are named alone.
  return result.replay_candidate.empty() ? result.replay_case : result.line;
}

std::string ReplayCandidate(const CaseResult& result, const Finding& finding) {
  if (!finding.candidate.empty()) return finding.candidate;
  return result.replay_candidate.empty() ? result.candidate
                                         : result.replay_candidate;
}

namespace {

// Options of a run of claims alone: one of `invariance`. The finding of a claim
// wants that one only.
std::vector<std::string> OptionsOf(const CaseResult& result,
                                   const Finding& finding, bool* claims) {
  std::vector<std::string> options = result.replay_options;
  const auto given = std::find(options.begin(), options.end(), "--claims");
  *claims = given != options.end();
  constexpr std::string_view kPrefix = "claim_";
  if (*claims && finding.check.starts_with(kPrefix)) {
    *(given + 1) = finding.check.substr(kPrefix.size());
  }
  return options;
}

}  // namespace

std::string ReplayLine(const CaseResult& result, const Finding& finding) {
  bool claims = false;
  const auto options = OptionsOf(result, finding, &claims);
  std::string line = std::string("lockstep ") +
                     (claims ? "invariance " : "verify ") +
                     ShellQuote(ReplayCase(result, finding));
  const std::string spec = ReplayCandidate(result, finding);
  if (spec != "builtin:optimized") line += " --candidate " + ShellQuote(spec);
  if (!result.profile.empty()) {
    line += " --profile " + ShellWord(result.profile);
  }
  for (const std::string& word : options) line += " " + ShellWord(word);
  return line;
}

std::string LawOf(std::string_view check) {
  constexpr std::string_view kPrefix = "law_";
  if (!check.starts_with(kPrefix)) return "";
  return std::string(check.substr(kPrefix.size()));
}

void ApplyExpectation(CaseResult* result) {
  const Verdict found = result->verdict;
  if (found == Verdict::kError || found == Verdict::kSkipped) return;
  Verdict wanted = Verdict::kPass;
  switch (result->expect) {
    case Expect::kPass:
      return;
    case Expect::kFail:
      wanted = Verdict::kFail;
      break;
    case Expect::kVacuous:
      wanted = Verdict::kUntrusted;
      break;
    case Expect::kRefuse:
      // A refused case is decided before it is judged; this one was accepted.
      result->findings.clear();
      break;
  }
  if (found == wanted && result->expect != Expect::kRefuse) {
    result->verdict = Verdict::kPass;
    result->reason = std::string(ExpectName(result->expect)) + " as expected";
    result->findings.clear();
    return;
  }
  // A contract violation in a case expected to be vacuous stays one.
  if (found == Verdict::kFail && result->expect != Expect::kRefuse) return;
  result->verdict = Verdict::kFail;
  result->reason = std::string("expected ") + ExpectName(result->expect) +
                   ", found " + VerdictName(found);
  result->findings.push_back(
      {Tier::kExpect, "expect", result->reason, "", std::nullopt});
}

int64_t RarestFault(int64_t runs) { return std::max<int64_t>(runs / 3, 1); }

void VerdictCounts::Count(const CaseResult& result) {
  ++cases;
  runs += result.runs;
  if (Excused(result)) {
    ++known;
    return;
  }
  switch (result.verdict) {
    case Verdict::kPass:
      ++pass;
      break;
    case Verdict::kFail:
      ++fail;
      break;
    case Verdict::kSuspicious:
      ++suspicious;
      break;
    case Verdict::kUntrusted:
      ++untrusted;
      break;
    case Verdict::kSkipped:
      ++skipped;
      if (result.skip == Skip::kUnsupported) ++skipped_unsupported;
      break;
    case Verdict::kError:
      ++error;
      for (const Finding& finding : result.findings) {
        if (finding.tier != Tier::kSelf) continue;
        ++(finding.check == kFilesCheck ? unreadable : self_errors);
        break;
      }
      break;
  }
}

void VerdictCounts::Add(const VerdictCounts& more) {
  cases += more.cases;
  pass += more.pass;
  fail += more.fail;
  suspicious += more.suspicious;
  untrusted += more.untrusted;
  skipped += more.skipped;
  error += more.error;
  skipped_unsupported += more.skipped_unsupported;
  self_errors += more.self_errors;
  unreadable += more.unreadable;
  known += more.known;
  runs += more.runs;
}

void Totals::Add(const CaseResult& result) {
  Count(result);
  for (const CaseResult& drawn : result.draws) draws.Count(drawn);
}

void Totals::Add(const Totals& more) {
  VerdictCounts::Add(more);
  draws.Add(more.draws);
  not_run += more.not_run;
  seconds += more.seconds;
  interrupted = interrupted || more.interrupted;
}

bool TooManySkipped(const Totals& totals, const ExitPolicy& policy) {
  return policy.max_skipped &&
         totals.skipped + totals.not_run > *policy.max_skipped;
}

int ExitCode(const Totals& totals, const ExitPolicy& policy) {
  // A draw that proves little, or that the profile does not cover, is no fault
  // of the case.
  const VerdictCounts& draws = totals.draws;
  if (totals.self_errors + draws.self_errors > 0) return kExitSelf;
  if (totals.error > totals.unreadable || draws.error > draws.unreadable) {
    return kExitCandidate;
  }
  if (totals.fail + draws.fail > 0) return kExitFail;
  if (totals.unreadable > 0) return kExitUsage;
  if (totals.interrupted) return kExitInterrupted;
  const int64_t ran = totals.cases - totals.skipped;
  if (ran == 0) {
    const bool unsupported =
        totals.skipped > 0 && totals.skipped == totals.skipped_unsupported;
    return unsupported ? kExitUnsupported : kExitVacuous;
  }
  if (totals.untrusted > 0 || TooManySkipped(totals, policy)) {
    return kExitVacuous;
  }
  if (totals.suspicious + draws.suspicious > 0 && policy.fail_on_suspicious) {
    return kExitSuspicious;
  }
  return kExitPass;
}

int BisectCode(int exit_code) {
  switch (exit_code) {
    case kExitUsage:
    case kExitVacuous:
    case kExitSelf:
    case kExitUnsupported:
      return kExitSkipCommit;
    default:
      return exit_code;
  }
}

}  // namespace lockstep::verify
