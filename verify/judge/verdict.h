// What the judge says: verdicts, findings, and the exit code of a run.
// Meaning and precedence: docs/verdicts.md.
#ifndef LOCKSTEP_VERIFY_JUDGE_VERDICT_H_
#define LOCKSTEP_VERIFY_JUDGE_VERDICT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/allowed/result.h"
#include "verify/base/compare.h"
#include "verify/case/case.h"
#include "verify/causes/explanation.h"
#include "verify/judge/claims/claim.h"
#include "verify/judge/statistics/statistics.h"
#include "verify/ops/facts.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

struct ErrorPicture;  // verify/judge/pictures/error_picture.h

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
  kBits,            // equality with the reference
  kProbes,          // inputs on which every legal kernel gives one result
  kEnvelope,        // what the declared profile allows
  kCalibrated,      // the same with errors like a random walk: not proof
  kStatistics,      // errors that together are improbable, on two draws
  kStatisticsOnce,  // the same on one draw alone: not proof
  kInvariance,      // the same bits however it runs; guards, inputs, stores
  kTables,          // an invariant of block tables (docs/plans.md)
  kPower,           // the case cannot tell trivial answers from the truth
  kExecution,       // something else ran than was asked for
  kRefusal,         // expect=refuse
  kExpect,          // the outcome is not the one the case expects
  kCandidate,       // the candidate broke
  kSelf,            // the judge broke
};
const char* TierName(Tier tier);
// Whether what the tier finds makes a case suspicious, no more.
inline bool IsSuspicion(Tier tier) {
  return tier == Tier::kCalibrated || tier == Tier::kStatisticsOnce;
}

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

// The check of a kSelf finding that blames no judge: files of the case that
// were there when the run was prepared cannot be read any more.
inline constexpr const char* kFilesCheck = "files";

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
  // Of a probe: whether anything known to be wrong would have failed it.
  bool evidence = true;
};

// One planted fault, and what would have shown it.
struct Evidence {
  std::string kind;  // "key", "lse", ...
  std::string what;  // "row 7 does not see key 4095"
  // The case whose sets reject it, among those the candidate really met; empty:
  // none does.
  std::string shown_by;
  bool looked_at = true;  // false: that would have taken too long
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

// Where a case was written.
struct CaseOrigin {
  std::shared_ptr<const std::string> file;  // null: on the command line
  int64_t number = 0;  // of the line, or of the case there; from 1
  bool fresh = false;  // with a seed drawn in this run for the written one
};
// "FILE:LINE", or "case N".
std::string OriginText(const CaseOrigin& origin);

// The entry of a list of known failures that a case's findings match.
struct KnownMatch {
  size_t entry = 0;      // in the list, from 0
  bool expired = false;  // then it excuses nothing
  std::string text;      // "known until 2026-12-31: reason"
};

// A question to which answers computed elsewhere hold none.
struct Unanswered {
  std::string check;  // "repeat", "law_split", "probe cancel", ...
  std::string why;    // one line
};

// What became of the key `shard` of a case.
struct ShardsTried {
  std::string shard;               // "ring:4"
  std::vector<std::string> calls;  // what each call had, in their order
  std::vector<std::string> empty;  // shards that hold nothing
  std::string why_not;   // nothing was proved, one line; empty: it was
  int64_t elements = 0;  // that were compared
  // For our own kernels: the result of the join of shards of keys that are also
  // asked for as parts (N24), or why they are not parts. Empty: not asked.
  std::string parts;
};

// Why a case did not run.
enum class Skip : uint8_t {
  kNone,
  kUnsupported,  // by this machine
  kUndeclared,   // outside the candidate's profile
};

// Everything about one judged call.
struct CaseResult {
  std::string line;       // minimal
  std::string canonical;  // every key
  std::string op;         // "attention_forward"
  CaseOrigin origin;
  std::string replay_case;       // the whole call sequence it belongs to
  std::string candidate;         // spec
  std::string replay_candidate;  // the one that answers this case alone
  // Options of the command that may change the verdict, word by word.
  std::vector<std::string> replay_options;
  std::string profile;
  // Its fields, where it claims no exact bits.
  std::optional<NumericProfile> claims;
  Expect expect = Expect::kPass;
  Verdict verdict = Verdict::kError;
  std::string reason;  // of a verdict other than pass; one line
  Skip skip = Skip::kNone;
  std::vector<Finding> findings;
  std::optional<KnownMatch> known;

  std::vector<Fact> kernel;  // what a foreign one says of itself
  std::string requested_backend;
  std::string requested_suffix;  // "@AVX2,threads=2", or empty
  Execution execution;           // of the run that was compared
  bool executed_as_requested = false;
  bool absent = false;  // of answers computed elsewhere: none to the case
  int64_t runs = 0;     // times the candidate ran
  // Of a kernel whose profile says repeat = no: further runs of the same call,
  // and those of them that gave other bits than the first.
  int64_t runs_again = 0;
  int64_t runs_apart = 0;
  std::vector<std::string> targets;  // instruction sets that ran

