// How far an answer lies from another, all of it and by the places of each
// axis.
#ifndef LOCKSTEP_VERIFY_CAUSES_FIT_H_
#define LOCKSTEP_VERIFY_CAUSES_FIT_H_

#include <map>
#include <string>
#include <vector>

#include "verify/ops/op.h"

namespace lockstep::verify {

// Outputs as numbers, [output][element in logical order].
using Numbers = std::vector<std::vector<float>>;
Numbers NumbersOf(const Trial& trial, const OutputSet& outputs);

// Squared distances, summed: of the produced answer from the right one, of the
// produced one from the one with a bug, and of these two from one another.
// Each element counts 1 at most: from one root mean square of the right output
// on, and where one of the two is no number or has another sign of infinity.
struct Distances {
  double wrong = 0;
  double left = 0;
  double moved = 0;

  void Add(const Distances& other);
};

struct Fit {
  Distances all;
  // By the name of an axis ("b", "h", "i"), then by place.
  std::map<std::string, std::vector<Distances>> by_axis;
  bool same_bits = true;  // produced, and with the bug
};
//   Requires: three answers of this trial.
Fit FitOf(const Trial& trial, const Numbers& right, const Numbers& produced,
          const Numbers& bug);

// The share of the error that the bug leaves unexplained, in [0, 1]: 0 is the
// same answer. A bug that errs where the answer is right pays for it.
double Left(const Distances& distances);

// Where the bug acts: the axis along which its places, and places without it,
// explain the answer best.
struct Scope {
  std::string text;  // "h 2, 3 of 4"; empty: everywhere
  double left = 1;   // with it
};
Scope ScopeOf(const Fit& fit);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_FIT_H_
