// How far an answer lies from another, all of it and by the places of each
// axis.
#ifndef LOCKSTEP_VERIFY_CAUSES_FIT_H_
#define LOCKSTEP_VERIFY_CAUSES_FIT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "verify/ops/op.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Rows of a trial that are looked at, ascending; empty: all.
using LookedAt = std::vector<int64_t>;
// Lines of an output that these rows hold, ascending.
std::vector<int64_t> LinesOf(const Trial& trial, size_t output,
                             const LookedAt& rows);

// The lines looked at as numbers, [output][element in logical order]; empty: an
// output that kernels of the profile do not have. Null: they have all.
using Numbers = std::vector<std::vector<float>>;
Numbers NumbersOf(const Trial& trial, const OutputSet& outputs,
                  const NumericProfile* profile, const LookedAt& rows = {});

// Squared distances, summed: of the produced answer from the right one, of the
// produced one from the one with a bug, and of the bug's from the right one.
// Each element counts 1 at most: from one root mean square of the right output
// on. NaN and infinity count once a line: they tell where a bug is, not which.
struct Distances {
  double wrong = 0;
  double left = 0;
  double moved = 0;
  // Evidence, whatever the size of an error: finite elements that are plainly
  // wrong, or that the bug plainly moves. On them the bug gives the produced
  // answer, or it does not; `erring` are the wrong ones of both.
  int64_t agree = 0;
  int64_t against = 0;
  int64_t erring = 0;
  int64_t moving = 0;  // those that the bug plainly moves
  int64_t rows = 0;    // with an element that agrees
  int64_t lines = 0;   // looked at

  void Add(const Distances& other);
  void Remove(const Distances& other);
};

struct Fit {
  Distances all;
  // By the name of an axis ("b", "h", "i"), then by place.
  std::map<std::string, std::vector<Distances>> by_axis;
  bool same_bits = true;  // produced, and with the bug
};
//   Requires: three answers of these rows of the trial.
Fit FitOf(const Trial& trial, const Numbers& right, const Numbers& produced,
          const Numbers& bug, const LookedAt& rows = {});

// The share of the error that the bug leaves unexplained, in [0, 1]: 0 is the
// same answer. A bug that errs where the answer is right pays for it.
double Left(const Distances& distances);

// Where the bug acts: the axis along which its places, and places without it,
// explain the answer best, of those whose places were all looked at.
struct Scope {
  std::string text;     // "h 2, 3 of 4"; empty: everywhere
  double left = 1;      // with it
  Distances distances;  // with it
};
Scope ScopeOf(const Fit& fit);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CAUSES_FIT_H_
