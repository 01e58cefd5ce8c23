// A kernel's life behind the wire: messages in, answers out.
#ifndef LOCKSTEP_VERIFY_HOST_SESSION_H_
#define LOCKSTEP_VERIFY_HOST_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/host/call.h"
#include "verify/host/device/arrays.h"
#include "verify/host/leftovers.h"
#include "verify/host/library.h"
#include "verify/host/memory.h"
#include "verify/host/message.h"

namespace lockstep::verify::host {

// The descriptors that LOCKSTEP_WIRE names: messages, answers, in, out.
struct WireDescriptors {
  int calls = -1;
  int answers = -1;
  int in = -1;
  int out = -1;
};

class Session {
 public:
  // `arguments`: "ARG=VALUE", for lockstep_open.
  Session(const WireDescriptors& wire, std::string path,
          std::vector<std::string> arguments)
      : wire_(wire), path_(std::move(path)), arguments_(std::move(arguments)) {}

  // Answers until bye, or until the judge is gone. Returns the exit status.
  int Serve();

 private:
  // One line, without its end; false: there is none.
  bool ReadLine(std::string* line);
  // False: the wire is closed.
  bool Answer(const std::string& line) const;
  // The line that answers the message.
  std::string Handle();
  Json Hello();
  std::string Call(int64_t id);
  std::string MakeCall(int64_t id, CallReader* in, const PreparedCall& call);
  // What is wrong with an answer on the device, as the line that says so;
  // empty: nothing, and the receipt has the device's time.
  std::string LeaveDevice(int64_t id, bool done, lockstep_receipt* receipt);
  std::string Reset(int64_t id);
  // What went wrong, nothing if it is open.
  std::string Open();
  // Closes it and counts what it leaves. `why`: what went wrong.
  Leftovers Close(std::string* why);

  WireDescriptors wire_;
  std::string path_;
  std::vector<std::string> arguments_;
  std::string received_;
  Message message_;
  bool bye_ = false;  // was said, or nothing more can be answered
  bool loaded_ = false;
  Library library_;
  std::unique_ptr<DeviceArrays> device_;  // of a kernel that wants one
  SharedFiles files_;
  lockstep_handle* handle_ = nullptr;
  bool opened_ = false;
  std::optional<ThreadCounter> threads_;  // once it is loaded
};

}  // namespace lockstep::verify::host

#endif  // LOCKSTEP_VERIFY_HOST_SESSION_H_
