// Joins the sums of a row's parts to its outputs (N11, N12, N22), also where
// the states of the parts come from several places (N24).
//
//   s parts: m_s, l_s, acc_s [value_dim] -> M, l, acc [value_dim]
//   -> o [value_dim], lse []
#ifndef LOCKSTEP_REFERENCE_ATTENTION_STATES_H_
#define LOCKSTEP_REFERENCE_ATTENTION_STATES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "reference/contract/attention_states.h"
#include "reference/contract/status.h"

namespace lockstep::reference {

// Weights are 2^(u - m) * 2^shift (N9). Both are integers.
struct Base {
  float m = 0.0f;
  float shift = 0.0f;
};

// One term of a row's softmax: a visible key, or the learned sink.
struct Term {
  explicit Term(float score);
  // N9: exp2 of the fraction times a power of two.
  float Weight(const Base& base) const;
  // N13: no weight is defined for NaN or +inf.
  bool IsBad() const;

  float u;  // score * log2e
  float n;  // u rounded to an integer, ties to even; integer-valued f32
};

// The sums of passes 2 and 3 for one part, or for all of them: l without the
// sink and acc [value_dim], relative to the base.
struct Sums {
  Base base;
  float l = 0.0f;
  std::vector<float> acc;
};

// The sink of a query head; none without problem.sink.
std::optional<Term> SinkOf(const AttentionForwardProblem& problem,
                           const TensorView<const float, 1>& sink,
                           int64_t head);

// N9: softcap bounds every |u| by C, so that m = 0 serves a row that sees keys.
bool TakesFixedPath(const AttentionForwardProblem& problem,
                    const std::optional<Term>& sink);

// N22: adds the parts in ascending order.  Requires: at least one part.
Sums AddParts(std::span<const Sums> parts);

// N13: makes o and lse NaN.  N12: finishes a row without a visible key.
void FinishNaNRow(std::span<float> o, float* lse);
void FinishEmptyRow(const std::optional<Term>& sink, std::span<float> o,
                    float* lse);
// Finishes every other row: adds the sink, divides, rounds to the lane (N11).
// `small` returns the same sums with small weights, for the elements that
// overflowed (N9). `value_scale` is the scale that all values of the head share
// (N25).
void FinishRow(Lane lane, const std::optional<Term>& sink, const Sums& sums,
               const std::function<Sums()>& small, std::span<float> o,
               float* lse, float value_scale = 1.0f);

// N24: computes o and lse of all rows from the states of their parts, which are
// in the order of their keys. `small` has as many states with small weights, or
// none.
//   problem  that of the whole; its keys, masks and split are not read
//   sink     [q_heads]; null without problem.sink
//   returns  whether a row needs `small` and there was none: its elements that
//   overflowed are NaN then
//   Errors: wrong shapes, a wrong number of states; nothing is written then.
Result<bool> JoinStates(const AttentionForwardProblem& problem,
                        const TensorView<const float, 1>& sink,
                        std::span<const AttentionStates> parts,
                        std::span<const AttentionStates> small,
                        const AttentionForwardOutputs& outputs);

}  // namespace lockstep::reference

#endif  // LOCKSTEP_REFERENCE_ATTENTION_STATES_H_
