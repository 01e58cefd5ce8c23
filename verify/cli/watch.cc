#include "verify/cli/watch.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <utility>

#include "verify/candidate/process/process_tree.h"
#include "verify/cli/process.h"

namespace lockstep::verify::cli {

void EndProcess(int exit_code) {
  KillAllBelow();
  std::cout.flush();
  std::cerr.flush();
  ForgetTeam(getpid());
  std::_Exit(exit_code);
}

Watch::Watch(const std::atomic<bool>* stop, std::optional<double> budget,
             Actions actions)
    : stop_(stop),
      budget_(budget),
      actions_(std::move(actions)),
      thread_([this] { Look(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watch::Look() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> when_stopped;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100),
                            [this] { return done_; })) {
    const Clock::time_point now = Clock::now();
    actions_.tick();
    if (*stop_ && !when_stopped) when_stopped = now;
    if (when_stopped && now - *when_stopped > kPatience)
      actions_.on_interrupt();
    if (budget_ &&
        now - start > std::chrono::duration<double>(*budget_) + kPatience) {
      actions_.on_budget();
    }
  }
}

}  // namespace lockstep::verify::cli