  std::vector<Fact> facts;
  std::string input_digest;
  std::vector<OutputSpec> outputs;
  std::vector<std::string> output_digests;  // of the compared run
  int64_t rows = 0;
  int64_t rows_compared = 0;   // with the reference, or the truth
  int64_t rows_optimized = 0;  // others: with the optimized path
  int64_t rows_witnessed = 0;  // others: by the first witness
  int64_t rows_oracle = 0;     // others: with the oracle, for which it asked
  int64_t rows_ranged = 0;     // others: with what no row can leave alone
  int64_t elements_optimized = 0;
  std::vector<Comparison> comparisons;
  // Outputs that the kernel does not have, as its profile says: not judged.
  std::vector<std::string> lacking;
  std::vector<Check> checks;
  std::vector<Power> power;
  std::vector<Judged> judged;  // by profiles that claim no exact bits
  // Of the errors of a profile's case; absent: none were looked at, because
  // something was proved before.
  std::optional<StatisticsResult> statistics;
  std::vector<Baseline> baselines;  // where they may tell something
  std::vector<Canary> canaries;
  std::vector<Evidence> evidence;
  std::vector<std::string> probes_met;     // their cases
  std::vector<std::string> probes_missed;  // names: no answer to them
  std::vector<std::string> untried;        // checks this way in does not allow
  std::vector<Unanswered> unanswered;      // checks that lack an answer
  std::vector<std::string> refused;        // laws whose form it need not take
  // Laws of a kernel that is not held to bits, whose envelopes would take too
  // long: they are not looked at.
  std::vector<std::string> too_large;
  // Claims that were tried, in the order of Claim.
  std::vector<ClaimTried> claims_tried;
  std::optional<ShardsTried> shards;  // of a case with that key
  // "lse_base = 2": where the profile says so, the case gets that verdict.
  // Empty: no such field was found, or looked for.
  std::string one_field;
  Verdict one_field_verdict = Verdict::kPass;
  // Known bugs that give the same wrong answer, best first; none: none does, or
  // they were not replayed.
  std::vector<Explanation> causes;
  std::string no_cause;       // why there is none, where some may be expected
  int64_t cause_kernels = 0;  // emulated ones that were held against it
  double cause_seconds = 0;   // CPU time that looking for them took
  // Of a fail whose error was asked to be drawn: that, or why it is not.
  std::shared_ptr<const ErrorPicture> picture;
  std::string no_picture;
  double seconds = 0;            // all of it
  double candidate_seconds = 0;  // the compared run
  double reference_seconds = 0;
  // Of a further draw: the case it was drawn for, minimal; else empty.
  std::string draw_of;
  std::vector<CaseResult> draws;  // the further draws of a case
};

// Whether the case, or one of its draws, has that verdict and no excuse.
bool HasVerdict(const CaseResult& result, Verdict verdict);

// Rows that were compared with nothing.
int64_t UnheldRows(const CaseResult& result);

// The case, or sequence of cases, and the candidate that reproduce a finding.
std::string ReplayCase(const CaseResult& result, const Finding& finding);
std::string ReplayCandidate(const CaseResult& result, const Finding& finding);
// The command that does, with every option that may change the verdict.
std::string ReplayLine(const CaseResult& result, const Finding& finding);

// Whether the finding counts for the verdict: a fail or an error rests on
// proof, whatever suspicion stands beside it.
bool Counts(const CaseResult& result, const Finding& finding);
// "TIER:CHECK": what findings of one cause have in common.
std::string SignatureOf(const Finding& finding);
// That of the first finding that counts; the verdict's name where there is
// none.
std::string SignatureOf(const CaseResult& result);
// Whether the case's findings are excused by a known failure that still holds.
bool Excused(const CaseResult& result);

// Turns what was found into what the case's author asked about: `expect`.
void ApplyExpectation(CaseResult* result);

struct VerdictCounts {
  int64_t cases = 0;  // or draws
  int64_t pass = 0;
  int64_t fail = 0;
  int64_t suspicious = 0;
  int64_t untrusted = 0;
  int64_t skipped = 0;
  int64_t error = 0;
  int64_t skipped_unsupported = 0;  // part of skipped
  int64_t self_errors = 0;          // part of error: the judge's own
  int64_t unreadable = 0;           // part of error: files that are gone
  int64_t known = 0;                // excused, and counted nowhere else
  int64_t runs = 0;                 // of kernels

  void Count(const CaseResult& result);
  void Add(const VerdictCounts& more);
};

struct Totals : VerdictCounts {
  // Further draws of cases: no cases, but a wrong answer to one is one.
  VerdictCounts draws;
  int64_t not_run = 0;  // budget or interrupt came first
  double seconds = 0;
  bool interrupted = false;

  void Add(const CaseResult& result);  // and its draws
  void Add(const Totals& more);
};

// A fault in fewer than 1 of so many calls may have been missed. After `runs`
// calls without one, a fault in 1 of runs / 3 calls has stayed hidden with a
// probability of 5 %.
int64_t RarestFault(int64_t runs);

inline constexpr int kExitPass = 0;
inline constexpr int kExitFail = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCandidate = 3;
inline constexpr int kExitSuspicious = 4;
inline constexpr int kExitVacuous = 5;
inline constexpr int kExitSelf = 6;
inline constexpr int kExitUnsupported = 77;
inline constexpr int kExitInterrupted = 130;
// Of `git bisect run`: nothing can be said about this commit.
inline constexpr int kExitSkipCommit = 125;

// What fails a run although every case that was judged passed.
struct ExitPolicy {
  bool fail_on_suspicious = false;
  // Cases that may be skipped, or left over by a budget; absent: any number.
  std::optional<int64_t> max_skipped{};
};
// Whether more cases were not judged than the policy takes.
bool TooManySkipped(const Totals& totals, const ExitPolicy& policy);

// Precedence 6, 3, 1, 2, 5, 4, 0 (2: a case's files are gone); 77 and 130 only
// where none of 6, 3, 1 applies.
int ExitCode(const Totals& totals, const ExitPolicy& policy);
// What `git bisect run` understands: 125 for 2, 5, 6 and 77, which tell nothing
// of the kernel; the others as they are.
int BisectCode(int exit_code);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_VERDICT_H_
