// Ends a run from outside, where one case takes longer than a user will wait.
#ifndef LOCKSTEP_VERIFY_CLI_WATCH_H_
#define LOCKSTEP_VERIFY_CLI_WATCH_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace lockstep::verify::cli {

// Flushes what was printed and ends the process with this exit code, whatever
// other threads are doing.
[[noreturn]] void EndProcess(int exit_code);

// Between cases a run stops by itself when it is interrupted or its budget is
// spent. Inside a case nothing can be asked to stop: a kernel runs until it is
// done. So a thread of its own looks at the clock.
class Watch {
 public:
  // What is left of a case after an interrupt, or after the budget.
  static constexpr std::chrono::milliseconds kPatience{700};

  struct Actions {
    std::function<void()> tick;          // ten times a second
    std::function<void()> on_interrupt;  // both end the process
    std::function<void()> on_budget;
  };

  // `stop`: set by an interrupt. `budget`: in seconds from now.
  Watch(const std::atomic<bool>* stop, std::optional<double> budget,
        Actions actions);
  // No action runs after this; waits for one that does.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void Look();

  const std::atomic<bool>* stop_;
  std::optional<double> budget_;
  Actions actions_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_WATCH_H_
