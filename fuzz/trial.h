// Judges one case for fuzzing: all checks that prove, few that repeat. Also
// says what distinguishes two faults.
#ifndef LOCKSTEP_FUZZ_TRIAL_H_
#define LOCKSTEP_FUZZ_TRIAL_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/judge/verdict.h"
#include "verify/profile/profile.h"

namespace lockstep::fuzz {

// What is tried, and how hard.
struct Target {
  std::string candidate;  // spec
  std::optional<verify::NumericProfile> profile;
  std::string profile_spec;  // its name or path; empty: the candidate's own
  // Plans in addition to the first; each is one more run of the candidate.
  int64_t variations = 1;
  // Laws: none given, one of every second case (all of them take as long as
  // everything else together); empty, all; otherwise the one that is named.
  std::optional<std::string> law;
  bool suspicious = false;  // counts as a finding
  int threads = 1;          // that the candidate asks for
  const std::atomic<bool>* stop = nullptr;
  bool allow_auto = false;  // --profile auto in a CI job; replay lines say so

  bool guarded = false;  // has fast paths behind guards (N6)
  std::string usual_op;  // that the candidate is made for; empty: any
  // It computes in a process of its own, which answers for many cases and may
  // keep something of them.
  bool apart = false;
  bool computes = true;  // false: it has answers to fixed cases
  // Words of docs/wire.md for what it says that it computes: "window".
  std::vector<std::string> claims;
  // What the candidate claims. `op`: what it is tried with; empty: its usual
  // one. Errors: usage; a foreign candidate without a profile, among others,
  // where the op is judged by one, and one that has answers to fixed cases,
  // unless these will do, and profile auto in a CI job that does not allow it.
  static Result<Target> Open(const std::string& candidate,
                             const std::string& profile,
                             const std::string& op = "", bool answers = false,
                             bool allow_auto = false);
  // The lane the claim is limited to, if any.
  std::optional<Lane> lane;
};

// What came of a case or call sequence.
struct Outcome {
  verify::Verdict verdict = verify::Verdict::kPass;  // worst of the calls
  // "bits:o", "invariance:tiles", ...: tier and check of the first finding
  // that counts; empty if none does. Shrinking keeps it.
  std::string signature;
  std::string message;  // of that finding
  std::string line;     // the case that shows it: a probe of the one tried;
                        // empty: the one tried
  std::string replay;   // the command that shows it
  std::string inputs;   // digests, of the last call
  std::string outputs;
  bool self_error = false;  // the judge's own
  bool unsupported = false;
  std::string refusal;   // why the kernel refused the last call; else empty
  int64_t canaries = 0;  // known-bad kernels put in the candidate's place
  int64_t canaries_missed = 0;
  std::vector<std::string> missed;  // their specs
  std::vector<std::string> laws;    // those that were tried
  // Largest error over its bound that an envelope saw; 0 where bits decide.
  double nearness = 0;
  double seconds = 0;

  bool nan =
      false;  // that finding is of NaN, where a number is expected or not

  bool Found() const { return !signature.empty(); }
};

// Which of `buckets` an outcome falls into: the last from 1 on, infinity where
// a bound of zero was missed among it, each one before for half of that.
//   Requires: nearness > 0.
int NearnessBucket(double nearness, int buckets);

// For answers to fixed cases: the only case that is judged.
inline constexpr int64_t kOnlyCase = 1;

// A fresh candidate judges nothing of another case: an outcome is a function
// of the sequence and the target alone, time and machine apart, unless a
// process of the candidate's own keeps something of earlier cases (TryAlone).
//   `number`: of the case in the run, from 1; the first has a canary always,
//   odd ones a law.
Outcome TryCase(const std::vector<verify::Case>& sequence, const Target& target,
                int64_t number);

// The same in a fresh process, where the candidate computes in one.
Outcome TryAlone(const std::vector<verify::Case>& sequence,
                 const Target& target, int64_t number);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_TRIAL_H_
