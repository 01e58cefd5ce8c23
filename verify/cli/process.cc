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
#include <iterator>
#include <latch>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "reference/contract/cores.h"
#include "reference/contract/team.h"
#include "verify/base/status_macros.h"
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

// Recursion and the arrays of kernels take up to 96 KiB of the stacks of this
// process and of its threads.
Status CheckStack() {
  constexpr rlim_t kLeast = rlim_t{1} << 20;
  rlimit stack = {};
  const bool told = getrlimit(RLIMIT_STACK, &stack) == 0;
  if (!told || stack.rlim_cur >= kLeast) return {};
  return Status::Error("the limit of the stack is " +
                       std::to_string(stack.rlim_cur >> 10) +
                       " KiB: want at least " + std::to_string(kLeast >> 10) +
                       " KiB (ulimit -s)");
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

// Runs a team for each of the cases that are judged side by side. Returns
// whether all threads ran, each with some memory of its own. They stay in the
// runtime library's pool.
bool RunTeams(int threads, int jobs) {
  std::atomic<int> touched{0};
  std::latch all(jobs);  // until then they are there together
  const auto job = [&] {
    RunTeam(threads, threads, [&](int) {
      constexpr size_t kSome = size_t{64} << 10;
      const std::unique_ptr<char[]> some(new (std::nothrow) char[kSome]);
      if (some != nullptr) ++touched;
    });
    all.arrive_and_wait();
  };
  std::vector<std::jthread> others;
  try {
    while (std::ssize(others) < jobs - 1) others.emplace_back(job);
  } catch (const std::system_error&) {
    all.count_down(jobs - 1 - std::ssize(others));
  }
  job();
  others.clear();
  return touched == threads * jobs;
}

// Runs these teams in a child of this process, where the runtime library may
// abort without harm. The child itself stands for the thread that watches the
// clock.
bool TeamsRun(int threads, int jobs) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDERR_FILENO);  // the library's own words
    // Addresses for the stack of the thread that watches the clock.
    constexpr size_t kWatch = size_t{8} << 20;
    const std::unique_ptr<char[]> watch(new (std::nothrow) char[kWatch]);
    _exit(watch != nullptr && RunTeams(threads, jobs) ? 0 : 1);
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

Status CheckThreads(int threads, int jobs) {
  // The most that a variation of a case asks for where it may ask.
  constexpr int kVaried = 3;
  int wanted = threads > 0 ? threads : DefaultThreads();
  wanted = std::min(std::max(wanted, kVaried), TeamLimit());
  if (wanted <= 1) return {};
  // They stay, whatever the cases take later.
  if (TeamsRun(wanted, jobs) && RunTeams(wanted, jobs)) return {};
  const std::string each = std::to_string(wanted) + " threads";
  return Status::Error(
      (jobs > 1 ? std::to_string(jobs) + " cases side by side, each with "
                : "") +
      each + " with stacks of " + std::to_string(StackBytes() >> 10) +
      " KiB, cannot run here: give fewer (" + (jobs > 1 ? "--jobs, " : "") +
      "--threads, OMP_NUM_THREADS, OMP_THREAD_LIMIT), smaller stacks "
      "(OMP_STACKSIZE, KMP_STACKSIZE) or a higher limit (ulimit -v, ulimit "
      "-u)");
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
  RETURN_IF_ERROR(CheckStack());
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
