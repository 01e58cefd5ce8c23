// The cases that check draws within what a kernel computes.
#ifndef LOCKSTEP_FUZZ_CHECK_DRAWN_H_
#define LOCKSTEP_FUZZ_CHECK_DRAWN_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/check/look.h"
#include "fuzz/run.h"
#include "reference/contract/status.h"

namespace lockstep::fuzz::check {

struct Drawing {
  std::string profile;            // as --profile takes it
  std::optional<double> seconds;  // of all of it
  int64_t cases = 0;              // without `seconds`
  const std::atomic<bool>* stop = nullptr;
};

struct Drawn {
  Counts counts;
  std::vector<Fault> faults, conventions;
  double seconds = 0;
  int64_t past = 0;   // judged cases with more keys than the mask reaches
  std::string sizes;  // "heads 1..8, lengths 1..257"
  // Words of what the kernel computes that no judged case had: "softcap".
  std::vector<std::string> never;
};

// Draws until the first fault, which is shrunk. Where a window is longer than
// what is drawn, half of the cases gather around its edge. Errors: no drawn
// case can be as the kernel takes it.
Result<Drawn> DrawCases(const Looked& looked, const Drawing& how);

}  // namespace lockstep::fuzz::check

#endif  // LOCKSTEP_FUZZ_CHECK_DRAWN_H_
