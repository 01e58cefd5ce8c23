// attention_backward, fast: tiled, threaded, vectorised, the same bits as
// reference/attention_backward.h for every plan.
#ifndef LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_H_
#define LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_H_

#include <cstdint>
#include <string>

#include "optimized/plan.h"
#include "optimized/sparse_plan.h"
#include "reference/contract/attention_backward.h"
#include "reference/contract/attention_varlen.h"
#include "reference/contract/status.h"

namespace lockstep::optimized {

// What really ran; counts are over the whole call.
struct AttentionBackwardExecution {
  std::string target;
  int threads = 0;            // of the team that ran, as OpenMP counts it
  int64_t tiles_full = 0;     // without element masks
  int64_t tiles_partial = 0;  // with element masks
  // Of the partial ones, those whose products left masked pairs out one by
  // one: a factor beside them is not finite.
  int64_t tiles_by_pair = 0;
};

// A plan for the problem. It is MakePlan's plan of the forward pass, with tiles
// that suit the backward pass and without the choices of the forward pass alone
// (dot, path, pack).
//   Errors: MakePlan's and Validate(problem)'s.
Result<Plan> MakePlan(const AttentionBackwardProblem& problem,
                      const Caps& caps);

// dq [batch, q_heads, q_len, head_dim], dk [batch, kv_heads, kv_len, head_dim],
// dv [batch, kv_heads, kv_len, value_dim] and dsink [q_heads] as the contract
// has them. Exact: N18. Extra memory: dq in f32, and a few tiles for each
// thread. `execution` may be null.
// Errors: Validate(problem, inputs, outputs)'s; the plan is not one that
// MakePlan makes for the problem; its target is not supported here. Nothing is
// written then.
Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const Plan& plan,
                         const AttentionBackwardOutputs& outputs,
                         AttentionBackwardExecution* execution);

// The same for a ragged batch (CheckVarlen), which is read and written in
// place. Errors: CheckVarlen's, and those of the plan.
Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const VarlenRows& rows, const Plan& plan,
                         const AttentionBackwardOutputs& outputs,
                         AttentionBackwardExecution* execution);

// The same from tiles planned before: active ones are visited, by key tile, and
// others are not looked at. Where the tiles hold their element masks, they are
// the mask and problem.forward.masks is not read. Errors: the same, and
// CheckSparsePlan's.
Status AttentionBackward(const AttentionBackwardProblem& problem,
                         const AttentionBackwardInputs& inputs,
                         const SparsePlan& sparse,
                         const AttentionBackwardOutputs& outputs,
                         AttentionBackwardExecution* execution);

}  // namespace lockstep::optimized

#endif  // LOCKSTEP_OPTIMIZED_ATTENTION_BACKWARD_H_
