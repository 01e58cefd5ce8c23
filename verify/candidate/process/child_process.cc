#include "verify/candidate/process/child_process.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <utility>

#include "verify/base/format.h"
#include "verify/base/printable.h"
#include "verify/candidate/process/c_library.h"
#include "verify/candidate/process/process_tree.h"
#include "verify/inputs/materialise.h"

namespace lockstep::verify {
namespace {

constexpr size_t kKeptOutput = size_t{64} << 10;
constexpr size_t kShownOutput = 200;
// How often memory and the end of the program are looked at.
constexpr int kTickMilliseconds = 20;

HostLimits& Limits() {
  static HostLimits limits;
  return limits;
}

// Those that are wanted, and no strays.
std::vector<KeptProgram>& Living() {
  static std::vector<KeptProgram>& living = *new std::vector<KeptProgram>();
  return living;
}

// To the millisecond: what is left of a limit is shown as the limit.
std::string TextOfSeconds(double seconds) {
  return Format("%g", std::round(seconds * 1e3) / 1e3);
}

std::string MiB(int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void SetHostLimits(const HostLimits& limits) { Limits() = limits; }
const HostLimits& TheHostLimits() { return Limits(); }

namespace {
std::atomic<bool> hosts_sleep{false};
}  // namespace

void LetHostsSleep() { hosts_sleep = true; }
bool HostsSleep() { return hosts_sleep; }

int64_t HostMemory() {
  return Limits().memory > 0 ? Limits().memory : DefaultMemoryBudget();
}

const char* Peeking() {
  return geteuid() == 0 && !Limits().user ? "not excluded" : "excluded";
}

std::string SignalName(int signal) {
  const char* name = SignalAbbreviation(signal);
  return name == nullptr ? "signal " + std::to_string(signal)
                         : std::string("SIG") + name;
}

double RunningTime::Spent() {
  constexpr double kMostStep = 1;
  const Clock::time_point now = Clock::now();
  const double step = std::chrono::duration<double>(now - asked_).count();
  asked_ = now;
  return spent_ += std::min(step, kMostStep);
}

ChildProcess::ChildProcess(KeptProgram kept, int output, int lifeline,
                           MemoryUse memory)
    : kept_(kept),
      output_(output),
      lifeline_(lifeline),
      memory_(std::move(memory)) {
  Living().push_back(kept);
}

ChildProcess::~ChildProcess() {
  Kill();
  for (const int end : {output_, lifeline_, kept_.children}) close(end);
  std::erase(Living(), kept_);
}

void ChildProcess::Drain() {
  char block[16384];
  while (true) {
    const ssize_t got = read(output_, block, sizeof(block));
    if (got <= 0) return;
    printed_ += got;
    last_.append(block, static_cast<size_t>(got));
    if (last_.size() > kKeptOutput) {
      last_.erase(0, last_.size() - kKeptOutput);
    }
    if (printed_ > kMostPrinted) return;
  }
}

bool ChildProcess::Reap(bool wait) {
  if (!alive_) return true;
  pid_t got;
  do {
    got = waitpid(kept_.keeper, &status_, wait ? 0 : WNOHANG);
  } while (got < 0 && errno == EINTR);
  if (got != kept_.keeper) return false;
  alive_ = false;
  Drain();
  return true;
}

std::optional<HostFailure> ChildProcess::Break(const std::string& check,
                                               const std::string& message) {
  Kill();
  return HostFailure{check, message + LastWords()};
}

bool ChildProcess::LookIsDue() const {
  return std::chrono::steady_clock::now() - looked_ >=
         std::chrono::milliseconds(kTickMilliseconds);
}

std::optional<HostFailure> ChildProcess::LookAtMemory(const std::string& what) {
  const int64_t used = memory_.Bytes(Descendants(kept_.keeper));
  memory_.NoteRest();
  looked_ = std::chrono::steady_clock::now();
  if (used <= HostMemory()) return std::nullopt;
  return Break("memory", "used " + MiB(used) + " during " + what +
                             ", above the limit of " + MiB(HostMemory()) +
                             " (--candidate-memory)");
}

std::optional<HostFailure> ChildProcess::Wait(int descriptor, double seconds,
                                              const std::string& what,
                                              RunningTime* time) {
  printed_ = 0;
  pollfd looked[] = {{descriptor, POLLIN, 0}, {output_, POLLIN, 0}};
  while (true) {
    const int ready = poll(looked, 2, kTickMilliseconds);
    if (ready > 0 && (looked[1].revents & POLLIN) != 0) Drain();
    if (printed_ > kMostPrinted) {
      return Break("output", "printed more than " + MiB(kMostPrinted) +
                                 " during " + what);
    }
    // A closed end is something to read as well: that there is no more.
    const bool readable = ready > 0 && looked[0].revents != 0;
    const bool done = readable || Reap(false);
    if (done && (!alive_ || !LookIsDue())) {
      memory_.NoteRest();
      return std::nullopt;
    }
    if (ready > 0 && (looked[1].revents & POLLIN) == 0 &&
        looked[1].revents != 0) {
      looked[1].fd = -1;
    }
    const bool over = time->Spent() >= seconds;
    if (ready > 0 && !over && !done) continue;
    if (auto failure = LookAtMemory(what)) return failure;
    if (done) return std::nullopt;
    if (!over) continue;
    return Break("hang", "did not end " + what + " within " +
                             TextOfSeconds(seconds) + " s (--call-timeout)");
  }
}

HostFailure ChildProcess::HowItEnded(const std::string& when) const {
  if (WIFSIGNALED(status_)) {
    const int number = WTERMSIG(status_);
    return {"crash", "crashed: " + SignalName(number) + " (signal " +
                         std::to_string(number) + ")" + when + LastWords()};
  }
  return {"exit", "ended with status " + std::to_string(ExitStatus()) + when +
                      LastWords()};
}

int ChildProcess::ExitStatus() const {
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

std::string ChildProcess::LastWords() const {
  size_t end = last_.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t newline = last_.rfind('\n', end);
  const size_t begin = newline == std::string::npos ? 0 : newline + 1;
  const size_t length = std::min(end + 1 - begin, kShownOutput);
  return "; its last line: '" + Printable(last_.substr(begin, length)) + "'";
}

std::vector<pid_t> ChildProcess::Orphans() { return Strays(Living()); }

void ChildProcess::Kill() {
  if (alive_) {
    // Stopped, it starts no more while those below it are listed.
    kill(kept_.program, SIGSTOP);
    const std::vector<pid_t> below = Descendants(kept_.keeper);
    kill(kept_.keeper, SIGKILL);
    Reap(true);
    KillAll(below);
  }
  for (int round = 0; round < 100; ++round) {
    const std::vector<pid_t> strays = Strays(Living());
    if (strays.empty()) return;
    KillAll(strays);
  }
}

}  // namespace lockstep::verify
