// The driver: many cases, in order, each before the judge; everything that can
// be refused is refused before anything is judged.
#ifndef LOCKSTEP_VERIFY_RUN_H_
#define LOCKSTEP_VERIFY_RUN_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/judge.h"
#include "verify/verdict.h"

namespace lockstep::verify {

// One line of a case file or command line: a case, or a call sequence.
struct Job {
  std::vector<Case> sequence;
  std::string origin;  // "FILE:LINE", or "case N" of the command line
  std::vector<std::string> search_directories;  // for files of the case
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
};

// Jobs from case lines as typed, and from case files. Errors: the first bad
// line, with its origin.
Result<std::vector<Job>> JobsFromLines(const std::vector<std::string>& lines);
Result<std::vector<Job>> JobsFromFile(const std::string& path);

// Told about every case as it is decided.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
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

  int64_t cases() const { return static_cast<int64_t>(calls_.size()); }

 private:
  struct Call {
    Case request;
    std::string line;
    std::string replay;
    std::string origin;
    size_t candidate = 0;
    int64_t number = 1;
    std::vector<std::string> search_directories;
  };

  Status PrepareCall(const Call& call);
  CaseRequest RequestOf(const Call& call) const;
  CaseResult JudgeCall(const Call& call,
                       std::optional<PreviousTruth>* previous);

  std::vector<Call> calls_;  // for each candidate, in the order asked for
  std::vector<std::unique_ptr<Candidate>> candidates_;
  RunOptions options_;
  int64_t total_ = 0;  // calls asked for, all shards
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_RUN_H_
