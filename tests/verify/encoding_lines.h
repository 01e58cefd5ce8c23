// Checks that the tests of each encoding of keys and values share: the message
// of a wrong line, the data of a right one, and that the judge fails only
// kernels with bugs.
#ifndef LOCKSTEP_TESTS_VERIFY_ENCODING_LINES_H_
#define LOCKSTEP_TESTS_VERIFY_ENCODING_LINES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/support/runnable_targets.h"
#include "tests/support/volume.h"
#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/case/case.h"
#include "verify/inputs/attention_forward.h"

namespace lockstep::verify {

// The reason why "attention_forward KEYS" is refused; empty: it is not.
inline std::string ErrorOf(const std::string& keys) {
  const Result<Case> c = ParseCase("attention_forward " + keys);
  return c.ok() ? ValidateCase(c.value()).message() : c.message();
}

inline AttentionForwardData DataOf(const std::string& line,
                                   const MaterialiseOptions& options = {}) {
  const Result<Case> c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << c.message();
  Result<AttentionForwardData> data = Materialise(c.value(), options);
  EXPECT_TRUE(data.ok()) << data.message();
  return std::move(data.value());
}

// How many cases a test draws, of which some have its encoding: `own`, or as
// many as LOCKSTEP_ENCODING_DRAWS says.
inline uint64_t EncodingDraws(uint32_t own) {
  const char* const asked = std::getenv("LOCKSTEP_ENCODING_DRAWS");
  return asked == nullptr ? test::Volume(own)
                          : std::strtoull(asked, nullptr, 10);
}

// Runs our kernel on every target of this CPU, with one thread and with two in
// turns, and gives what it produced to expect(produced).
template <typename Expect>
void ForEveryTarget(const Trial& trial, uint64_t n, const Expect& expect) {
  for (const std::string& target : test::RunnableTargets()) {
    Variation how;
    how.target = target;
    how.threads = static_cast<int>(1 + n++ % 2);
    SCOPED_TRACE(target);
    expect(Optimized(trial, how));
  }
}

// Expects the bits of `expected` on every target.
inline void ExpectBitsOnTargets(const OutputSet& expected, const Trial& trial,
                                uint64_t n, const std::string& line) {
  ForEveryTarget(trial, n, [&](const OutputSet& produced) {
    ExpectSameBits(expected, produced, line);
  });
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_ENCODING_LINES_H_
