#include "verify/candidate/process/shared_core.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "verify/candidate/process/process_tree.h"

namespace lockstep::verify {
namespace {

constexpr int kFreeCases = 16;

// The cores that this process may use, read before any of it is held.
const cpu_set_t& AllCores() {
  static const cpu_set_t cores = [] {
    cpu_set_t all;
    CPU_ZERO(&all);
    if (sched_getaffinity(getpid(), sizeof(all), &all) != 0) CPU_ZERO(&all);
    return all;
  }();
  return cores;
}

}  // namespace

void SharedCore::BetweenCases() {
  if (held_ && Clock::now() >= until_) Free();
  if (!held_ && free_cases_-- <= 0) Hold();
}

void SharedCore::Hold() {
  free_cases_ = kFreeCases;
  if (CPU_COUNT(&AllCores()) < 2) return;
  const std::vector<pid_t> hosts = Descendants(getpid());
  if (hosts.empty()) return;
  for (const pid_t host : hosts) {
    if (ThreadsOf(host).size() > 1) return;
  }
  const int core = sched_getcpu();
  if (core < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof(one), &one) != 0) return;
  for (const pid_t host : hosts) sched_setaffinity(host, sizeof(one), &one);
  until_ = Clock::now() + hold_;
  held_ = true;
}

void SharedCore::Free() {
  if (!held_) return;
  held_ = false;
  const cpu_set_t& all = AllCores();
  sched_setaffinity(0, sizeof(all), &all);
  // What was started meanwhile was held from its start.
  for (const pid_t host : Descendants(getpid())) {
    for (const pid_t thread : ThreadsOf(host)) {
      sched_setaffinity(thread, sizeof(all), &all);
    }
  }
}

}  // namespace lockstep::verify
