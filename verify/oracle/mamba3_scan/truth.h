// The truth of a scan in binary64, twice. One is the recurrence of
// docs/ops/mamba3_scan.md, with the running error bound of docs/envelopes.md.
// The other is the same in the frame that turns with the state, which has no
// cumulative angle. Both read the contract's views themselves.
#ifndef LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_TRUTH_H_
#define LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_TRUTH_H_

#include <cstdint>
#include <vector>

#include "reference/contract/mamba3_scan.h"

namespace lockstep::oracle {

// How far a legal kernel's intermediate results can be from the truth. All of
// zero: the witnesses' own error only.
struct ScanErrors {
  // Weights, relative.
  double sigmoid = 0;  // of lambda
  double dt = 0;
  double weight =
      0;  // of gamma, s and the look-ahead, beyond dt's and lambda's
  // Decays, relative: a constant per exp, and a part times |log of the decay|.
  double exp = 0;
  double decay = 0;
  bool prefix = false;  // differences of prefix sums: ends count by themselves
  int64_t chunk = 0;    // longest; 0: the whole run
  double step = 0;      // additions to the state, per token
  // Angles, in radians.
  double tanh = 0;        // relative, of the rate
  double angle_step = 0;  // per reduction, or token that turns, beyond it
  // A chunk's angles are its start's and a sum of its rates, reduced together:
  // of every partial sum, and of the reduction, relative to the sum.
  double angle_add = 0;
  double angle_reduce = 0;
  int64_t angle_chunk = 0;  // longest; 0: every token by itself
  double angle_sum = 0;     // relative to the sum of |rates| of a chunk
  double angle_store = 0;
  double angle_start = 0;
  bool unreduced = false;  // angle_step is relative to the angle's magnitude
  double trig = 0;         // absolute
  // Operands, relative.
  double bias = 0;     // of the sum
  double param = 0;    // of biases, psi, phi
  double product = 0;  // of psi v
  double query = 0;
  double key = 0;
  double scaled = 0;  // k times weight
  double carry_key = 0;
  double carry_angle = 0;  // radians
  // Sums, relative to their companions.
  double output = 0;
  double input = 0;
  double diagonal = 0;
  double gate = 0;  // of silu, and times (1 + |argument|) of its argument
  double rank = 0;  // of every product and sum over the ranks
  double norm = 0;
  // Absolute error of any operation that underflows.
  double tiny = 0;
  // What smaller numbers count as in the companions of y: the type's smallest
  // normal number, below which roundings do not shrink.
  double floor = 0;
  // Above it an operation may overflow on the way.
  double largest = 0x1p126;
  // Absolute, of o before norm and gate: what an exact probe grants.
  double fixed = 0;
  // Which coordinates an angle turns: what the variant says, or the others.
  bool other_pairing = false;
  // NaN and infinity of a token reach so many tokens before it in its run.
  int64_t nan_reach = 0;
  // What depends on NaN is NaN; otherwise it may be anything.
  bool nan_propagates = false;
};

// One head of one run. Arrays are dense in the order of the outputs: y [t,
// output rank, p], theta [s], h [p, n], k [r, n], v [p]. A bound beyond its
// range excludes next to nothing: behind an output norm a quarter of what any
// data could give, |w| sqrt(P) |gate|; else the companion, of k the modulus:
// then zero, the double and the negative are all inside.
struct ScanTruth {
  std::vector<double> y, y_error, y_companion, y_range;
  // Elements of y, theta, h and k that are NaN, whatever the order of sums;
  // empty unless NaN propagates.
  std::vector<bool> y_nan, theta_nan, h_nan, k_nan;
  std::vector<double> theta, theta_error;  // turns; the error in turns
  std::vector<double> h, h_error, h_companion;
  // Largest error of an angle since the start of the run, radians.
  double angle_drift = 0;
  std::vector<double> k, k_error, k_range;
  std::vector<double> v;
};

// Tokens first .. end - 1 of `row`, from the carry of `run` if the inputs have
// one. An element that depends on NaN or infinity, or may overflow f32, has an
// infinite error.
//   Requires: Validate(problem, inputs, ...).ok(), first <= end.
struct ScanPlace {
  int64_t row = 0;
  int64_t first = 0;
  int64_t end = 0;
  int64_t run = 0;
  int64_t head = 0;
};
ScanTruth ComputeScan(const Mamba3ScanProblem& problem,
                      const Mamba3ScanInputs& inputs, const ScanPlace& place,
                      const ScanErrors& errors);

// Fills in which elements depend on a NaN of the inputs.
void MarkNaN(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
             const ScanPlace& place, bool other_pairing, ScanTruth* truth);
// Tokens of a run, counted from its first, that NaN or infinity in k, v, the
// rates or tau of one at most `reach` tokens later gets to, or a score with it
// that may exceed `largest`; none where `reach` is 0.
std::vector<bool> ReachedByLater(const Mamba3ScanProblem& problem,
                                 const Mamba3ScanInputs& inputs,
                                 const ScanPlace& place, int64_t reach,
                                 double largest);
// Whether no token of a run holds NaN or infinity.
bool AllFinite(const Mamba3ScanProblem& problem, const Mamba3ScanInputs& inputs,
               const ScanPlace& place);

// y, theta, h, k and v alone; errors and companions stay empty.
ScanTruth ComputeScanCorotating(const Mamba3ScanProblem& problem,
                                const Mamba3ScanInputs& inputs,
                                const ScanPlace& place,
                                bool other_pairing = false);

}  // namespace lockstep::oracle

#endif  // LOCKSTEP_VERIFY_ORACLE_MAMBA3_SCAN_TRUTH_H_
