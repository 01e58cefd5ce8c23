// Calls on a host, one after the other: memory laid out, message sent, answer
// understood, and everything looked at that has nothing to do with numbers.
#ifndef LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_CALLER_H_
#define LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_CALLER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract/status.h"
#include "verify/candidate/wire/host.h"
#include "verify/candidate/wire/messages.h"
#include "verify/candidate/wire/placed_call.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

// One call and how it is made.
struct HostCall {
  std::string case_line;
  const KernelCall* call = nullptr;
  const PoisonOf* poison = nullptr;
  std::optional<int> threads;
  int64_t shift = 0;       // elements
  bool elsewhere = false;  // at other addresses than calls usually have
  bool tables = false;     // the one output is room for tables
};

// What came back. `placed` and `reply` are there where it ran.
struct HostAnswer {
  RunOutcome outcome;
  std::optional<PlacedCall> placed;
  WireReply reply;
  double seconds = 0;
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
  // "pages" or "zones", as the host has said.
  const std::string& guards() const { return guards_; }

  //   Requires: Start() succeeded.
  HostAnswer Call(const HostCall& call);
  // Of the last call's memory of outputs.
  const SharedMemory& out() const { return host_->out(); }

  // After a case; `last` of its sequence: the host forgets everything.
  RunOutcome Settle(bool last);

 private:
  RunOutcome Exchange(const HostCall& call, HostAnswer* answer);
  RunOutcome Judge(const HostAnswer& answer);
  RunOutcome Reset();
  // What the host does although nothing is asked of it: it speaks, which is
  // told first, or it writes.
  std::optional<HostFailure> GoneOn();
  // Whether somebody has written to outputs since the last call was done.
  std::optional<HostFailure> WrittenLate();
  uint64_t DigestOf(const std::vector<PlacedCall::Region>& regions) const;
  RunOutcome Broken(const std::string& check, const std::string& message);

  std::vector<std::string> arguments_;
  std::unique_ptr<Host> host_;
  HostHello hello_;
  std::string guards_ = "zones";
  // Memory of the last call's outputs, and what was there when it was done.
  struct Written {
    std::vector<PlacedCall::Region> regions;
    uint64_t digest;
  };
  std::optional<Written> written_;
  bool called_ = false;  // since the last reset
};

// What a failure is to a verdict.
RunOutcome BrokenBy(const HostFailure& failure);
RunOutcome Unsupported(const std::string& why);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CANDIDATE_WIRE_HOST_CALLER_H_
