// Correct kernels before the statistics, on cases large enough for them: how
// often these alarm, against the rate that they state.
#ifndef LOCKSTEP_TESTS_POWER_ATTENTION_FORWARD_NULLS_H_
#define LOCKSTEP_TESTS_POWER_ATTENTION_FORWARD_NULLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lockstep::verify {

struct NullOptions {
  int64_t cases = 10000;
  int64_t keys = 0;  // of every case; 0: 24 .. 255
  int threads = 0;   // 0: as many as the machine has
  uint64_t seed = 0;
  // One kernel, a variant or a mutant, under its own profile; empty: all
  // correct ones that claim no exact bits, in turn.
  std::string kernel;
  std::function<void(const std::string&)> progress;  // may be null
};

struct NullAlarm {
  std::string kernel;
  std::string line;
  std::string what;
};

struct NullResult {
  uint64_t seed = 0;
  int64_t kernels = 0;
  int64_t cases = 0;  // that statistics looked at
  int64_t alarmed = 0;
  int64_t tests = 0;
  int64_t rows = 0;
  std::map<std::string, int64_t> not_looked_at;  // cases, by reason
  // Cases whose strongest statistic came within a factor e^2 of its limit.
  int64_t close = 0;
  std::vector<NullAlarm> alarms;  // the first few
  double seconds = 0;

  double Rate() const;
  // Whether the alarms are no more than the stated rate makes likely: beyond
  // its mean by less than four deviations.
  bool Passed() const;
};

NullResult RunNulls(const NullOptions& options);
std::string NullText(const NullResult& result);
std::string NullJson(const NullResult& result);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_POWER_ATTENTION_FORWARD_NULLS_H_
