// What judging outputs by sets of allowed values found: the common form of
// envelopes and probes.
#ifndef LOCKSTEP_VERIFY_ALLOWED_RESULT_H_
#define LOCKSTEP_VERIFY_ALLOWED_RESULT_H_

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "verify/allowed/cause.h"

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
  // Too wide to prove anything: E is above a quarter of what any answer, right
  // or wrong, can span.
  bool vacuous = false;
  // The profile declares that this row, or run, holds no answer: it sees no key
  // or token. Then nothing there is wrong, and `allowed` is everything.
  bool unclaimed = false;
};

// An output with more than one open element in so many is not trusted. A fault
// that touches whole rows or heads touches more than these. A fault that hides
// in fewer is smaller than what a sample of rows would miss.
inline constexpr int64_t kOpenShare = 16;

struct EnvelopeWitness {
  std::array<int64_t, 4> index{};
  double produced = 0;
  Bounds bounds;
};

// One judged element, for the code that draws it.
struct JudgedElement {
  std::array<int64_t, 4> index{};
  double produced = 0;
  Bounds bounds;
  // |produced - truth| without the last rounding, in units of the bound;
  // infinite for what has no distance.
  double distance = 0;
};
// Called for every element of a tensor as it is judged; may be empty.
using ElementSink =
    std::function<void(const std::string& tensor, const JudgedElement&)>;

// What judging one output tensor found.
struct EnvelopeResult {
  std::string tensor;
  int64_t expected = 0;   // elements that had to be judged
  int64_t inside = 0;     // within a set that tells something
  int64_t unbounded = 0;  // where the profile excludes nothing
  int64_t unclaimed = 0;  // of these, in rows that hold no answer
  int64_t vacuous = 0;    // within a set that is too wide to tell anything
  int64_t outside = 0;
  int64_t unlikely = 0;  // inside, but beyond the likely set
  double worst = 0;      // largest |x - truth| / E over bounded elements
  std::optional<EnvelopeWitness> first;     // outside, in logical order
  std::optional<EnvelopeWitness> furthest;  // outside, by |x - truth| / E
  CauseAmounts shares{};  // mean parts of the slack; they sum to 1

  // The one condition for passing: something was judged, all of it, and every
  // element lies inside a set.
  bool Passed() const {
    return expected > 0 && inside + unbounded + vacuous == expected &&
           outside == 0;
  }
  // Elements that hardly any wrong answer could have failed at.
  int64_t Open() const { return unbounded + vacuous; }
  // More of them than a verdict of the output can bear.
  // Rows without an answer are left out, unless most of it are such rows.
  bool MostlyOpen() const {
    const int64_t claimed = expected - unclaimed;
    return claimed < unclaimed || Open() - unclaimed > claimed / kOpenShare;
  }
  bool Suspicious() const { return unlikely > 0; }
  // Nothing could have failed.
  bool Vacuous() const { return inside == 0; }
  // "91 % from p", the largest share.
  std::string Dominant() const;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_RESULT_H_
