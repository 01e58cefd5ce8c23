#include "verify/judge/evidence/stage.h"

#include <algorithm>
#include <cstdint>

#include "verify/base/format.h"

namespace lockstep::verify {
namespace {

// "93 %" of the whole, never 0 % or 100 % of a part.
std::string Share(int64_t part, int64_t whole) {
  const double share =
      100 * static_cast<double>(part) / static_cast<double>(whole);
  return Format("%.3g %%", part < whole ? std::min(share, 99.9) : share);
}

// Whether a probe that the candidate answered, and that would have shown a
// planted fault, bounds that output: nothing of it but the last digits on the
// case's own inputs was left open then, and the report counts those apart.
bool HeldByProbe(const CaseResult& result, const std::string& tensor) {
  return std::any_of(
      result.judged.begin(), result.judged.end(), [&](const Judged& judged) {
        return judged.tier == Tier::kProbes && judged.evidence &&
               judged.result.tensor == tensor && judged.result.Passed() &&
               !judged.result.MostlyOpen();
      });
}

}  // namespace

void JudgeExecution(const Candidate& candidate, bool required,
                    CaseResult* result) {
  const Execution& ran = result->execution;
  const Variation& asked = candidate.traits().fixed;
  result->executed_as_requested =
      ran.fallback_reason.empty() &&
      ran.backend == candidate.traits().backend &&
      (!asked.target || *asked.target == ran.target) &&
      (!asked.threads || *asked.threads == ran.threads);
  result->checks.push_back(
      {"executed_as_requested", result->executed_as_requested, 1});
  if (result->executed_as_requested || !required) return;
  std::string message =
      "requested " + candidate.Spec() + ", executed " + ran.backend;
  if (!ran.target.empty()) message += "@" + ran.target;
  if (ran.threads > 0) {
    message += " on " + std::to_string(ran.threads) + " threads";
  }
  if (!ran.fallback_reason.empty()) message += ": " + ran.fallback_reason;
  result->findings.push_back(
      {Tier::kExecution, "executed_as_requested", message, "", std::nullopt});
}

void FindOpenOutputs(const std::string& profile, const AllowedResults& allowed,
                     CaseResult* result) {
  const auto rows = static_cast<int64_t>(allowed.rows().size());
  int64_t unclaimed = 0;
  for (int64_t n = 0; n < rows; ++n) {
    unclaimed += allowed.Bounds(static_cast<size_t>(n)) ? 0 : 1;
  }
  for (const Judged& judged : result->judged) {
    const EnvelopeResult& found = judged.result;
    const bool own =
        judged.tier == Tier::kEnvelope && judged.line == result->line;
    if (!own || !found.MostlyOpen()) continue;
    if (HeldByProbe(*result, found.tensor)) continue;
    std::string message = found.tensor + ": " +
                          Share(found.Open(), found.expected) + " of " +
                          std::to_string(found.expected) +
                          " elements are unbounded under profile " + profile +
                          ", any answer near them would pass";
    const std::string dominant = found.Dominant();
    // What is open in whole rows comes from no width of the others.
    const bool whole =
        unclaimed * found.expected >= found.Open() * rows / 2 && unclaimed > 0;
    message += whole
                   ? "; the profile leaves " + std::to_string(unclaimed) +
                         " of " + Count(rows, "row") +
                         " open (they see no key, or NaN reaches them): judge "
                         "a case that has fewer of them"
               : dominant.empty()
                   ? "; judge a shorter case, or inputs whose sums cannot "
                     "overflow"
                   : "; the slack is " + dominant +
                         ": declare that field as narrow as it is true, or "
                         "judge a shorter case";
    result->findings.push_back(
        {Tier::kPower, "unbounded", message, "", std::nullopt});
  }
}

}  // namespace lockstep::verify
