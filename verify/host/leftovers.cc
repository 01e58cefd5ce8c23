#include "verify/host/leftovers.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

namespace lockstep::verify::host {
namespace {

constexpr int kRounds = 200;
constexpr auto kPause = std::chrono::milliseconds(1);

// Calls visit(name) for each thread of this process.
template <typename Visit>
void ForThreads(const Visit& visit) {
  constexpr auto close = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> tasks(opendir("/proc/self/task"),
                                                    close);
  if (tasks == nullptr) return;
  while (const dirent* entry = readdir(tasks.get())) {
    if (entry->d_name[0] != '.') visit(std::string(entry->d_name));
  }
}

int64_t CountThreads() {
  int64_t count = 0;
  ForThreads([&](const std::string&) { ++count; });
  return count;
}

// Links of the folder of threads, which Linux counts: two, and one a thread. 0
// where they cannot be had.
int64_t LinksOfThreads() {
  struct stat folder = {};
  return stat("/proc/self/task", &folder) == 0
             ? static_cast<int64_t>(folder.st_nlink)
             : 0;
}

// Whether any thread has one, such as has ended and was not waited for as well.
bool HasChildren() {
  siginfo_t ended;
  return waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 ||
         errno != ECHILD;
}

// Of every thread.
int64_t CountChildren() {
  int64_t count = 0;
  // This is asked after each case: most kernels have none.
  if (!HasChildren()) return count;
  ForThreads([&](const std::string& thread) {
    std::ifstream list("/proc/self/task/" + thread + "/children");
    for (std::string child; list >> child;) ++count;
  });
  return count;
}

// Its pool is no thread that the kernel has forgotten. The next parallel region
// makes a new one.
void EndPoolOfOpenMp() {
  constexpr int kHard = 2;  // omp_pause_hard
  for (const char* name : {"libgomp.so.1", "libomp.so.5", "libiomp5.so"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    auto* pause = reinterpret_cast<int (*)(int)>(
        dlsym(library, "omp_pause_resource_all"));
    if (pause != nullptr) pause(kHard);
    dlclose(library);
  }
}

}  // namespace

ThreadCounter::ThreadCounter()
    : usual_(CountThreads()), links_(LinksOfThreads()) {
  constexpr int64_t kOwnLinks = 2;
  if (links_ != kOwnLinks + usual_) links_ = 0;
}

int64_t ThreadCounter::More() const {
  // This is asked after each case: a list would cost more than most of them.
  if (links_ != 0) return LinksOfThreads() - links_;
  return CountThreads() - usual_;
}

Leftovers CountLeftovers(const ThreadCounter& threads) {
  Leftovers left = {.threads = threads.More(), .children = CountChildren()};
  if (left.threads > 0) EndPoolOfOpenMp();
  for (int round = 0; round < kRounds && left.threads > 0; ++round) {
    std::this_thread::sleep_for(kPause);
    left.threads = threads.More();
  }
  if (left.threads < 0) left.threads = 0;
  return left;
}

}  // namespace lockstep::verify::host
