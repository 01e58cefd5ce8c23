// Keys and values of one kv head as sums over many rows read them, in f32:
// they give directions, no bounds.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_HEAD_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_HEAD_H_

#include <array>
#include <cstdint>
#include <vector>

#include "reference/contract/attention_forward.h"
#include "verify/allowed/errors.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::verify {

class HeadOfValues {
 public:
  using Run = oracle::KeyInterval;

  // The visible keys of one row, run after run.
  struct Weights {
    std::vector<Run> runs;
    std::vector<float> weight;  // normalised
    std::vector<float> score;   // after the softcap
    std::vector<float> slope;   // of the score by ln(cap); zeros without one
    double mean_score = 0;      // sum w s, and of the slopes
    double mean_slope = 0;
  };
  // One row of channels for each direction, and for the error itself.
  using Directions = std::array<std::vector<float>, kErrorDirections + 1>;

  // The head that flat row `row` reads. Keeps references to the arguments.
  HeadOfValues(const AttentionForwardProblem& problem,
               const AttentionForwardInputs& inputs,
               const oracle::Visibility& visibility, int64_t row);

  // (batch row, query head, query).
  std::array<int64_t, 3> Place(int64_t row) const;
  bool Holds(int64_t row) const;

  void Weigh(int64_t row, const oracle::RowTruth& truth, Weights* to) const;
  // Per channel sum w s v and sum w (ds / d ln cap) v.
  void Slopes(const Weights& weights, std::vector<double>* scale,
              std::vector<double>* cap) const;
  // Per direction and visible key the product with the key's values.
  void Along(const Weights& weights, const Directions& directions,
             Directions* products) const;

 private:
  const AttentionForwardProblem& p_;
  const AttentionForwardInputs& in_;
  const oracle::Visibility& visibility_;
  int64_t b_ = 0, kv_ = 0;
  std::vector<float> keys_;    // [channel][key]
  std::vector<float> values_;  // [channel][key]
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_ERRORS_HEAD_H_
