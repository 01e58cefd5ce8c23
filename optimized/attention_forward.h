// attention_forward, fast: tiled, threaded, vectorised, the same bits as
// reference/attention_forward.h for every plan.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_H_

#include <cstdint>
#include <string>

#include "optimized/plan.h"
#include "optimized/sparse_plan.h"
#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_pages.h"
#include "reference/contract/attention_states.h"
#include "reference/contract/attention_varlen.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What really ran; counts are over the whole call. Receipts carry it, so that
// "dense in disguise" and silent fallbacks can be seen.
struct AttentionForwardExecution {
  std::string target;
  // order=amx only: what forms the products, "matrix unit", or "emulation: "
  // and why.
  std::string products;
  int threads = 0;            // of the team that ran, as OpenMP counts it
  int64_t tiles_empty = 0;    // skipped
  int64_t tiles_full = 0;     // without element masks
  int64_t tiles_partial = 0;  // with element masks
  // Tiles whose scores the bf16 dot instruction gave, its guard holding; where
  // the plan asks for it without one, what it means.
  int64_t tiles_native_dot = 0;
  // The same of weights times values.
  int64_t tiles_native_values = 0;
  // Tiles whose products the matrix unit formed (order=amx).
  int64_t tiles_matrix = 0;
  // Visited with keys and values read in place, not packed (few rows).
  int64_t tiles_in_place = 0;
  // Visited in panels that the worker had packed for rows before.
  int64_t tiles_kept = 0;
  int64_t rows_fixed = 0;   // N9's fixed-m path
  int64_t rows_online = 0;  // N9's online path, guard held
  int64_t rows_redone = 0;  // guard failed: two passes
  int64_t rows_empty = 0;   // no visible key
};

// o [batch, q_heads, q_len, value_dim], lse [batch, q_heads, q_len] from q, k,
// v as the contract has them. Exact class. `execution` may be null.
// Errors: Validate(problem, inputs, outputs)'s; the plan is not one that
// MakePlan makes for the problem; its target is not supported here. Nothing is
// written then.
Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs, const Plan& plan,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution);

// The same from keys and values in pages, which are read where they lie; k and
// v of the inputs are not. Errors: the same, and CheckKeyPages's.
Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const KeyPages& pages, const Plan& plan,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution);

// The same for a ragged batch (CheckVarlen), which is read and written in
// place; queries at or after valid_q have no outputs. Errors: CheckVarlen's,
// and those of the plan.
Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const VarlenRows& rows, const Plan& plan,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution);

// The same from tiles planned before: active ones are visited, others are not
// looked at. Where the tiles hold their element masks, they are the mask and
// problem.masks is not read. Errors: the same, and CheckSparsePlan's.
Status AttentionForward(const AttentionForwardProblem& problem,
                        const AttentionForwardInputs& inputs,
                        const SparsePlan& sparse,
                        const AttentionForwardOutputs& outputs,
                        AttentionForwardExecution* execution);

// Writes states (N24) in place of o and lse, with the reference's bits. Errors:
// those of Validate(problem, inputs, states), and those of the plan.
Status AttentionForwardStates(const AttentionForwardProblem& problem,
                              const AttentionForwardInputs& inputs,
                              WeightSize size, const Plan& plan,
                              const AttentionStates& states,
                              AttentionForwardExecution* execution);

// N5's start-up self-test: whether the target is supported here, has the bf16
// dot instruction, and that does what it should.
bool NativeDotWorks(const std::string& target);

// Whether the target's vectors are those that the matrix unit's kernels are
// written for; whether there is such a unit, TheMatrixUnit() says.
bool TakesMatrixUnit(const std::string& target);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_FORWARD_H_
