// How far a measurement is, for the user at the terminal.
#ifndef LOCKSTEP_BENCH_CLI_TICKER_H_
#define LOCKSTEP_BENCH_CLI_TICKER_H_

#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace lockstep::bench::cli {

// A line on the terminal that is written over; nothing elsewhere.
class Ticker {
 public:
  explicit Ticker(const std::string& what)
      : on_(isatty(STDERR_FILENO) != 0), what_(what) {}
  ~Ticker() {
    if (shown_) std::cerr << "\r\x1b[K" << std::flush;
  }
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  void Show(int64_t done, int64_t total) {
    if (!on_) return;
    std::cerr << "\r\x1b[K" << done << " of " << total << " " << what_
              << std::flush;
    shown_ = true;
  }

 private:
  bool on_;
  bool shown_ = false;
  std::string what_;
};

}  // namespace lockstep::bench::cli

#endif  // LOCKSTEP_BENCH_CLI_TICKER_H_
