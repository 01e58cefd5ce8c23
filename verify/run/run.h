// The driver: many cases, in order, each before the judge; everything that can
// be refused is refused before anything is judged.
#ifndef LOCKSTEP_VERIFY_RUN_RUN_H_
#define LOCKSTEP_VERIFY_RUN_RUN_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/judge/judge.h"
#include "verify/judge/verdict.h"
#include "verify/run/known_failure.h"
#include "verify/run/side_by_side.h"

namespace lockstep::verify {

// Of all jobs of a file, once: there may be hundreds of thousands.
using SharedDirectories = std::shared_ptr<const std::vector<std::string>>;

// One line of a case file or command line: a case, or a call sequence.
struct Job {
  std::vector<Case> sequence;
  CaseOrigin origin;
  SharedDirectories search_directories;  // for files of the case
};

// What a budget allows; absent: no limit.
struct Budget {
  std::optional<double> seconds;
  std::optional<int64_t> cases;
};
// "60s", "5m", "2h", "1000cases". Errors: one line.
Result<Budget> ParseBudget(std::string_view text);

struct Shard {
  int64_t index = 0;
  int64_t count = 1;
};
// "i/N", 0 <= i < N. Errors: one line.
Result<Shard> ParseShard(std::string_view text);

struct RunOptions {
  JudgeOptions judge;
  Budget budget;
  Shard shard;                   // jobs with index mod count
  std::optional<uint64_t> seed;  // replaces the seed of every case
  int64_t max_memory = INT64_MAX;
  bool fail_fast = false;  // stop at the first fail or error
  int64_t draws = 0;       // further draws of a case of one call
  // Cases judged side by side; 0: one per core. One after another where a
  // candidate is the only one of its kind.
  int jobs = 0;
  std::vector<KnownFailure> known;
};

// Jobs from case lines as typed, and from case files. Errors: the first bad
// line, with its origin.
Result<std::vector<Job>> JobsFromLines(const std::vector<std::string>& lines,
                                       OpRows ops);
// `note`, where given: what was left aside, one line, or empty.
Result<std::vector<Job>> JobsFromFile(const std::string& path, OpRows ops,
                                      std::string* note = nullptr);
// Of a case file that is no file; files it names lie in the working directory.
Result<std::vector<Job>> JobsFromText(const std::string& name,
                                      std::string_view text, OpRows ops,
                                      std::string* note = nullptr);

// Called for every case once it is decided, one after another in their order.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Called before that for the next case, once it is known to fail; not for
  // every such case.
  virtual void OnDecided(const CaseResult& result) { (void)result; }
  // `remaining`: cases still to come.
  virtual void OnCase(const CaseResult& result, const Totals& totals,
                      int64_t remaining) = 0;
};

class Run {
 public:
  // `candidates` are prepared for every case of the shard. Errors: usage;
  // nothing has been judged then.
  static Result<Run> Prepare(std::vector<Job> jobs,
                             std::vector<std::unique_ptr<Candidate>> candidates,
                             const RunOptions& options);

  // Judges. Stops early on budget, fail_fast or options.judge.stop.
  Totals Judge(RunObserver* observer);

  // What was understood otherwise than typed, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

  int64_t cases() const { return static_cast<int64_t>(calls_.size()); }

  // How many cases Judge() takes on at a time, at most.
  int Jobs() const;

 private:
  using Candidates = std::vector<std::unique_ptr<Candidate>>;

  // Failures told of whose causes were looked for, and whose error was drawn.
  struct Suggested {
    std::atomic<int64_t> explained = 0;
    std::atomic<int64_t> pictured = 0;
  };
  struct Call {
    Case request;
    bool first = true;  // of its sequence
    bool last = true;
    std::shared_ptr<const std::string> line;
    std::shared_ptr<const std::string> replay;  // of the whole sequence
    CaseOrigin origin;
    size_t candidate = 0;
    int64_t number = 1;
    SharedDirectories search_directories;
  };

  void ReduceCandidates(const std::vector<Job>& jobs);
  void AddCalls(Job* job, size_t candidate, bool last, int64_t* number);
  Status PrepareCall(const Call& call);
  CaseRequest RequestOf(const Call& call) const;
  JudgeOptions OptionsFor(const Call& call) const;
  std::vector<CallUnit> Units() const;
  CaseResult JudgeCall(const Call& call, Candidate& candidate,
                       const JudgeOptions& judge,
                       const ChainPlace& place) const;
  // What the run knows of a result, beside what its judge does.
  void Place(const Call& call, CaseResult* result) const;
  CaseResult JudgeRefusal(const Call& call, const Candidate& candidate,
                          JudgeOptions judge) const;
  void JudgeUnits(const Candidates& candidates, SideBySide* all,
                  TruthChain* truths, const Suggested& suggested,
                  RunObserver* observer) const;
  void CountSuggestions(bool causes, CaseResult* result,
                        Suggested* suggested) const;

  std::vector<Call> calls_;  // for each candidate, in the order asked for
  std::vector<std::unique_ptr<Candidate>> candidates_;
  // By index in `candidates_` as asked, and op: the one used instead.
  std::map<std::pair<size_t, std::string>, size_t> reduced_;
  std::vector<std::string> notes_;
  RunOptions options_;
  int64_t total_ = 0;  // calls asked for, all shards
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_RUN_H_
