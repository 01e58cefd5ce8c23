// The calls that a claim compares with the larger call of a pair. They come
// from the op's table; those of `repeat` and `split` are the same for every op.
#ifndef LOCKSTEP_VERIFY_JUDGE_CLAIMS_PAIRS_H_
#define LOCKSTEP_VERIFY_JUDGE_CLAIMS_PAIRS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verify/candidate/candidate.h"
#include "verify/ops/claims.h"
#include "verify/ops/op.h"

namespace lockstep::verify {

struct OtherCall {
  std::string what;  // "batch row 2 alone", "run again"
  std::string line;  // its case; empty: that of the larger call
  // Its inputs, and the lines that agree; null: those of the larger call.
  std::function<Result<LawCall>()> make;
  Variation how{};
  bool compared = true;  // false: it only comes between
  std::vector<bool> zeros_alike{};
};

// A larger call, opened, and how another of its kind is opened.
struct LargerCall {
  const Case& request;
  const Trial& trial;
  Case longer;  // of the same kind, with more of everything
  std::function<Result<std::unique_ptr<Trial>>(const Case&, int64_t shift)>
      open;
};

// `runs` more of the same call, some at other addresses and after other calls.
std::vector<OtherCall> RepeatCalls(const Candidate& candidate,
                                   const LargerCall& larger, int64_t runs);
// The same call by every number of splits and threads that the kernel takes;
// none: it takes neither.
std::vector<OtherCall> SplitCalls(const Candidate& candidate,
                                  const Trial& larger);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_JUDGE_CLAIMS_PAIRS_H_
