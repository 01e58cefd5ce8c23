#include "verify/candidate/wire/host.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "verify/base/printable.h"
#include "verify/base/status_macros.h"

namespace lockstep::verify {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Idle {
  std::vector<std::string> arguments;
  std::unique_ptr<Host> host;
};
// Never destroyed: CloseHosts() empties it where hosts can be waited for.
std::vector<Idle>& IdleHosts() {
  static std::vector<Idle>& idle = *new std::vector<Idle>();
  return idle;
}
// What was wrong with those that retired. Never destroyed, as above.
std::vector<std::string>& WrongOfRetired() {
  static std::vector<std::string>& wrong = *new std::vector<std::string>();
  return wrong;
}

// Of inputs and of outputs, those with gaps included.
constexpr int64_t kRoomForGaps = int64_t{1} << 36;

Status TooMuch(const std::string& message) {
  return Status::Error(message +
                       "; give a smaller --candidate-memory (twice as much is "
                       "mapped) or a higher limit (ulimit -v)");
}

}  // namespace

// Room for tensors with large gaps where the address space has it (ulimit -v).
Status Host::Share() {
  const int64_t limit = HostMemory();
  for (const int64_t bytes : {std::max(limit, kRoomForGaps), limit}) {
    auto in = SharedMemory::Make(bytes, limit, SharedMemory::Others::kRead);
    auto out = SharedMemory::Make(bytes, limit, SharedMemory::Others::kWrite);
    if (in.ok() && out.ok()) {
      in_ = std::move(in.value());
      out_ = std::move(out.value());
      return {};
    }
    if (bytes == limit) return TooMuch(in.ok() ? out.message() : in.message());
  }
  return {};
}

Result<std::unique_ptr<Host>> Host::Start(
    const std::vector<std::string>& arguments) {
  std::unique_ptr<Host> host(new Host());
  RETURN_IF_ERROR(host->Share());
  int calls[2], answers[2];
  if (pipe2(calls, O_CLOEXEC) != 0) {
    return Status::Error(std::string("no pipe: ") + std::strerror(errno));
  }
  host->to_ = calls[1];
  if (pipe2(answers, O_CLOEXEC) != 0) {
    close(calls[0]);
    return Status::Error(std::string("no pipe: ") + std::strerror(errno));
  }
  host->from_ = answers[0];
  fcntl(host->to_, F_SETFL, O_NONBLOCK);
  fcntl(host->from_, F_SETFL, O_NONBLOCK);
  auto process =
      ChildProcess::Start({arguments,
                           {"LOCKSTEP_WIRE=3,4,5,6"},
                           {calls[0], answers[1], host->in_.descriptor(),
                            host->out_.descriptor()}});
  close(calls[0]);
  close(answers[1]);
  if (!process.ok()) return process.status();
  host->process_ = std::move(process.value());
  const Status greeted = host->Greet();
  if (!greeted.ok()) {
    return Status::Error("host '" + arguments[0] + "': " + greeted.message());
  }
  return host;
}

Status Host::Greet() {
  const double patience =
      TheHostLimits().call_seconds.value_or(kFirstCallSeconds);
  auto failure = Send(HelloLine(LOCKSTEP_VERSION, in_.bytes(), out_.bytes()),
                      patience, "hello");
  std::string line;
  if (!failure) failure = Receive(patience, "hello", &line);
  if (failure) return Status::Error(failure->message);
  Result<HostHello> hello = ParseHello(line);
  if (!hello.ok()) {
    Kill();
    return hello.status();
  }
  hello_ = std::move(hello.value());
  return {};
}

std::string Host::Close() {
  if (!alive()) return "";
  std::optional<HostFailure> failure = Send(ByeLine(), kByeSeconds, "bye");
  // A host that reads until there is nothing more ends now, too. What it
  // answers is not looked at: its end is.
  close(std::exchange(to_, -1));
  if (!failure) failure = process_->Wait(-1, kByeSeconds, "bye");
  if (failure && failure->check == "hang") {
    failure->message =
        "did not end within " + std::to_string(kByeSeconds) + " s of bye";
  }
  // What a program breaks on its way out may be what a call has corrupted.
  if (!failure && process_->ExitStatus() != 0) {
    failure = process_->HowItEnded(" after bye");
  }
  // What ends because the host did, such as the program that finds names for a
  // sanitizer's report, has not been left behind.
  const Clock::time_point end = Clock::now();
  while (!failure && !ChildProcess::Orphans().empty() &&
         SecondsSince(end) < kByeSeconds) {
    poll(nullptr, 0, 2);
  }
  if (!failure) failure = LeftBehind();
  return failure ? "host " + hello_.name + ": " + failure->message : "";
}

Host::~Host() {
  process_.reset();
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
}

