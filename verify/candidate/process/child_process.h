// A foreign program as a child. It is started with nothing of the judge but
// what it is given, watched, and ended with all that it started.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_PROCESS_CHILD_PROCESS_H_
#define LOCKSTEP_VERIFY_CANDIDATE_PROCESS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/process/memory_use.h"
#include "verify/candidate/process/process_tree.h"

namespace lockstep::verify {

// The user that hosts run as, in place of the judge's own user.
struct HostUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string home;
};

// What hosts may use. Set once, before the first is started: a run has one
// limit for all of them.
struct HostLimits {
  std::optional<double> call_seconds;  // absent: see docs/wire.md
  int64_t memory = 0;                  // bytes; 0: half of the machine's
  std::optional<HostUser> user;
  std::string device;  // of Python kernels' arrays; empty: as they say
};
void SetHostLimits(const HostLimits& limits);
const HostLimits& TheHostLimits();
// From now on threads of OpenMP in new hosts sleep between two calls. Threads
// that spin, as torch's do, take the cores from the judge while it works.
void LetHostsSleep();
bool HostsSleep();
// In bytes, resolved.
int64_t HostMemory();
// Whether a host that wants to could read the judge's memory: "excluded", or
// "not excluded" where it has the rights of root, too.
const char* Peeking();

inline constexpr double kFirstCallSeconds = 300;
inline constexpr double kCallSeconds = 60;
inline constexpr double kSlowestFactor = 20;
inline constexpr int kByeSeconds = 5;
// That a program has to end which has closed the wire.
inline constexpr int kEndSeconds = 5;
// Of stdout and stderr together, in one wait.
inline constexpr int64_t kMostPrinted = int64_t{1} << 20;

// What broke, as a finding names it ("crash", "hang", "memory", "output", ...),
// and one sentence.
struct HostFailure {
  std::string check;
  std::string message;
};

struct ChildLaunch {
  std::vector<std::string> arguments;  // the first: a program, or its path
  std::vector<std::string> variables;  // "NAME=value", beside those kept
  std::vector<int> descriptors;        // become 3, 4, ... of the child
};

// Seconds that passed while this process ran, for a caller that asks often. Of
// a stretch without a call, as when judge and host were stopped together, at
// most one second counts.
class RunningTime {
 public:
  double Spent();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked_ = Clock::now();
  double spent_ = 0;
};

class ChildProcess {
 public:
  // Errors: the program cannot be found or started.
  static Result<std::unique_ptr<ChildProcess>> Start(const ChildLaunch& launch);
  // Kills it and all below it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool alive() const { return alive_; }

  // Before it is asked for something: what its descriptors of files in memory
  // hold by now is not its doing.
  void NoteAsked() { memory_.NoteOwn(); }

  // Waits until `descriptor` (-1: none) can be read, was closed, or the program
  // ends; draws what it prints meanwhile and watches its memory. Absent: one of
  // these. Otherwise why it was killed. `what` it does, for messages. `time`:
  // what of the seconds is spent, where this wait is not the first.
  std::optional<HostFailure> Wait(int descriptor, double seconds,
                                  const std::string& what, RunningTime* time);
  std::optional<HostFailure> Wait(int descriptor, double seconds,
                                  const std::string& what) {
    RunningTime time;
    return Wait(descriptor, seconds, what, &time);
  }

  // "ended with status 1 during the call", "crashed: SIGSEGV (signal 11) ...";
  // `when` begins with a blank or a comma.  Requires: ended.
  HostFailure HowItEnded(const std::string& when) const;
  // -1 where a signal ended it.  Requires: ended.
  int ExitStatus() const;
  // "; its last line: '...'", or empty.
  std::string LastWords() const;

  // Kills it and everything below it, and reaps.
  void Kill();
  // Orphans of this or another host: what a program leaves behind that goes on
  // when its parent has ended.
  static std::vector<pid_t> Orphans();

 private:
  ChildProcess(KeptProgram kept, int output, int lifeline, MemoryUse memory);

  void Drain();
  bool Reap(bool wait);
  // Whether its memory was not looked at for a while.
  bool LookIsDue() const;
  std::optional<HostFailure> LookAtMemory(const std::string& what);
  std::optional<HostFailure> Break(const std::string& check,
                                   const std::string& message);

  KeptProgram kept_;
  int output_;    // the reading end of its stdout and stderr
  int lifeline_;  // its keeper ends it where this is closed
  MemoryUse memory_;
  std::chrono::steady_clock::time_point looked_;  // at its memory
  bool alive_ = true;
  int status_ = 0;
  int64_t printed_ = 0;  // since the wait began
  std::string last_;     // the end of what it printed
};

// Names of a signal: "SIGSEGV"; "signal N" where it has none.
std::string SignalName(int signal);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_PROCESS_CHILD_PROCESS_H_
