// The fp64 witness of attention_backward: gradients from the o and lse that are
// given, line by line, and the magnitudes from which their envelopes are made.
// Derivation: docs/envelopes.md.
#ifndef LOCKSTEP_VERIFY_ORACLE_ATTENTION_BACKWARD_TRUTH_H_
#define LOCKSTEP_VERIFY_ORACLE_ATTENTION_BACKWARD_TRUTH_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "reference/contract/attention_backward.h"
#include "verify/oracle/attention_forward/truth.h"
#include "verify/oracle/attention_forward/visibility.h"

namespace lockstep::oracle {

// How far the parts of one pair's gradient may be from the truth. Relative
// where nothing else is said; sums over channels: per sum of their terms'
// sizes.
struct GradientModel {
  WeightModel weights;    // of ln P; `floor` absolute
  double lse = 0;         // of ln P, per |lse|
  double slope = 0;       // of the cap's slope, absolute, beside 2 |y| err(y)
  double delta = 0;       // sum over do o
  double dp = 0;          // sum over do v
  double step = 0;        // one operation on a single number
  double p = 0;           // of P before it meets do
  double p_in_ds = 0;     // of P before it meets dP - D
  double ds = 0;          // of dS before it meets k and q
  double operand_v = 0;   // of do in the product with P
  double operand_k = 0;   // of k in the product with dS
  double operand_q = 0;   // of q in the product with dS
  double ds_floor = 0;    // of dS, absolute: what its type flushes
  double tiny = 0;        // of one operation near zero, absolute
  double flush = 0;       // of an operand, absolute
  double flush_k = 0;     // the same of k in the product with dS
  double flush_q = 0;     // and of q there
  double largest_qk = 0;  // sum |q k| above it may overflow
  double largest = 0;     // the same of other sums and products
  // Where P, and dS times this before it meets k and q, are rounded to the
  // nearest bf16 and only one is within reach, it is known. 0: it is not.
  bool round_p = false;
  double round_k = 0;
  double round_q = 0;
  bool sparse = false;  // terms that are not 0 are counted, channel by channel
};

// The elements of one line of one output.
struct GradientLine {
  // Anything may stand there: an infinity, or an overflow, is near.
  bool open = false;
  int64_t terms = 0;  // of each sum; 0: nothing is added, the line is zero
  // In units before the factor `scale`: the sum; what errors of its terms
  // change in it; the sum of the sizes of its terms, errors included; and what
  // the sizes would be without cancellation within a term, which any answer,
  // right or wrong, can span.
  std::vector<double> value, wrong, size, span;
  // Of dk: the sizes of the sums of the group's heads, added up.
  std::vector<double> heads;
  // Terms of each channel that are not 0; empty: `terms`.
  std::vector<double> present{};
};

struct KeyLines {
  GradientLine dk, dv;
};

// The natural lse of every query, flat (b, h, i), and how far a kernel's own,
// of which nothing is known, may be from it.
struct LseRange {
  std::vector<double> lse;
  std::vector<double> wrong;
};

// What a term of a sum is multiplied by, how wrong that is, and what its size
// would be without cancellation within it.
struct GradientFactor {
  double value = 0;
  double wrong = 0;
  double span = 0;
};

// D of a query, as a sum of P times dP over its keys.
struct WeighedDelta {
  double value = 0;
  double wrong = 0;
  double span = 0;  // sum of P |do v|; infinite where anything may stand
};

// One problem's gradients. Keeps references to problem and inputs.
class Gradients {
 public:
  // Requires: Validate(problem, inputs, ...).ok().
  // `lse`, kept by reference, stands in for that of the inputs; null: none.
  Gradients(const AttentionBackwardProblem& problem,
            const AttentionBackwardInputs& inputs, const GradientModel& model,
            const LseRange* lse = nullptr);

  // Of a kernel whose D is no sum over o: that of every query, flat (b, h, i).
  // `of_o`: how far it may be off is that of the sum, its value that of o.
  void SetDeltas(std::vector<WeighedDelta> deltas, bool of_o) {
    deltas_ = std::move(deltas);
    deltas_of_o_ = of_o;
  }

  // Safe to call from several threads.
  WeighedDelta DeltaOf(int64_t b, int64_t h, int64_t i) const;
  GradientLine Query(int64_t b, int64_t h, int64_t i) const;
  KeyLines Key(int64_t b, int64_t kv_head, int64_t j) const;
  GradientLine Sink(int64_t h) const;
  bool Sees(int64_t b, int64_t h, int64_t i, int64_t j) const;
  // Whether the query sees a key.
  bool SeesAny(int64_t b, int64_t h, int64_t i) const;
  // Whether some query of the batch row's group sees no key.
  bool HasEmptyQueries(int64_t b, int64_t kv_head) const;

 private:
  struct Row;
  struct Pair;
  struct Weighed;
  size_t FlatOf(int64_t b, int64_t h, int64_t i) const {
    return static_cast<size_t>((b * p_.q_heads + h) * p_.q_len + i);
  }
  Weighed Weigh(const Row& row, const std::vector<double>& k,
                const std::vector<double>& v) const;
  // P as it meets do, and as it is multiplied with dP - D.
  GradientFactor RoundedP(const Weighed& x) const;
  GradientFactor PInDs(const Weighed& x) const;
  void SetRow(int64_t b, int64_t h, int64_t i, Row* to) const;
  // `rounded`: what dS is multiplied with before it is rounded, if that is to
  // be known.
  Pair PairOf(const Row& row, const std::vector<double>& k,
              const std::vector<double>& v, double rounded) const;
  GradientLine MakeLine(int64_t channels) const;
  void Slope(double z, double wrong, double* slope, double* score) const;

  const AttentionBackwardProblem& problem_;
  const AttentionForwardProblem& p_;
  const AttentionBackwardInputs& in_;
  GradientModel m_;
  const LseRange* const lse_;
  std::vector<WeighedDelta> deltas_;
  bool deltas_of_o_ = false;
  // Of every query, flat (b, h, i).
  std::vector<KeySet> keys_;
};

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_ATTENTION_BACKWARD_TRUTH_H_