std::optional<HostFailure> Host::Broken(const std::string& check,
                                        const std::string& message) {
  Kill();
  return HostFailure{check, message};
}

std::optional<HostFailure> Host::Send(const std::string& line, double seconds,
                                      const std::string& what) {
  if (line.size() > kMostLine) {
    return HostFailure{"line", "the message for " + what + " has " +
                                   std::to_string(line.size()) +
                                   " bytes, more than a line may have"};
  }
  process_->NoteAsked();
  RunningTime time;
  for (size_t at = 0; at < line.size();) {
    const ssize_t put = write(to_, line.data() + at, line.size() - at);
    if (put > 0) {
      at += static_cast<size_t>(put);
    } else if (errno == EPIPE) {
      return HowItClosed("before " + what);
    } else if (errno == EAGAIN) {
      pollfd room = {to_, POLLOUT, 0};
      poll(&room, 1, 20);
      if (time.Spent() > seconds) {
        return Broken("hang", "did not read the message of " + what);
      }
    } else if (errno != EINTR) {
      return Broken(
          "wire", "cannot be written to: " + std::string(std::strerror(errno)));
    }
  }
  return std::nullopt;
}

HostFailure Host::HowItClosed(const std::string& when) {
  // The end of the program follows, or else it only closed its end.
  const auto failure =
      alive() ? process_->Wait(-1, kEndSeconds, "its end") : std::nullopt;
  if (!failure) return process_->HowItEnded(" " + when);
  if (failure->check != "hang") return *failure;
  return {"wire", "closed the wire " + when};
}

void Host::ReadMore() {
  char block[16384];
  while (received_.size() <= kMostLine) {
    const ssize_t got = read(from_, block, sizeof(block));
    if (got == 0) closed_ = true;
    if (got <= 0) return;
    received_.append(block, static_cast<size_t>(got));
    // There is no more now.
    if (static_cast<size_t>(got) < sizeof(block)) return;
  }
}

std::optional<HostFailure> Host::Receive(double seconds,
                                         const std::string& what,
                                         std::string* line) {
  RunningTime time;
  while (true) {
    const size_t end = received_.find('\n');
    if (end != std::string::npos) {
      *line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return std::nullopt;
    }
    if (received_.size() > kMostLine) {
      return Broken("wire",
                    "answered " + what + " with a line of more than 1 MiB");
    }
    if (!alive() || closed_) {
      const std::string torn = received_.empty() ? "" : ", within a line";
      return HowItClosed("during " + what + torn);
    }
    if (auto failure = process_->Wait(from_, seconds, what, &time)) {
      return failure;
    }
    ReadMore();
  }
}

double Host::Patience(uint64_t shape) const {
  if (TheHostLimits().call_seconds) return *TheHostLimits().call_seconds;
  return shapes_.contains(shape)
             ? std::max(kCallSeconds, kSlowestFactor * slowest_)
             : kFirstCallSeconds;
}

void Host::NoteCall(uint64_t shape, double seconds) {
  // The first may have compiled.
  if (!shapes_.insert(shape).second) slowest_ = std::max(slowest_, seconds);
}

std::optional<HostFailure> Host::Unasked() {
  ReadMore();
  if (received_.empty()) return std::nullopt;
  return Broken("wire", "wrote '" + Printable(received_.substr(0, 120)) +
                            "' without being asked");
}

std::optional<HostFailure> Host::LookAround() {
  if (auto failure = Unasked()) return failure;
  if (!closed_) return LeftBehind();
  return HowItClosed("after its last answer");
}

std::optional<HostFailure> Host::LeftBehind() {
  const size_t left = ChildProcess::Orphans().size();
  if (left == 0) return std::nullopt;
  return Broken("children", "left " + std::to_string(left) +
                                (left == 1 ? " process" : " processes") +
                                " behind");
}

Result<std::unique_ptr<Host>> TakeHost(
    const std::vector<std::string>& arguments) {
  std::vector<Idle>& idle = IdleHosts();
  for (size_t n = 0; n < idle.size(); ++n) {
    if (idle[n].arguments != arguments) continue;
    std::unique_ptr<Host> host = std::move(idle[n].host);
    idle.erase(idle.begin() + static_cast<int64_t>(n));
    return host;
  }
  return Host::Start(arguments);
}

void GiveHost(const std::vector<std::string>& arguments,
              std::unique_ptr<Host> host) {
  if (host == nullptr || !host->alive()) return;
  IdleHosts().push_back({arguments, std::move(host)});
}

void RetireHosts() {
  for (Idle& idle : IdleHosts()) {
    std::string what = idle.host->Close();
    if (!what.empty()) WrongOfRetired().push_back(std::move(what));
  }
  IdleHosts().clear();
}

std::vector<std::string> CloseHosts() {
  RetireHosts();
  return std::exchange(WrongOfRetired(), {});
}

}  // namespace lockstep::verify
