// Golden digests: lines "CASE => inputs=HEX o=HEX lse=HEX", made by
// make_golden.cc, held against every path by golden_test.cc.
#ifndef LOCKSTEP_TESTS_DATA_GOLDEN_H_
#define LOCKSTEP_TESTS_DATA_GOLDEN_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

struct GoldenDigests {
  std::string inputs;  // AttentionForwardData::InputDigest
  std::string o;       // DigestTensor
  std::string lse;
  friend bool operator==(const GoldenDigests&, const GoldenDigests&) = default;
};

struct GoldenEntry {
  Case request;
  GoldenDigests digests;
};

// Computes the outputs of one problem.
using GoldenKernel = std::function<Status(const AttentionForwardProblem&,
                                          const AttentionForwardInputs&,
                                          const AttentionForwardOutputs&)>;

// Errors: the case cannot be made, the kernel refuses.
Result<GoldenDigests> DigestsOf(const Case& c, const GoldenKernel& kernel);

// The reference as such a kernel.
Status RunReference(const AttentionForwardProblem& problem,
                    const AttentionForwardInputs& inputs,
                    const AttentionForwardOutputs& outputs);

std::string FormatGolden(const GoldenEntry& entry);
// Blank lines and comments are skipped. Errors: the first bad line.
Result<std::vector<GoldenEntry>> ParseGoldens(std::string_view text);

// The single, meaningful cases of a case file: what goldens are made for.
// Those of attention_forward, or those of all other ops.
Result<std::vector<Case>> GoldenCases(const std::string& path,
                                      bool attention = true);

// The other ops: "inputs=HEX OUTPUT=HEX ..." of what `run` computes.
using TrialKernel = std::function<RunOutcome(const Trial&, const OutputSet&)>;
Result<std::string> TrialDigests(const Case& c, const TrialKernel& run);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_TESTS_DATA_GOLDEN_H_
