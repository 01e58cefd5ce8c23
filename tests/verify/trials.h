// Trials, opened, and their right answers; a failure is reported to the running
// test.
#ifndef LOCKSTEP_TESTS_VERIFY_TRIALS_H_
#define LOCKSTEP_TESTS_VERIFY_TRIALS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "verify/base/digest.h"
#include "verify/case/case.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"
#include "verify/profile/profile.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {

inline std::unique_ptr<Trial> Open(const Case& c) {
  auto trial = TrialRowOf(c).value().open(c, {});
  EXPECT_TRUE(trial.ok()) << MinimalLine(c) << ": " << trial.message();
  return std::move(trial.value());
}

inline std::unique_ptr<Trial> Open(const std::string& line) {
  const auto c = ParseCase(line);
  EXPECT_TRUE(c.ok()) << line << ": " << c.message();
  return Open(c.value());
}

inline NumericProfile Profile(const char* name) {
  return LoadProfile(name).value();
}

inline std::vector<int64_t> AllRows(const Trial& trial) {
  std::vector<int64_t> rows;
  for (int64_t n = 0; n < trial.rows(); ++n) rows.push_back(n);
  return rows;
}

inline OutputSet Reference(const Trial& trial) {
  auto outputs = trial.Allocate(0);
  EXPECT_TRUE(outputs.ok()) << outputs.message();
  Execution execution;
  trial.kernels().RunReference(outputs.value(), &execution);
  return std::move(outputs.value());
}

// Of our optimized kernel, in memory as Trial::Allocate makes it.
inline OutputSet Optimized(const Trial& trial, const Variation& how = {}) {
  auto outputs = trial.Allocate(0);
  EXPECT_TRUE(outputs.ok()) << outputs.message();
  Execution execution;
  const RunOutcome ran =
      trial.kernels().RunOptimized(how, outputs.value(), &execution);
  EXPECT_EQ(ran.state, RunOutcome::State::kRan) << ran.message;
  return std::move(outputs.value());
}

inline void ExpectSameBits(const OutputSet& expected, const OutputSet& produced,
                           const std::string& line) {
  for (size_t t = 0; t < expected.tensors.size(); ++t) {
    EXPECT_EQ(DigestTensor(expected.tensors[t].const_view()),
              DigestTensor(produced.tensors[t].const_view()))
        << line;
  }
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_TRIALS_H_
