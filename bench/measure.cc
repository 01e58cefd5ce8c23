#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::bench {
namespace {

// The field of /proc/self/status in bytes, 0 where there is none.
double StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kilobytes = 0;
  while (status >> word) {
    if (word == field + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

double Now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

double Median(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

MemoryMark::MemoryMark() {
  // Makes the high-water mark what is resident now.
  std::ofstream("/proc/self/clear_refs") << "5";
  before_ = StatusBytes("VmRSS");
}

std::optional<double> MemoryMark::Extra() const {
  const double peak = StatusBytes("VmHWM");
  if (before_ == 0 || peak < before_) return std::nullopt;
  return peak - before_;
}

}  // namespace lockstep::bench
