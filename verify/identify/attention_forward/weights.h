// The question whose answers show what weights are rounded to.
#ifndef LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_WEIGHTS_H_
#define LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_WEIGHTS_H_

#include <vector>

#include "verify/base/binary64.h"
#include "verify/identify/attention_forward/kernel.h"

namespace lockstep::verify {

// Three keys of scores 0, -u and -w, where w is a little more than u.
struct WeightRow {
  double u = 0, w = 0;
  double first() const { return ExpDouble(-u); }
  double second() const { return ExpDouble(-w); }
  double sum() const { return 1 + first() + second(); }
};

std::vector<WeightRow> WeightRows();

// Channel 0 of o is the difference of the small weights.
AttentionQuestion WeightQuestion(const std::vector<WeightRow>& rows);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_IDENTIFY_ATTENTION_FORWARD_WEIGHTS_H_
