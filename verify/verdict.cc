#include "verify/verdict.h"

#include <utility>

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

std::string ShellQuote(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ReplayLine(const CaseResult& result, const Finding& finding) {
  std::string line =
      "lockstep verify " +
      ShellQuote(finding.line.empty() ? result.replay_case : finding.line);
  const std::string& spec =
      finding.candidate.empty() ? result.candidate : finding.candidate;
  if (spec != "builtin:optimized") line += " --candidate " + ShellQuote(spec);
  if (!result.profile.empty()) line += " --profile " + result.profile;
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

void Totals::Add(const CaseResult& result) {
  ++cases;
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
        if (finding.tier == Tier::kSelf) {
          ++self_errors;
          break;
        }
      }
      break;
  }
}

int ExitCode(const Totals& totals, bool fail_on_suspicious) {
  if (totals.self_errors > 0) return kExitSelf;
  if (totals.error > 0) return kExitCandidate;
  if (totals.fail > 0) return kExitFail;
  if (totals.interrupted) return kExitInterrupted;
  const int64_t ran = totals.cases - totals.skipped;
  if (ran == 0) {
    const bool unsupported =
        totals.skipped > 0 && totals.skipped == totals.skipped_unsupported;
    return unsupported ? kExitUnsupported : kExitVacuous;
  }
  if (totals.untrusted > 0) return kExitVacuous;
  if (totals.suspicious > 0 && fail_on_suspicious) return kExitSuspicious;
  return kExitPass;
}

}  // namespace lockstep::verify
