// The loop: draws, tries, counts, shrinks what fails.
#ifndef LOCKSTEP_FUZZ_RUN_H_
#define LOCKSTEP_FUZZ_RUN_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "fuzz/refusals.h"
#include "fuzz/shrink.h"
#include "fuzz/trial.h"
#include "fuzz/where.h"
#include "verify/case/case.h"
#include "verify/domain/domain.h"
#include "verify/run/run.h"

namespace lockstep::fuzz {

struct Counts {
  int64_t cases = 0;
  int64_t pass = 0;
  int64_t fail = 0;
  int64_t suspicious = 0;
  int64_t untrusted = 0;
  int64_t skipped = 0;
  int64_t error = 0;
  int64_t unsupported = 0;  // part of skipped
  int64_t self_errors = 0;  // part of error
  int64_t canaries = 0;
  int64_t canaries_missed = 0;
  int64_t found = 0;  // cases with a signature

  void Add(const Outcome& outcome);
};

// Which cases, in which order.
struct Plan {
  const verify::Domain* domain = nullptr;
  verify::DomainOptions draw;
  // Keys that drawn cases get; what cannot have them is left out, and `cases`
  // of the budget counts those that were tried. Empty: as drawn.
  std::vector<WhereKey> where;
  uint64_t seed = 0;
  verify::Shard shard;    // indices i, i + N, i + 2N, ...
  verify::Budget budget;  // of this call; `cases` bounds indices, all shards
  // Indices judged before: left out, the features of `met` counted.
  std::unordered_set<uint64_t> done, met;
  Counts before;                       // what those came to
  std::set<std::string> known_faults;  // and the signatures they had
  // Judged before any case is drawn.
  std::vector<std::vector<verify::Case>> corpus;
  int64_t max_signatures = 0;  // stop at so many; 0: go on
  double shrink_seconds = 60;  // each; 0: do not shrink
  // Leave out cases that the kernel refuses, once it has refused three like
  // them; `cases` of the budget then counts those that were tried. A campaign
  // does not: its cases follow from the index alone.
  bool learn = false;
};

// One case as decided. `drawn` is false for a line of the corpus, whose index
// is its place there.
struct Tried {
  uint64_t index = 0;
  bool drawn = true;
  const std::vector<verify::Case>* sequence = nullptr;
  const Outcome* outcome = nullptr;
};

// The first case of a signature, as found and as shrunk.
struct Fault {
  uint64_t index = 0;
  bool drawn = true;
  std::string line;
  Shrunk shrunk;
  double seconds = 0;  // from the start to the find
  // Words for what the kernel makes of NaN; not empty: it is no fault.
  std::string convention;
};

// A known-bad kernel that passed, and on which case.
struct MissedCanary {
  uint64_t index = 0;
  bool drawn = true;
  std::string canary;  // spec; empty where only a record is left of it
  std::string line;    // minimal
};

struct Report {
  Counts counts;
  std::vector<MissedCanary> missed;     // the first kMostMissedNamed
  int64_t fresh = 0;                    // cases of this call
  int64_t computed = 0;                 // of those, not skipped
  std::vector<LeftOut> left_out;        // never tried
  int64_t put_off = 0;                  // nor these (Refusals)
  int64_t not_so = 0;                   // nor these (Plan::where)
  std::vector<Fault> faults;            // one per signature, in the order found
  std::vector<Fault> conventions;       // told apart from faults
  std::set<std::string> known_faults;   // found before this call
  std::map<std::string, int64_t> laws;  // how often each was tried
  // Cases that were judged with feature n, by the domain's list.
  std::vector<int64_t> features;
  // Claims of the kernel, each with the features that show it.
  std::map<std::string, std::vector<size_t>> claims;
  double seconds = 0;
  double judging_seconds = 0;  // shrinking left out
  bool interrupted = false;
  std::string unfinished;  // the case that ran when the process was ended

  int64_t Findings() const {
    return static_cast<int64_t>(faults.size() + known_faults.size());
  }
  // Names of the features that no judged case had.
  std::vector<std::string> Missing(const verify::Domain& domain) const;
  // The claims of which no case was judged.
  std::vector<std::string> Unproved() const;
};

// Words of a kernel's claims (docs/wire.md), each with the features of the
// domain that show it. Words that no feature shows are left out, and so are
// lanes where the target has one lane.
std::map<std::string, std::vector<size_t>> ClaimedFeatures(
    const Target& target, const verify::Domain& domain);

class Observer {
 public:
  virtual ~Observer() = default;
  // Errors end the run.
  virtual Status OnCase(const Tried& tried, const Report& report) {
    (void)tried, (void)report;
    return {};
  }
  virtual void OnFault(const Fault& fault) { (void)fault; }
};

// The results of a run so far, for code that ends it from outside while a case
// runs. A kernel cannot be asked to stop. To be read with the mutex held; the
// loop holds it between cases, and while its observer is told of one.
struct Progress {
  using Clock = std::chrono::steady_clock;

  std::mutex mutex;
  Report report;
  const std::vector<verify::Case>* judging = nullptr;  // the case that runs
  // What is being shrunk, as it was found, and since when.
  std::optional<Fault> shrinking;
  Clock::time_point shrinking_since;
  double shrinking_seconds = 0;  // of those before
  Clock::time_point start = Clock::now();
};

// The report as it stands inside a case: the case that runs does not count, a
// finding that is being shrunk is the last fault, as it was found.
//   Requires: the mutex is held.
Report ReportSoFar(const Progress& progress);

inline constexpr size_t kMostMissedNamed = 20;

// The rate of missed canaries that a run may have. A canary is wrong on its
// case, but may be so by less than the claimed profile allows: 3 of 874 were,
// of cpu-f32. A case with a missed canary is untrusted either way.
inline constexpr double kMostMissRate = 0.02;

// Upper end of Wilson's interval of 95 % of a rate; 1 of nothing.
double WilsonUpper(int64_t hits, int64_t of);

// Whether the canaries show that the judge works: none was missed, or so many
// were caught that the rate is below kMostMissRate with 95 % confidence (1 miss
// of at least 280, 3 of 437).
bool CanariesHold(const Counts& counts);

// Errors: the observer's.
Result<Report> RunPlan(const Plan& plan, const Target& target,
                       Observer* observer, Progress* progress);

// Precedence 6, 3, 1, 130, 77, 5, 4, 0 (docs/verdicts.md). Untrusted cases are
// counted, but do not fail a run: cases are drawn at random, and only a run
// that proves nothing at all, nothing of something that the kernel claims, or
// misses canaries (CanariesHold), is vacuous.
int ExitCode(const Report& report, const Target& target);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_RUN_H_
