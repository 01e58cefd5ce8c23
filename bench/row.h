// A row of a benchmark: a case and a kernel, its tensors, what was measured.
#ifndef LOCKSTEP_BENCH_ROW_H_
#define LOCKSTEP_BENCH_ROW_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/limits.h"
#include "bench/targets.h"
#include "reference/contract/status.h"
#include "verify/candidate/candidate.h"
#include "verify/ops/op.h"
#include "verify/run/run.h"

namespace lockstep::bench {

// What is to be timed.
struct Ask {
  verify::Job job;  // one call
  std::string spec;
  std::string profile;  // as typed; empty: none
  std::optional<Goal> goal;
  // The sweep that it is a point of, and its place there: "48x256"; the plan
  // that no option asked for is "default".
  std::optional<size_t> sweep;
  std::string point;
};

// A case with its tensors; rows of one case share them, one runs at a time.
struct Scene {
  std::string line;
  std::unique_ptr<verify::Trial> trial;
  verify::OutputSet outputs;
  std::optional<verify::Work> work;
  double bytes = 0;  // of inputs and outputs, each once
  // AnswerDigests of outputs that were judged and pass.
  std::set<std::vector<std::string>> right;
};

// Errors: the case cannot be made concrete, or its answers are no tensors.
Result<std::shared_ptr<Scene>> OpenScene(const verify::Job& job);

// One look at the clock: `calls` calls, one after the other.
struct Sample {
  int64_t round = 0;
  int64_t calls = 1;
  double seconds = 0;  // a call
  double cpu = 0;      // a call, of this process; as seconds for a host's
  double wall = 0;     // a call, until the answer was there
  double asked = 0;    // likewise, without what the judge does around it
  // Of each of the row's engines right after the calls, at the same clock.
  std::vector<double> bursts;
};

// What one call took.
struct CallTimes {
  double seconds = 0;    // of the kernel: a host measures them itself
  double processor = 0;  // of this process, or what the host says; else seconds
  double wall = 0;       // until the answer was there
  double asked = 0;      // by the same clock: what a host itself was waited for
  verify::Teller teller = verify::Teller::kNone;  // of `seconds`
  // One thread, and it waited for nothing but its turn on a core: `processor`
  // is what the call costs, and what neighbours take is not in it.
  bool alone = false;
};

class Row {
 public:
  // Starts the candidate. Errors: usage.
  static Result<Row> Open(Ask ask, std::shared_ptr<Scene> scene);

  // Runs it, and unless its answer is one that was judged before has it judged.
  // Sets refused() if it is not right.
  void Verify();
  // Requires: Verify(), and nothing is refused. A failure refuses the row.
  void TakeSample(int64_t round);
  void DropSamples() { samples_.clear(); }
  // `held`: is left while a kernel or the judge works (TableOptions).
  void LetRead(std::mutex* held) { held_ = held; }
  // After the last sample: where told times are not to be used, the wall's take
  // their place. Refuses the row if they cannot be.
  void SettleClock();
  // One call more. Requires: Verify(), and nothing is refused. Errors: it did
  // not run.
  Result<CallTimes> TimeOnce();
  // Extra memory of one more call, beyond the tensors, in bytes; none if it is
  // not known, as for a host.  Requires: as above.
  std::optional<double> MeasureMemory();
  // Ends what the candidate has open.
  void Close();

  const Ask& ask() const { return ask_; }
  const Scene& scene() const { return *scene_; }
  const verify::Execution& execution() const { return execution_; }
  // Why there are no times, one line; empty: there are.
  const std::string& refused() const { return refused_; }
  const std::string& verdict() const { return verdict_; }
  const std::vector<Sample>& samples() const { return samples_; }
  // Of the first call of all: processor time where it is that of one thread.
  double cold_seconds() const { return cold_; }
  // "told", "told, not used", "device clock"; empty: the times are ours.
  std::string told() const;
  // Of the last call that Verify() made (CallTimes).
  bool alone() const { return alone_; }
  // What it takes to have one of the calls that follow made.
  double wall_seconds() const { return wall_; }
  std::string spec() const { return candidate_->Spec(); }
  verify::Candidate& candidate() { return *candidate_; }
  // Whether it runs in a process of its own.
  bool apart() const { return candidate_->traits().apart; }
  int threads() const;

  // Those whose bursts the samples hold: first the `limits` that the machine
  // has for this work, then others.
  const std::vector<Engine>& engines() const { return engines_; }
  size_t limits() const { return limits_; }
  // Where in engines() the one that the kernel used stands.
  std::optional<size_t> used() const { return used_; }

 private:
  Row(Ask ask, std::shared_ptr<Scene> scene)
      : ask_(std::move(ask)), scene_(std::move(scene)) {}
  void ChooseEngines();
  void Judge();
  // Refuses the row if the kernel reports an impossible time.
  void CheckTold(double seconds, double asked);
  void Refuse(const std::string& why) { refused_ = why; }

  Ask ask_;
  std::shared_ptr<Scene> scene_;
  std::unique_ptr<verify::Candidate> candidate_;
  verify::CaseRequest request_;
  verify::Execution execution_;
  std::string refused_;
  std::string verdict_;
  std::vector<Engine> engines_;
  size_t limits_ = 0;
  std::optional<size_t> used_;
  double cold_ = 0;
  double wall_ = 0;
  bool alone_ = false;
  bool told_unused_ = false;
  int64_t calls_ = 1;  // a sample
  std::mutex* held_ = nullptr;
  std::vector<Sample> samples_;
};

}  // namespace lockstep::bench

#endif  // LOCKSTEP_BENCH_ROW_H_
