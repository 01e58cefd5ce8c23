// The rounding points of a merge, one function each, with the faults that sit
// on them.
#ifndef LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_ARITHMETIC_H_
#define LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_ARITHMETIC_H_

#include <vector>

#include "reference/contract/attention_merge.h"
#include "verify/emulator/attention_merge/kernel.h"

namespace lockstep::verify {

class MergeArithmetic {
 public:
  MergeArithmetic(LseBase base, const MergeVariant& variant, MergeFault fault)
      : base_(base), variant_(variant), fault_(fault) {}

  // base^(lse - m).
  float Weight(float lse, float m) const;
  // The type of the numerator's weights.
  float Rounded(float weight) const;
  float AddWeight(float sum, float weight) const;
  // sums[c] = w * o[c] + sums[c].
  void AddProducts(float weight, const std::vector<float>& o,
                   std::vector<float>* sums) const;
  float Divide(float x, float sum) const;
  // m + log_base of a sum of weights.
  float Lse(float m, float sum) const;
  float StoredLse(float lse) const;
  // o between two merges.
  float State(float x) const;
  float Flushed(float x) const;

 private:
  float Exponent(float lse, float m) const;
  bool Is(MergeFault fault) const { return fault_ == fault; }

  LseBase base_;
  const MergeVariant& variant_;
  MergeFault fault_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_EMULATOR_ATTENTION_MERGE_ARITHMETIC_H_
