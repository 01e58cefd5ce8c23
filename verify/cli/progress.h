// How far a run is, for whoever waits for it.
#ifndef LOCKSTEP_VERIFY_CLI_PROGRESS_H_
#define LOCKSTEP_VERIFY_CLI_PROGRESS_H_

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

#include "verify/report/report.h"

namespace lockstep::verify::cli {

// A line on the terminal that is written over; elsewhere one now and then, so
// that a log shows a long run to be alive.
class Progress {
 public:
  explicit Progress(int64_t total)
      : on_(isatty(STDERR_FILENO) != 0), total_(total) {}
  ~Progress() { Clear(); }

  void Clear() {
    if (!shown_) return;
    std::cerr << "\r\x1b[K" << std::flush;
    shown_ = false;
  }
  void Show(int64_t done, int64_t findings) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < (on_ ? kOnTerminal : kElsewhere)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const std::string line = ProgressLine(done, total_, findings, seconds);
    std::cerr << (on_ ? "\r\x1b[K" + line : line + "\n") << std::flush;
    shown_ = on_;
  }

 private:
  static constexpr std::chrono::milliseconds kOnTerminal{100};
  static constexpr std::chrono::milliseconds kElsewhere{30000};

  bool on_;
  bool shown_ = false;
  int64_t total_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace lockstep::verify::cli

#endif  // LOCKSTEP_VERIFY_CLI_PROGRESS_H_
