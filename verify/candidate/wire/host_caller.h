// Calls on a host, one after the other. A call lays out memory, sends the
// message, understands the answer, and checks all that has nothing to do with
// numbers.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_CALLER_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_CALLER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/base/run_outcome.h"
#include "verify/candidate/wire/host.h"
#include "verify/candidate/wire/messages.h"
#include "verify/candidate/wire/placed_call.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// Where tensors of a call lie. kNext puts outputs at the other end of their
// pages than the call before. kElsewhere puts everything on other pages. kSame
// puts everything where the call before had it.
enum class Place : uint8_t { kNext, kElsewhere, kSame };

// One call and how it is made.
struct HostCall {
  std::string case_line;
  const KernelCall* call = nullptr;
  const PoisonOf* poison = nullptr;
  std::optional<int> threads;
  std::optional<int> splits;
  int64_t shift = 0;  // elements
  Place place = Place::kNext;
  bool tables = false;  // the one output is room for tables
};

// What came back. `placed` and `reply` are there where it ran.
struct HostAnswer {
  RunOutcome outcome;
  std::optional<PlacedCall> placed;
  WireReply reply;
  double seconds = 0;
};

// A call that was sent, and what came of it.
struct AskedCall {
  int64_t id = 0;
  uint64_t shape = 0;
  double patience = 0;
  std::chrono::steady_clock::time_point start;
  HostAnswer answer;
};

class HostCaller {
 public:
  explicit HostCaller(std::vector<std::string> arguments)
      : arguments_(std::move(arguments)) {}
  // The host goes back to where others find it.
  ~HostCaller();
  HostCaller(const HostCaller&) = delete;
  HostCaller& operator=(const HostCaller&) = delete;

  // Makes sure that there is a living host. Errors: usage.
  Status Start();
  // Of the last host; nothing before Start().
  const HostHello& hello() const { return hello_; }
  // The kernel does not have that output.
  void AddLacks(const std::string& output);
  // "pages" or "zones", as the host has said.
  const std::string& guards() const { return guards_; }

  // Sends a call, and takes the answer. What `call` points to lives until then.
  // No other call is made between the two.  Requires: Start() succeeded.
  void Ask(const HostCall& call);
  HostAnswer Take();
  HostAnswer Call(const HostCall& call) {
    Ask(call);
    return Take();
  }
  // Of the last call's memory of outputs.
  const SharedMemory& out() const { return host_->out(); }

  // After a case; `last` of its sequence: the host forgets everything.
  RunOutcome Settle(bool last);

 private:
  RunOutcome Send(const HostCall& call);
  RunOutcome Receive();
  RunOutcome Judge(const HostAnswer& answer);
  RunOutcome Reset();
  // What the host does between calls, when it should do nothing: it sends a
  // message, which is reported first, or it writes.
  std::optional<HostFailure> GoneOn();
  // Whether outputs were written to since the last call was done.
  std::optional<HostFailure> WrittenLate();
  uint64_t DigestOf(const std::vector<ByteRange>& ranges) const;
  RunOutcome Broken(const std::string& check, const std::string& message);

  std::vector<std::string> arguments_;
  std::unique_ptr<Host> host_;
  HostHello hello_;
  std::string guards_ = "zones";
  // Memory of the last call's outputs, and what was there when it was done.
  struct Written {
    std::vector<ByteRange> ranges;
    uint64_t digest;
  };
  std::optional<Written> written_;
  std::optional<AskedCall> asked_;
  // Of the last call: the page that inputs and outputs begin behind, and
  // whether outputs end with their pages.
  int64_t first_page_ = 1;
  bool at_end_ = true;
  bool called_ = false;  // since the last reset
};

// What a failure is to a verdict.
RunOutcome BrokenBy(const HostFailure& failure);
RunOutcome Unsupported(const std::string& why);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_CALLER_H_
