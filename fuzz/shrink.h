// From a case that fails to the smallest one found that fails alike.
#ifndef LOCKSTEP_FUZZ_SHRINK_H_
#define LOCKSTEP_FUZZ_SHRINK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "fuzz/trial.h"
#include "verify/case/case.h"
#include "verify/domain/domain.h"

namespace lockstep::fuzz {

struct Shrunk {
  std::vector<verify::Case> sequence;
  Outcome outcome;    // of that sequence
  int64_t tried = 0;  // sequences judged
  int64_t steps = 0;  // of them smaller and alike
  double seconds = 0;
  bool finished = true;  // false: time was up, or stop
  // False: it fails only after other cases in the same process. Not looked at
  // where nothing was shrunk.
  bool alone = true;
};

// A size, and that which is small enough.
struct ShrinkGoal {
  std::function<int64_t(const std::vector<verify::Case>&)> size;
  int64_t most = 0;
};

// Keeps tells what a sequence must be beside small: the condition of --where.
using Keeps = std::function<bool(const std::vector<verify::Case>&)>;

// Greedy: the first simpler sequence with the same signature is taken, until
// none has it or `seconds` are over. `outcome` is that of `sequence`. What a
// process that had answered other cases made of the last one has to come again
// in a fresh process; if it does not, each step is taken in one of its own, and
// a sequence that does not even fail there as it is stays as it is.
// `keeps`, where given: only sequences of which it is true are tried.
// `goal`, where given: no further than that, by the gentlest steps, so that
// what a bug is about (a width, heads, more rows than fit a tile) is still
// there.
//   Requires: outcome.Found(), the domain is that of the sequence's op.
Shrunk Shrink(const verify::Domain& domain,
              const std::vector<verify::Case>& sequence, const Outcome& outcome,
              const Target& target, double seconds,
              const ShrinkGoal* goal = nullptr, const Keeps& keeps = {});

}  // namespace lockstep::fuzz

#endif  // LOCKSTEP_FUZZ_SHRINK_H_
