#include "verify/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lockstep::verify::cli {
namespace {

// A closed descriptor is opened the wrong way round: whoever reads stdin or
// writes stdout meets an error, not somebody's file.
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

// OMP_STACKSIZE in bytes: a number, of KiB unless B, K, M or G follows. Without
// it, or where libomp would not understand it either, what libomp takes.
size_t StackBytes() {
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

int DefaultThreads() {
  const char* value = std::getenv("OMP_NUM_THREADS");
  const int asked = value == nullptr ? 0 : std::atoi(value);  // checked before
  return asked > 0 ? asked
                   : static_cast<int>(std::thread::hardware_concurrency());
}

// Waits until all that can be started were.
void* Wait(void* gate) {
  static_cast<std::atomic<bool>*>(gate)->wait(false);
  return nullptr;
}

}  // namespace

Status CheckThreads(int threads) {
  const int wanted = threads > 0 ? threads : DefaultThreads();
  pthread_attr_t attributes;
  if (wanted <= 1 || pthread_attr_init(&attributes) != 0) return {};
  std::atomic<bool> gate{false};
  std::vector<pthread_t> started;
  int error = pthread_attr_setstacksize(&attributes, StackBytes());
  while (error == 0 && static_cast<int>(started.size()) + 1 < wanted) {
    pthread_t thread;
    error = pthread_create(&thread, &attributes, &Wait, &gate);
    if (error == 0) started.push_back(thread);
  }
  gate = true;
  gate.notify_all();
  for (const pthread_t thread : started) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  if (error == 0) return {};
  return Status::Error(
      "only " + std::to_string(started.size() + 1) + " of " +
      std::to_string(wanted) + " threads with stacks of " +
      std::to_string(StackBytes() >> 10) + " KiB can run here (" +
      std::strerror(error) +
      "): give fewer (--threads, OMP_NUM_THREADS), smaller stacks "
      "(OMP_STACKSIZE) or a higher limit (ulimit -v, ulimit -u)");
}

Status PrepareProcess() {
  HoldDescriptors();
  std::signal(SIGPIPE, SIG_IGN);
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
