// What a judge is to do with the kernels of any op, for tests.
#ifndef LOCKSTEP_TESTS_VERIFY_JUDGE_CLAIMS_H_
#define LOCKSTEP_TESTS_VERIFY_JUDGE_CLAIMS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tests/verify/trials.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/faults.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"

namespace lockstep::verify {

// The right answer is inside, and mostly bounded; with the largest element of
// one output changed by a part of itself, that element alone is outside.
inline void ExpectNarrow(const Trial& trial, const char* profile,
                         float change) {
  const auto allowed =
      trial.envelopes().Envelope(Profile(profile), AllRows(trial), 1);
  for (size_t t = 0; t < trial.outputs().size(); ++t) {
    OutputSet outputs = Reference(trial);
    for (const EnvelopeResult& right : allowed->Judge(outputs)) {
      EXPECT_TRUE(right.Passed()) << right.tensor;
      EXPECT_FALSE(right.MostlyOpen()) << right.tensor;
    }
    auto* data = static_cast<float*>(outputs.tensors[t].view.data);
    const int64_t count =
        trial.outputs()[t].lines() * trial.outputs()[t].shape[3];
    float* largest = std::max_element(data, data + count, [](float a, float b) {
      return std::abs(a) < std::abs(b);
    });
    *largest *= 1 + change;
    const auto wrong = allowed->Judge(outputs);
    ASSERT_EQ(wrong.size(), trial.outputs().size());
    for (size_t other = 0; other < wrong.size(); ++other) {
      EXPECT_EQ(wrong[other].outside, other == t ? 1 : 0)
          << wrong[other].tensor;
    }
  }
}

// Whether a probe's expectation, which allows the right answer, does not allow
// the first wrong row of a fault.
inline bool Shows(const Trial& probe, const NumericProfile& profile,
                  const PlantedFault& fault) {
  const auto allowed = probe.envelopes().Probe(profile, {fault.rows[0]});
  EXPECT_NE(allowed, nullptr);
  RowBits wrong, right;
  fault.row(fault.rows[0], &wrong);
  probe.ReferenceRow(fault.rows[0], &right);
  EXPECT_TRUE(allowed->Allows(0, right)) << fault.kind;
  return !allowed->Allows(0, wrong);
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_JUDGE_CLAIMS_H_
