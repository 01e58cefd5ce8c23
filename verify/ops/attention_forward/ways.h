// Ways to run the optimized path of attention, forward and backward, that must
// not change a bit.
#ifndef LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WAYS_H_
#define LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WAYS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "optimized/attention_forward.h"
#include "optimized/plan.h"
#include "reference/contract/status.h"
#include "verify/ops/kernels.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

optimized::Caps ToCaps(const Variation& how);

// Says why no SIMD kernel computes the problem, so that the reference does;
// empty if one does.
std::string WhyNoKernel(const AttentionForwardProblem& problem);

// One run of the optimized path by `run`, with the plan of the problem; where
// there is none, of the trial's reference.
RunOutcome RunPlanned(
    const Trial& trial, const AttentionForwardProblem& problem,
    const Variation& how, const OutputSet& outputs, Execution* execution,
    const std::function<Status(const optimized::Plan&,
                               optimized::AttentionForwardExecution*)>& run);

// Names of the targets that this CPU runs, among them the wanted one alone, if
// one is wanted.
std::vector<std::string> RunningTargets(const Variation& how);

struct AttentionWays {
  std::vector<int> threads;
  std::vector<std::pair<int64_t, int64_t>> tiles;  // rows, keys
  bool native_dot = false;  // products of pairs, where nothing else is asked
};

// A tile that holds the problem, or the largest one.
std::pair<int64_t, int64_t> WholeTile(int64_t rows, int64_t keys);

// Each target, number of threads and tile by itself, then their product; what
// `fixed` names is no choice. None where this CPU runs no target.
std::vector<Variation> VariationsOf(AttentionWays ways, const Variation& fixed);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ATTENTION_FORWARD_WAYS_H_
