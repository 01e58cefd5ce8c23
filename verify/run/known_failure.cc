#include "verify/run/known_failure.h"

#include <algorithm>

namespace lockstep::verify {
namespace {

// The entry for a finding: one that holds, before one that has expired.
std::optional<size_t> EntryFor(std::span<const KnownFailure> known,
                               const std::string& op,
                               const std::string& signature) {
  std::optional<size_t> found;
  for (size_t n = 0; n < known.size(); ++n) {
    const std::vector<std::string>& own = known[n].signatures;
    if (known[n].op != op) continue;
    if (std::find(own.begin(), own.end(), signature) == own.end()) continue;
    if (!known[n].expired) return n;
    if (!found) found = n;
  }
  return found;
}

std::string TextOf(const KnownFailure& known) {
  return std::string("known until ") + known.expires +
         (known.expired ? ", which has passed: " : ": ") + known.reason;
}

}  // namespace

std::optional<KnownMatch> MatchKnown(std::span<const KnownFailure> known,
                                     const CaseResult& result) {
  if (known.empty() || result.verdict == Verdict::kPass ||
      result.verdict == Verdict::kSkipped) {
    return std::nullopt;
  }
  std::optional<KnownMatch> match;
  for (const Finding& finding : result.findings) {
    if (!Counts(result, finding)) continue;
    if (finding.tier == Tier::kSelf) return std::nullopt;
    const auto entry = EntryFor(known, result.op, SignatureOf(finding));
    if (!entry) return std::nullopt;
    const bool expired = known[*entry].expired;
    if (!match || (expired && !match->expired)) {
      match = KnownMatch{*entry, expired, TextOf(known[*entry])};
    }
  }
  return match;
}

void KnownUse::Add(const CaseResult& result) {
  if (!result.known) return;
  ++(result.known->expired ? expired_ : excused_)[result.known->entry];
}

std::string KnownUse::Say(const KnownFailure& known, size_t entry) const {
  const auto cases = [](int64_t n) {
    return std::to_string(n) + (n == 1 ? " case" : " cases");
  };
  std::string text = known.op;
  for (const std::string& signature : known.signatures) text += " " + signature;
  text += " until " + known.expires + ": ";
  if (Needless(entry)) return text + "no case needs it, remove it";
  if (known.expired) return text + "expired, " + cases(expired_[entry]);
  return text + cases(excused_[entry]) + ", " + known.reason;
}

}  // namespace lockstep::verify
