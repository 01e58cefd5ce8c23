// What one pair of query and key contributes, with the faults that sit on
// scores, weights and masks.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_PAIRS_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_PAIRS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "verify/emulator/attention_backward/faults.h"
#include "verify/emulator/attention_backward/kernel.h"
#include "verify/emulator/attention_forward/visibility.h"

namespace lockstep::verify {

// P and dS as they meet do, k and q: for the sums over queries and for those
// over keys, which a kernel with a fault masks apart.
struct GradPair {
  bool visible = false;                   // has a weight
  bool to_key = false, to_query = false;  // takes part in them
  float p = 0;
  float ds_to_key = 0, ds_to_query = 0;  // scaled where the variant does so
};

// What dq and dk are multiplied with, wherever that is.
struct GradFactors {
  float dq = 1, dk = 1;
};
GradFactors FactorsOf(const AttentionForwardProblem& problem, GradFault fault);

// A query's own numbers.
struct GradRow {
  int64_t b = 0, h = 0, i = 0;
  std::vector<float> q, d_o;
  std::vector<float> q_to_k, d_o_to_v;  // the same as these products meet them
  float lse = 0;
  float delta = 0;
};

class GradPairs {
 public:
  GradPairs(const AttentionBackwardProblem& problem,
            const AttentionBackwardInputs& inputs, const GradVariant& variant,
            GradFault fault);

  int64_t KvHead(int64_t h) const;
  bool SeesAny(int64_t b, int64_t h, int64_t i) const;
  // Whether key j is read as zeros: no query of its batch row sees it.
  bool Guarded(int64_t b, int64_t j) const;
  GradRow Row(int64_t b, int64_t h, int64_t i) const;
  GradPair Pair(const GradRow& row, int64_t j, const float* k,
                const float* v) const;
  // dsink with the row's term.
  float AddSink(const GradRow& row, float sum) const;
  // A row of a tensor as the products meet it.
  std::vector<float> Operand(const LaneView& x, int64_t b, int64_t h,
                             int64_t position, NumberType type) const;
  // q or k as its product with dS meets it, times the factor in its own lane.
  std::vector<float> Scaled(const std::vector<float>& x, float factor) const;
  float Round(float x, NumberType type) const;
  // x as an element of a gradient of that lane.
  float Written(float x, Lane lane) const;

 private:
  // An element of do as the kernel reads it.
  float SeenCotangent(float x) const;
  bool contract() const { return variant_.numeric.exact; }
  float Dot(const float* a, const float* b, int64_t n,
            const Accumulator& how) const;
  float Delta(const GradRow& row) const;
  // u, and what the score's gradient is multiplied with.
  void Score(float dot, float* u, float* slope) const;
  float Weight(float u, float lse) const;
  void See(const GradRow& row, int64_t j, GradPair* pair) const;

  const AttentionBackwardProblem& problem_;
  const AttentionForwardProblem& p_;
  const AttentionBackwardInputs& in_;
  const GradVariant& variant_;
  const GradFault fault_;
  // Of dS; 1 where the scale comes elsewhere.
  GradFactors of_ds_;
  // What the sums over queries, and those over keys, believe of the masks.
  AttentionForwardProblem to_key_, to_query_;
  AttentionForwardInputs key_inputs_, query_inputs_;
  // Of a kernel that counts a key as often as its lists name it.
  std::optional<Visibility> lists_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_BACKWARD_PAIRS_H_
