#include "fuzz/conventions.h"

#include <utility>

#include "fuzz/where.h"

namespace lockstep::fuzz {
namespace {

using verify::Case;
using verify::MaskedNan;
using verify::NanPolicy;
using verify::Verdict;

struct Saying {
  const char* field;
  MaskedNan masked;
  NanPolicy nan;
};

// From the narrow to the wide.
constexpr Saying kSayings[] = {
    {"masked_nan_safe = padding", MaskedNan::kPadding, NanPolicy::kPropagate},
    {"masked_nan_safe = no", MaskedNan::kNo, NanPolicy::kPropagate},
    {"nan = unspecified", MaskedNan::kYes, NanPolicy::kUnspecified},
    {"masked_nan_safe = padding` and `nan = unspecified", MaskedNan::kPadding,
     NanPolicy::kUnspecified},
    {"masked_nan_safe = no` and `nan = unspecified", MaskedNan::kNo,
     NanPolicy::kUnspecified}};

// The judge's number of a case without a canary.
constexpr int64_t kNumber = 2;

// How well a field explains the case: it passes, proves little, or is left out,
// best first. None: it fails.
std::optional<int> RankOf(const std::vector<Case>& sequence,
                          const Target& target) {
  switch (TryCase(sequence, target, kNumber).verdict) {
    case Verdict::kPass:
      return 0;
    case Verdict::kUntrusted:
      return 1;
    case Verdict::kSkipped:
      return 2;
    default:
      return std::nullopt;
  }
}

// The keys of all ops that bring NaN, infinities or huge numbers.
std::vector<Case> WithOrdinaryNumbers(std::vector<Case> sequence) {
  for (const WhereKey& key :
       {WhereKey{"fill", {"normal:1"}}, WhereKey{"do", {"normal:1"}},
        WhereKey{"dy", {"normal:1"}}, WhereKey{"lse", {"normal:2"}},
        WhereKey{"nan", {"0"}}, WhereKey{"posinf", {"0"}},
        WhereKey{"poison", {"none"}}}) {
    const auto other = WithKeys({key}, sequence, 0);
    if (other) sequence = *other;
  }
  return sequence;
}

}  // namespace

std::optional<Convention> ConventionOf(const std::vector<Case>& sequence,
                                       const Outcome& outcome,
                                       const Target& target) {
  Target alike = target;
  // A signature is a tier and a check: "invariance:law_scale".
  const std::string law =
      verify::LawOf(outcome.signature.substr(outcome.signature.find(':') + 1));
  if (!law.empty()) alike.law = law;
  const verify::NumericProfile& own = *target.profile;
  std::optional<Convention> best;
  std::optional<int> rank;
  for (const Saying& saying : kSayings) {
    alike.profile = own;
    // A field is never said more strictly than it is.
    if (own.masked_nan_safe == MaskedNan::kYes ||
        saying.masked == MaskedNan::kNo) {
      alike.profile->masked_nan_safe = saying.masked;
    }
    if (own.nan == NanPolicy::kPropagate) alike.profile->nan = saying.nan;
    if (*alike.profile == own) continue;
    const std::optional<int> own_rank = RankOf(sequence, alike);
    if (!own_rank || (rank && *rank <= *own_rank)) continue;
    rank = own_rank;
    best = Convention{saying.field, alike.profile};
  }
  if (best) return best;
  alike.profile = own;
  if (law.empty() && !RankOf(WithOrdinaryNumbers(sequence), alike)) {
    return std::nullopt;
  }
  return Convention{};
}

std::string ConventionText(const Convention& convention) {
  if (!convention.field.empty()) {
    return "`" + convention.field +
           "` of a profile states this; the run goes on as if it were said";
  }
  return "no field of a profile states this: select hidden numbers, do not "
         "multiply them by 0; the run goes on without such findings";
}

}  // namespace lockstep::fuzz
