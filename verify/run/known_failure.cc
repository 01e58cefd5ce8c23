#include "verify/run/known_failure.h"

#include <algorithm>
#include <set>

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

void KnownUse::Add(std::span<const KnownFailure> known,
                   const CaseResult& result) {
  std::set<size_t> entries;
  std::string other;
  for (const Finding& finding : result.findings) {
    if (!Counts(result, finding)) continue;
    const std::string signature = SignatureOf(finding);
    const auto its = EntryFor(known, result.op, signature);
    if (its) entries.insert(*its);
    if (!its && other.empty()) other = signature;
  }
  for (const size_t n : entries) {
    Partly& partly = partly_[n];
    if (result.known) {
      ++(known[n].expired ? expired_ : excused_)[n];
    } else if (partly.cases++ == 0) {
      partly.other = other;
    }
  }
}

std::string KnownUse::Say(const KnownFailure& known, size_t entry) const {
  const auto cases = [](int64_t n) {
    return std::to_string(n) + (n == 1 ? " case" : " cases");
  };
  std::string text = known.op;
  for (const std::string& signature : known.signatures) text += " " + signature;
  text += " until " + known.expires + ": ";
  if (Needless(entry)) return text + "no case needs it, remove it";
  const Partly& partly = partly_[entry];
  if (excused_[entry] == 0 && partly.cases > 0) {
    return text + cases(partly.cases) + " fail with it and with " +
           partly.other + ", which no entry has: add that, or mend it";
  }
  if (known.expired) return text + "expired, " + cases(expired_[entry]);
  return text + cases(excused_[entry]) + ", " + known.reason;
}

}  // namespace lockstep::verify
