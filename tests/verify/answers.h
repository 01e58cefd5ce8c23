// Answers of emulated kernels, and mixtures of two.
#ifndef LOCKSTEP_TESTS_VERIFY_ANSWERS_H_
#define LOCKSTEP_TESTS_VERIFY_ANSWERS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "verify/candidate/candidate.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

inline OutputSet AnswerOf(const std::string& kernel, const Trial& trial) {
  OutputSet outputs = std::move(trial.Allocate(0).value());
  Execution execution;
  auto candidate = ParseCandidate(kernel);
  EXPECT_TRUE(candidate.ok()) << kernel << candidate.message();
  const RunOutcome ran =
      candidate.value()->Run({}, trial, {}, outputs, &execution);
  EXPECT_EQ(ran.state, RunOutcome::State::kRan) << ran.message;
  return outputs;
}

// `from` in the lines of `to` that `where` names by head and row.
template <typename Where>
void Mix(const OutputSet& from, const OutputSet& to, Where where) {
  for (size_t t = 0; t < to.tensors.size(); ++t) {
    const LaneView source = from.tensors[t].const_view();
    const auto& view = to.tensors[t].view;
    for (int64_t h = 0; h < view.shape[1]; ++h) {
      for (int64_t i = 0; i < view.shape[2]; ++i) {
        if (!where(h, i)) continue;
        for (int64_t c = 0; c < view.shape[3]; ++c) {
          view.As<float>()(0, h, i, c) = source.As<float>()(0, h, i, c);
        }
      }
    }
  }
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_ANSWERS_H_
