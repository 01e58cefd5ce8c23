// What a wrong answer may come from: a known bug that, planted into a correct
// kernel, gives the same wrong answer.
#ifndef LOCKSTEP_VERIFY_CAUSES_EXPLANATION_H_
#define LOCKSTEP_VERIFY_CAUSES_EXPLANATION_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::verify {

// Shares of the error from which a cause is stated at all, and from which it
// is said to reproduce the answer. docs/causes.md has how often each is right.
inline constexpr double kCauseStated = 0.9;
inline constexpr double kCauseReproduced = 0.98;
// The share from which a pair of bugs is stated.
inline constexpr double kPairStated = 0.95;
// Beside a cause that is not proved, others are stated that explain as much but
// for this.
inline constexpr double kCauseNear = 0.03;

// CPU time for the known bugs of one finding, in seconds.
inline constexpr double kCauseSeconds = 2;

// What the name of a question begins with that is answered in place of the
// case's own.
inline constexpr std::string_view kAsked = "asked.";

struct Explanation {
  // Of the catalogue: "attn.window_left_plus_one"; or "asked.scale".
  std::string bug;
  std::string what;   // its sentence there
  std::string where;  // "h 2, 3 of 4"; empty: wherever the bug can show
  // Spec of the emulated kernel with the bug.
  std::string candidate;
  // The share of the error that is the bug's: 1 - |produced - with the bug| /
  // |produced - right|, in [0, 1].
  double explained = 0;
  bool same_bits = false;  // of every element
  // Why it is not proved: "only one row shows it"; empty: independent rows show
  // it, and nothing speaks against it.
  std::string doubt;
  // Bugs that give the same answer to these inputs.
  std::vector<std::string> alike;

  bool Reproduced() const { return explained >= kCauseReproduced; }
  bool Proved() const { return doubt.empty(); }
};

// "its sentence, in h 2, 3 of 4: behaves like BUG, 99.9 % of the error;
// indistinguishable here from ...": one line. What is not proved is "perhaps
// its sentence: like BUG, not proved (why), 93.1 % of the error".
std::string ExplanationText(const Explanation& cause);

// "unlike any known bug", and the nearest one where it is worth naming.
std::string UnlikeText(const std::optional<Explanation>& nearest);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_EXPLANATION_H_
