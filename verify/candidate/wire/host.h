// A host: a process that speaks the wire (docs/wire.md), with the memory that
// it shares with the judge.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/process/child_process.h"
#include "verify/candidate/process/shared_memory.h"
#include "verify/candidate/wire/messages.h"

namespace lockstep::verify {

class Host {
 public:
  // Starts the program and exchanges hello. Errors: usage (exit 2).
  static Result<std::unique_ptr<Host>> Start(
      const std::vector<std::string>& arguments);
  // Kills it, if it was not closed.
  ~Host();
  // Says bye and waits for its end. Returns what was wrong with that, one line,
  // or nothing.
  std::string Close();

  const HostHello& hello() const { return hello_; }
  // What it says later of outputs counts as if said at first.
  void AddLacks(const std::vector<std::string>& outputs) {
    for (const std::string& output : outputs) {
      if (!hello_.Lacks(output)) hello_.lacks.push_back(output);
    }
  }
  // False once it has ended or was ended: it answers nothing any more.
  bool alive() const { return process_->alive(); }
  const SharedMemory& in() const { return in_; }
  const SharedMemory& out() const { return out_; }
  int64_t NextId() { return ++id_; }

  // Sends a line. A failure ends the host. `what` it is about, for messages:
  // "the call".
  std::optional<HostFailure> Send(const std::string& line, double seconds,
                                  const std::string& what);
  // The next line, without its end.
  std::optional<HostFailure> Receive(double seconds, const std::string& what,
                                     std::string* line);
  // Seconds that a call may take; `shape` is a digest of op and shapes, whose
  // first call may take longer.
  double Patience(uint64_t shape) const;
  // A call of that shape has ended.
  void NoteCall(uint64_t shape, double seconds);

  // What is wrong before a call: it has spoken without being asked.
  std::optional<HostFailure> Unasked();
  // What is wrong between two cases: that, or it has ended, or left processes
  // behind, which are ended then.
  std::optional<HostFailure> LookAround();
  // Ends it without a word.
  void Kill() { process_->Kill(); }

 private:
  Host() = default;
  Status Share();
  Status Greet();
  std::optional<HostFailure> Broken(const std::string& check,
                                    const std::string& message);
  // Its end of the wire is closed: why it ended, or that it did not.
  HostFailure HowItClosed(const std::string& when);
  // Processes that go on without it.
  std::optional<HostFailure> LeftBehind();
  // Takes what has been written so far.
  void ReadMore();

  SharedMemory in_, out_;
  int to_ = -1;
  int from_ = -1;
  std::unique_ptr<ChildProcess> process_;
  HostHello hello_;
  std::string received_;
  bool closed_ = false;  // the other end of `from_`
  int64_t id_ = 0;
  double slowest_ = 0;
  std::unordered_set<uint64_t> shapes_;  // that were called
};

// Idle hosts, by the command that started them. Cases of a run, and candidates
// of a campaign, share them.
Result<std::unique_ptr<Host>> TakeHost(
    const std::vector<std::string>& arguments);
void GiveHost(const std::vector<std::string>& arguments,
              std::unique_ptr<Host> host);
// Closes all of them. The next taker gets a fresh one, which remembers no call.
// What was wrong CloseHosts() says.
void RetireHosts();
// Closes all of them, before a program that judged ends. Returns what was
// wrong, of those that retired too, a line each.
std::vector<std::string> CloseHosts();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_H_
