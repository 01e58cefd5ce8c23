// What a judge is to do with the kernels of any op, for tests.
#ifndef LOCKSTEP_TESTS_VERIFY_JUDGE_CLAIMS_H_
#define LOCKSTEP_TESTS_VERIFY_JUDGE_CLAIMS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/verify/judge_line.h"
#include "tests/verify/trials.h"
#include "verify/domain/domain.h"
#include "verify/emulator/mutants.h"
#include "verify/ops/envelopes.h"
#include "verify/ops/faults.h"
#include "verify/ops/op.h"
#include "verify/registry/ops.h"
#include "verify/run/case_file.h"

namespace lockstep::verify {

// The optimized path passes every case of the op's file, `least` at least.
inline void ExpectOursToPass(const std::string& op, int64_t least) {
  const auto file = ReadCaseFile("data/cases/" + op + ".cases", Ops());
  ASSERT_TRUE(file.ok()) << file.message();
  int64_t judged = 0;
  for (const CaseFileEntry& entry : file->entries) {
    if (entry.sequence[0].expect == Expect::kRefuse) {
      EXPECT_FALSE(ValidateCase(entry.sequence[0]).ok());
      continue;
    }
    if (entry.sequence[0].expect != Expect::kPass) continue;
    const std::string line = MinimalLine(entry.sequence[0]);
    const CaseResult result = JudgeSpec(line, "builtin:optimized");
    EXPECT_EQ(result.verdict, Verdict::kPass) << line << result.reason;
    ++judged;
  }
  EXPECT_GE(judged, least);
}

// A bug on its smallest case fails, and there is no alarm about the kernel that
// it is planted into.
inline void ExpectProven(const MutantInfo& bug) {
  const CaseResult wrong =
      JudgeSpec(bug.pattern, std::string("mutant:") + bug.name);
  EXPECT_EQ(wrong.verdict, Verdict::kFail) << bug.name << wrong.reason;
  const CaseResult right =
      JudgeSpec(bug.pattern, std::string("variant:") + bug.base);
  EXPECT_NE(right.verdict, Verdict::kFail) << bug.name << right.reason;
  EXPECT_NE(right.verdict, Verdict::kError) << bug.name << right.reason;
}

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

// Drawn cases have every feature that the op's domain names, `least` at least.
inline void ExpectFeaturesMet(const char* op, size_t least) {
  const Domain& domain = *FindDomain(op).value();
  FeatureSet met;
  for (uint64_t n = 0; n < 3000; ++n) {
    for (const Case& c : DrawCase(domain, {}, 1, n)) {
      met.Add(domain.features_of(c));
    }
  }
  const auto names = domain.features();
  ASSERT_EQ(met.has.size(), names.size());
  for (size_t n = 0; n < names.size(); ++n) EXPECT_TRUE(met.has[n]) << names[n];
  EXPECT_GE(names.size(), least);
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_VERIFY_JUDGE_CLAIMS_H_
