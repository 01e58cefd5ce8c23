// What the declared arithmetic does to keys that share one score. It says how
// far their weights may be from each other, what numerator and denominator
// round apart, and which sums are still exact. From it follows the slack of
// every probe. Derivation: docs/envelopes.md.
#ifndef LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_WEIGHTS_H_
#define LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_WEIGHTS_H_

#include <cmath>
#include <string>

#include "reference/contract/attention_forward.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// Keys of one score that outweigh all others of their row, the top keys.
struct ProbeRow {
  double keys = 1;     // visible ones, the others included
  double top = 1;      // how many share the score
  double abs_sum = 0;  // sum of |v| over the top keys
};

// How far o may be from the mean of the top keys' values:
// relative * |mean| + absolute * mean |v|.
struct ProbeError {
  double relative = 0;
  double absolute = 0;
};

// What the weights are rounded to for the numerator.
struct Conversion {
  double unit = 0;  // relative error; 0: none
  int bits = 24;    // significant ones of a result
  bool nearest = true;
  // Of types of small range: what may vanish of a weight, and the ends of the
  // weights that keep their bits. Without such a type: 0.
  double lost = 0;
  double least = 0;
  double largest = 0;
};
Conversion ConversionOf(const AttentionForwardProblem& problem,
                        const NumericProfile& profile);

// Relative error of one addition of terms that are no integers.
double StepOf(const Accumulator& how);

// The slack of rows whose top keys have a given score. Amounts are relative.
struct TopSlack {
  // Of |mean|: the division, and a common factor of all weights that numerators
  // and denominators round apart.
  double common = 0;
  // Absolute error of a quotient p / l in a type of small range; quotients are
  // 1 / top.
  double floor = 0;
  // Of mean |v|: weights that differ from key to key, each way.
  double apart = 0;
  // Per addition; 0: sums of numerators (of mean |v|), or of denominators (of
  // |mean|), are exact.
  double value_step = 0;
  double weight_step = 0;
  // Numerators have so many bits: their sums are exact while sum |v| stays
  // below 2^(24 - bits), and value_step counts above only.
  int bits = 24;
  // Of mean |v|: parts that are merged normalised, and their number.
  double merge = 0;
  double merge_step = 0;
  // Of mean |v| per tile: o kept normalised, or rescaled by an inexact exp(0).
  double tile_step = 0;

  // Relative error of o in a row that sees one key, whose sums have one term;
  // infinite where the profile says nothing narrower than the above.
  double lone = HUGE_VAL;

  double chain = 0;  // longest chain of additions inside a tile; 0: all keys
  double tiles = 0;  // most tiles; 0: one per key
  double parts = 0;  // most parts that are merged; 0: one per key

  ProbeError For(const ProbeRow& row) const;
  // Below it `abs_sum` of a row changes nothing of For, nor does it above.
  double ExactBelow() const { return std::ldexp(1.0, 24 - bits); }
};

// `score` of the top keys in natural units, 0 or far above all others.
TopSlack MakeTopSlack(double score, const AttentionForwardProblem& problem,
                      const NumericProfile& profile);

// Why nothing can be proved from top keys of this score, empty if something
// can: weights leave their type, or equal scores may have weights that round to
// different numbers. `several`: more than one top key in some row.
std::string WhyNotTop(double score, bool several,
                      const AttentionForwardProblem& problem,
                      const NumericProfile& profile);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_ALLOWED_ATTENTION_FORWARD_PROBE_WEIGHTS_H_
