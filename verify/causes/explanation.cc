#include "verify/causes/explanation.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "verify/base/format.h"

namespace lockstep::verify {
namespace {

// Most names of bugs in a line.
constexpr size_t kNamed = 4;
// The share of the error below which the nearest bug is no hint.
constexpr double kWorthNaming = 0.6;

std::string Share(const Explanation& cause) {
  if (cause.same_bits) return "the same bits";
  // Rounded down: what is not all of it does not read so.
  const double percent = static_cast<int>(cause.explained * 1000) / 10.0;
  return Format("%.1f %% of the error", percent);
}

}  // namespace

std::string ExplanationText(const Explanation& cause) {
  // One key that is to blame is no bug of the catalogue.
  if (cause.bug.starts_with("key ")) {
    return cause.bug + ", " + cause.what + ": another weight of it alone is " +
           Share(cause) + " of " + cause.where;
  }
  std::string text = (cause.Proved() ? "" : "perhaps ") + cause.what;
  if (!cause.where.empty()) text += ", in " + cause.where;
  if (cause.bug.starts_with(kAsked)) {
    text += cause.Proved()
                ? ": so asked, the answer is right"
                : ": not proved (" + cause.doubt + "), " + Share(cause);
    for (const std::string& other : cause.alike) text += "; or " + other;
    return text;
  }
  text += (cause.Proved() ? ": behaves like " : ": like ") + cause.bug;
  if (!cause.Proved()) text += ", not proved (" + cause.doubt + ")";
  text += ", " + Share(cause);
  if (cause.alike.empty()) return text;
  text += "; indistinguishable here from ";
  for (size_t n = 0; n < std::min(cause.alike.size(), kNamed); ++n) {
    text += (n > 0 ? ", " : "") + cause.alike[n];
  }
  if (cause.alike.size() > kNamed) {
    text += " and " + std::to_string(cause.alike.size() - kNamed) + " more";
  }
  return text;
}

std::string UnlikeText(const std::optional<Explanation>& nearest) {
  std::string text = "unlike any known bug";
  if (!nearest || nearest->explained < kWorthNaming) return text;
  return text + "; nearest is " + nearest->bug +
         Format(" with %.1f %% of the error", nearest->explained * 100);
}

}  // namespace lockstep::verify
