// What judging outputs by sets of allowed values found: the common form of
// envelopes and probes.
#ifndef LOCKSTEP_VERIFY_ENVELOPE_RESULT_H_
#define LOCKSTEP_VERIFY_ENVELOPE_RESULT_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "verify/envelope_cause.h"

namespace lockstep::verify {

// A set of numbers, and whether NaN belongs to it.
struct ValueSet {
  double lo = 0;  // lo > hi: no number
  double hi = 0;
  bool nan = false;

  // States membership: a NaN is inside only where `nan` says so.
  bool Contains(double x) const {
    return (lo <= x && x <= hi) || (nan && x != x);
  }
  bool Unbounded() const { return lo == -HUGE_VAL && hi == HUGE_VAL && nan; }
};

// One element's judgement.
struct Bounds {
  ValueSet allowed;  // proof
  ValueSet likely;   // outside: suspicious; part of `allowed`
  double truth = 0;  // before rounding
  double error = 0;  // E: bound before rounding
  double likely_error = 0;
};

struct EnvelopeWitness {
  std::array<int64_t, 4> index{};
  double produced = 0;
  Bounds bounds;
};

// What judging one output tensor found.
struct EnvelopeResult {
  std::string tensor;
  int64_t expected = 0;   // elements that had to be judged
  int64_t inside = 0;     // within a bounded set
  int64_t unbounded = 0;  // where the profile excludes nothing
  int64_t outside = 0;
  int64_t unlikely = 0;  // inside, but beyond the likely set
  double worst = 0;      // largest |x - truth| / E over bounded elements
  std::optional<EnvelopeWitness> first;     // outside, in logical order
  std::optional<EnvelopeWitness> furthest;  // outside, by |x - truth| / E
  CauseAmounts shares{};  // mean parts of the slack; they sum to 1

  // The one condition for passing: something was judged, all of it, and every
  // element lies inside a set.
  bool Passed() const {
    return expected > 0 && inside + unbounded == expected && outside == 0;
  }
  bool Suspicious() const { return unlikely > 0; }
  // Nothing could have failed.
  bool Vacuous() const { return inside == 0; }
  // "91 % from p", the largest share.
  std::string Dominant() const;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ENVELOPE_RESULT_H_
