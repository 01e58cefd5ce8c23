// Problems filled with a probe, and correct kernels before them.
#ifndef LOCKSTEP_TESTS_VERIFY_PROBE_PROBLEM_H_
#define LOCKSTEP_TESTS_VERIFY_PROBE_PROBLEM_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "tests/verify/envelope_problem.h"
#include "verify/allowed/attention_forward/probes.h"
#include "verify/emulator/attention_forward/kernel.h"
#include "verify/emulator/attention_forward/zoo.h"

namespace lockstep::verify {

// Sinks that the probe does not bring are 0, as ProbeCases makes them.
inline void FillWithProbe(ProbeKind kind, uint64_t seed, TestProblem* t,
                          bool keep_sinks) {
  const LaneView* views[] = {&t->inputs.q, &t->inputs.k, &t->inputs.v};
  for (int n = 0; n < 3; ++n) {
    const auto& s = views[n]->shape;
    for (int64_t at = 0; at < s[0] * s[1] * s[2] * s[3]; ++at) {
      t->Set(static_cast<size_t>(n), static_cast<size_t>(at),
             static_cast<double>(ProbeElement(
                 kind, t->problem, seed, n,
                 {at / (s[1] * s[2] * s[3]), at / (s[2] * s[3]) % s[1],
                  at / s[3] % s[2], at % s[3]})));
    }
  }
  for (size_t h = 0; h < t->sink.size(); ++h) {
    if (ProbeSetsSinks(kind)) {
      t->sink[h] = ProbeSinkElement(kind, t->problem, static_cast<int64_t>(h));
    } else if (!keep_sinks) {
      t->sink[h] = 0;
    }
  }
}

// Counts of a property test.
struct ProbeTally {
  int64_t runs = 0, elements = 0, single = 0, open = 0;
};

// A correct variant's answer to a probe, where the probe applies.
inline void TryVariant(const AttentionVariant& variant, ProbeKind kind,
                       uint64_t seed, TestProblem* t, ProbeTally* tally) {
  if (!Fits(variant.numeric, *t) ||
      !WhyNotProbe(kind, t->problem, variant.numeric).empty()) {
    return;
  }
  AttentionEmulator(variant).Run(t->problem, t->inputs, t->outputs);
  const ProbeAnswers expected = ExpectProbe(
      {kind, t->problem, t->inputs, variant.numeric, seed}, nullptr);
  const EnvelopeResult o = JudgeProbe(expected.o, nullptr, t->ProducedO());
  const EnvelopeResult lse =
      JudgeProbeLse(expected.lse, nullptr, t->ProducedLse());
  for (const EnvelopeResult* result : {&o, &lse}) {
    if (result == &lse && !HasLse(variant.numeric)) continue;
    EXPECT_TRUE(result->Passed())
        << ProbeName(kind) << " " << variant.name() << " seed " << seed << " "
        << result->tensor << ": " << result->outside << " outside, first "
        << (result->first ? result->first->produced : 0) << " allowed "
        << (result->first ? result->first->bounds.allowed.lo : 0) << " .. "
        << (result->first ? result->first->bounds.allowed.hi : 0);
  }
  ++tally->runs;
  for (const ValueSet& set : expected.o) {
    ++tally->elements;
    tally->single += set.lo == set.hi ? 1 : 0;
    tally->open += set.Unbounded() ? 1 : 0;
  }
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_PROBE_PROBLEM_H_
