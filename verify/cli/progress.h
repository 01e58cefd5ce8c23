// How far a run is, for the user who waits for it.
#ifndef LOCKSTEP_VERIFY_CLI_PROGRESS_H_
#define LOCKSTEP_VERIFY_CLI_PROGRESS_H_

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <utility>

#include "verify/report/report.h"

namespace lockstep::verify::cli {

// A line on the terminal that is written over; elsewhere one now and then, so
// that a log shows a long run to be alive.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(int64_t total)
      : Progress(total, isatty(STDERR_FILENO) != 0, &std::cerr, Clock::now) {}
  // On any stream, by any clock.
  Progress(int64_t total, bool terminal, std::ostream* out,
           std::function<Clock::time_point()> now)
      : on_(terminal),
        total_(total),
        out_(out),
        now_(std::move(now)),
        start_(now_()),
        last_(start_) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Clear() {
    if (!shown_) return;
    *out_ << "\r\x1b[K" << std::flush;
    shown_ = false;
  }
  void Show(int64_t done, int64_t findings) {
    const Clock::time_point now = now_();
    if (now - last_ < (on_ ? kOnTerminal : kElsewhere)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string line = ProgressLine(done, total_, findings, seconds);
    *out_ << (on_ ? "\r\x1b[K" + line : line + "\n") << std::flush;
    shown_ = on_;
  }

 private:
  static constexpr std::chrono::milliseconds kOnTerminal{100};
  static constexpr std::chrono::milliseconds kElsewhere{30000};

  bool on_;
  bool shown_ = false;
  int64_t total_;
  std::ostream* out_;
  std::function<Clock::time_point()> now_;
  Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_PROGRESS_H_
