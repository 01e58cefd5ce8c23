#include "verify/cli/process.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "reference/contract/cores.h"
#include "reference/contract/team.h"
#include "verify/candidate/process/child_process.h"

namespace lockstep::verify::cli {
namespace {

// A closed descriptor is opened the wrong way round: a read of stdin or a write
// to stdout is then an error, and meets no other file.
void HoldDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) != -1) continue;
    const int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", flags) != fd) return;
  }
}

// A positive integer, or several with commas where `list`.
bool IsCount(std::string_view text, bool list) {
  while (true) {
    const size_t comma = list ? text.find(',') : text.npos;
    const std::string_view word = text.substr(0, comma);
    int value = 0;
    const char* end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, value);
    if (error != std::errc{} || stop != end || value < 1) return false;
    if (comma == text.npos) return true;
    text.remove_prefix(comma + 1);
  }
}

// The stack of a thread of OpenMP's in bytes. Where the runtime library cannot
// be asked: OMP_STACKSIZE, a number, of KiB unless B, K, M or G follows.
size_t StackBytes() {
  if (TeamStackBytes() > 0) return static_cast<size_t>(TeamStackBytes());
  constexpr size_t kDefault = size_t{4} << 20;
  const char* value = std::getenv("OMP_STACKSIZE");
  if (value == nullptr) return kDefault;
  const std::string_view text(value);
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(stop, static_cast<size_t>(end - stop));
  const int shift = unit.empty() || unit == "K" || unit == "k" ? 10
                    : unit == "B" || unit == "b"               ? 0
                    : unit == "M" || unit == "m"               ? 20
                    : unit == "G" || unit == "g"               ? 30
                                                               : -1;
  if (error != std::errc{} || shift < 0 || number > (SIZE_MAX >> shift)) {
    return kDefault;
  }
  return static_cast<size_t>(number << shift);
}

// Where addresses are limited (ulimit -v), threads share one heap. Heaps of
// their own take 64 MiB of addresses each, and how many there are is chance: a
// team that ran in the trial below could fail later.
void ShareHeapUnderLimit() {
#ifdef M_ARENA_MAX
  rlimit addresses = {};
  const bool told = getrlimit(RLIMIT_AS, &addresses) == 0;
  if (told && addresses.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
#endif
}

// Runs a team of so many threads in a child of this process, where the runtime
// library may abort without harm. Whether all of them ran, with some memory of
// their own. The child itself stands for the thread that watches the clock.
bool TeamRuns(int threads) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDERR_FILENO);  // the library's own words
    // Addresses for the stack of the thread that watches the clock.
    constexpr size_t kWatch = size_t{8} << 20;
    const std::unique_ptr<char[]> watch(new (std::nothrow) char[kWatch]);
    std::atomic<int> touched{watch == nullptr ? -1 : 0};
    const int ran = RunTeam(threads, threads, [&](int) {
      constexpr size_t kSome = size_t{64} << 10;
      const std::unique_ptr<char[]> some(new (std::nothrow) char[kSome]);
      if (some != nullptr) ++touched;
    });
    _exit(ran == threads && touched == threads ? 0 : 1);
  }
  int status = 0;
  pid_t ended = child;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 &&
         errno == EINTR) {
  }
  if (child > 0) ForgetTeam(child);
  return child > 0 && ended == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

}  // namespace

const char* WaitingVariable() {
  for (const char* name :
       {"KMP_BLOCKTIME", "OMP_WAIT_POLICY", "KMP_LIBRARY", "GOMP_SPINCOUNT"}) {
    if (std::getenv(name) != nullptr) return name;
  }
  return nullptr;
}

void LetThreadsSleep() {
  if (WaitingVariable() != nullptr) return;
  SleepBetweenCalls();
  LetHostsSleep();
}

Status CheckThreads(int threads) {
  // The most that a variation of a case asks for where it may ask.
  constexpr int kVaried = 3;
  int wanted = threads > 0 ? threads : DefaultThreads();
  wanted = std::min(std::max(wanted, kVaried), TeamLimit());
  if (wanted <= 1) return {};
  if (TeamRuns(wanted)) {
    // They stay, whatever the cases take later.
    RunTeam(wanted, wanted, [](int) {});
    return {};
  }
  return Status::Error(
      std::to_string(wanted) + " threads with stacks of " +
      std::to_string(StackBytes() >> 10) +
      " KiB cannot run here: give fewer (--threads, OMP_NUM_THREADS, "
      "OMP_THREAD_LIMIT), smaller stacks (OMP_STACKSIZE, KMP_STACKSIZE) or a "
      "higher limit (ulimit -v, ulimit -u)");
}

void ForgetTeam(int process) {
  const std::string name = "/__KMP_REGISTERED_LIB_" + std::to_string(process) +
                           "_" + std::to_string(getuid());
  shm_unlink(name.c_str());
}

Status PrepareProcess() {
  HoldDescriptors();
  ForgetTeam(getpid());
  ShareHeapUnderLimit();
  UsableCores();  // before a thread is held to one of them
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // A malformed one makes libomp abort, hang or ask for gigabytes.
  for (const char* name : {"OMP_NUM_THREADS", "OMP_THREAD_LIMIT"}) {
    const char* value = std::getenv(name);
    const bool list = std::string_view(name) == "OMP_NUM_THREADS";
    if (value == nullptr || IsCount(value, list)) continue;
    return Status::Error("the variable " + std::string(name) + " is '" + value +
                         "': want a positive integer, such as 8, or no such "
                         "variable");
  }
  return {};
}

Status FinishStdout() {
  std::cout.flush();
  if (std::cout) return {};
  pollfd out = {STDOUT_FILENO, POLLOUT, 0};
  const bool gone = poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
  return gone ? Status() : Status::Error("cannot write to stdout");
}

}  // namespace lockstep::verify::cli
