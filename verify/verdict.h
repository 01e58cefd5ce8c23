// What the judge says: verdicts, findings, and the exit code of a run.
// Meaning and precedence: docs/verdicts.md.
#ifndef LOCKSTEP_VERIFY_VERDICT_H_
#define LOCKSTEP_VERIFY_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/case.h"
#include "verify/compare.h"
#include "verify/op.h"
#include "verify/profile.h"

namespace lockstep::verify {

enum class Verdict : uint8_t {
  kPass,
  kFail,        // contract violated
  kSuspicious,  // improbable under the contract, not proven
  kUntrusted,   // passed, but the case proves too little
  kSkipped,     // not run, with a reason
  kError,       // the candidate broke, or the judge did
};
const char* VerdictName(Verdict verdict);

// The tier that found something.
enum class Tier : uint8_t {
  kBits,        // equality with the reference
  kProbes,      // inputs on which every legal kernel gives one result
  kEnvelope,    // what the declared profile allows
  kCalibrated,  // the same with errors like a random walk: not proof
  kInvariance,  // the same bits however it runs; guards, inputs, stores
  kTables,      // an invariant of block tables (docs/plans.md)
  kPower,       // the case cannot tell trivial answers from the truth
  kExecution,   // something else ran than was asked for
  kRefusal,     // expect=refuse
  kExpect,      // the outcome is not the one the case expects
  kCandidate,   // the candidate broke
  kSelf,        // the judge broke
};
const char* TierName(Tier tier);

struct Finding {
  Tier tier = Tier::kBits;
  std::string check;      // "o", "repeat", "tiles", "guard_zones", ...
  std::string message;    // one line
  std::string candidate;  // spec of a variation that shows it; empty: the
                          // requested one does
  std::optional<Comparison> comparison;
  std::string line{};  // the case that shows it; empty: the judged one
  std::optional<EnvelopeResult> envelope{};
};

// One boolean of a receipt's checks, over `runs` runs.
struct Check {
  std::string name;
  bool passed = false;
  int64_t runs = 0;
};

// "split" of the name of a check that is a law's, "law_split"; else empty.
std::string LawOf(std::string_view check);

// What became of one null candidate.
struct Power {
  std::string null;
  bool rejected = false;
  bool same = false;  // not rejected because it is the truth here, or nearly
};

// One output of one set of inputs, judged by allowed results.
struct Judged {
  Tier tier = Tier::kEnvelope;
  std::string line;  // the case: the judged one, or one of its probes
  EnvelopeResult result;
};

// What a rule of the trade would have said.
struct Baseline {
  std::string rule;
  bool passes = false;
};

// A kernel known to be wrong on this case, judged in the candidate's place.
struct Canary {
  std::string candidate;
  bool caught = false;
};

// Why a case did not run.
enum class Skip : uint8_t {
  kNone,
  kUnsupported,  // by this machine
  kUndeclared,   // outside the candidate's profile
};

// Everything about one judged call.
struct CaseResult {
  std::string line;         // minimal
  std::string canonical;    // every key
  std::string replay_case;  // the whole call sequence it belongs to
  std::string candidate;    // spec
  std::string profile;
  // Its fields, where it claims no exact bits.
  std::optional<NumericProfile> claims;
  Expect expect = Expect::kPass;
  Verdict verdict = Verdict::kError;
  std::string reason;  // of a verdict other than pass; one line
  Skip skip = Skip::kNone;
  std::vector<Finding> findings;

  std::string requested_backend;
  std::string requested_suffix;  // "@AVX2,threads=2", or empty
  Execution execution;           // of the run that was compared
  bool executed_as_requested = false;
  int64_t runs = 0;                  // times the candidate ran
  std::vector<std::string> targets;  // instruction sets that ran

  std::vector<Fact> facts;
  std::string input_digest;
  std::vector<OutputSpec> outputs;
  std::vector<std::string> output_digests;  // of the compared run
  int64_t rows = 0;
  int64_t rows_compared = 0;
  std::vector<Comparison> comparisons;
  std::vector<Check> checks;
  std::vector<Power> power;
  std::vector<Judged> judged;       // by profiles that claim no exact bits
  std::vector<Baseline> baselines;  // where they may tell something
  std::vector<Canary> canaries;
  double seconds = 0;            // all of it
  double candidate_seconds = 0;  // the compared run
  double reference_seconds = 0;
};

// The command that reproduces a finding of a case.
std::string ReplayLine(const CaseResult& result, const Finding& finding);
// Quotes for a POSIX shell.
std::string ShellQuote(const std::string& word);

// Turns what was found into what the case's author asked about: `expect`.
void ApplyExpectation(CaseResult* result);

struct Totals {
  int64_t cases = 0;
  int64_t pass = 0;
  int64_t fail = 0;
  int64_t suspicious = 0;
  int64_t untrusted = 0;
  int64_t skipped = 0;
  int64_t error = 0;
  int64_t skipped_unsupported = 0;  // part of skipped
  int64_t self_errors = 0;          // part of error: the judge's own
  int64_t not_run = 0;              // budget or interrupt came first
  double seconds = 0;
  bool interrupted = false;

  void Add(const CaseResult& result);
};

inline constexpr int kExitPass = 0;
inline constexpr int kExitFail = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCandidate = 3;
inline constexpr int kExitSuspicious = 4;
inline constexpr int kExitVacuous = 5;
inline constexpr int kExitSelf = 6;
inline constexpr int kExitUnsupported = 77;
inline constexpr int kExitInterrupted = 130;

// Precedence 6, 3, 1, 5, 4, 0; 77 and 130 only where none of 6, 3, 1 applies.
int ExitCode(const Totals& totals, bool fail_on_suspicious);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_VERDICT_H_
