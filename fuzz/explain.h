// Finds the known bugs that fail like a failing case. The case is made small
// enough to replay all of them, and similar cases distinguish those that are
// left.
#ifndef LOCKSTEP_FUZZ_EXPLAIN_H_
#define LOCKSTEP_FUZZ_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/trial.h"
#include "reference/contract/status.h"
#include "verify/case/case.h"
#include "verify/causes/explanation.h"
#include "verify/domain/domain.h"

namespace lockstep::fuzz {

struct Explained {
  std::string line;  // the case on which bugs were replayed
  std::vector<verify::Explanation> causes;  // best first
  // Stated or not, where none is worth stating.
  std::optional<verify::Explanation> nearest;
  std::string none;   // why, if not for want of a bug alike
  int64_t cases = 0;  // that the causes were held against
  int64_t tried = 0;  // emulated kernels run
};

// `seconds`: at most so long for making the case small; telling alike bugs
// apart takes a bounded number of cases. Of answers to fixed cases the case
// stays as it is. Errors: the finding is not one of numbers, or the case stays
// too large.
//   Requires: outcome.Found(), of `sequence`, whose op the domain is of.
Result<Explained> Explain(const verify::Domain& domain,
                          const std::vector<verify::Case>& sequence,
                          const Outcome& outcome, const Target& target,
                          double seconds);

// The table a person reads, and the same as JSON.
std::string ExplainedText(const Explained& explained);
std::string ExplainedJson(const Explained& explained);

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_EXPLAIN_H_
