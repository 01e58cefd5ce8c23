// What is known of a trial's rows without the contract's bits: what a profile
// allows them to be, and a witness that vouches for some.
#ifndef LOCKSTEP_VERIFY_OPS_ALLOWED_H_
#define LOCKSTEP_VERIFY_OPS_ALLOWED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "verify/allowed/errors.h"
#include "verify/allowed/result.h"
#include "verify/ops/outputs.h"

namespace lockstep::verify {

// What a numeric profile allows the rows of a trial to be.
class AllowedResults {
 public:
  virtual ~AllowedResults() = default;

  // Rows judged, ascending.
  virtual const std::vector<int64_t>& rows() const = 0;
  // One result per output that is judged. `each`: called for every element.
  virtual std::vector<EnvelopeResult> JudgeEach(
      const OutputSet& produced, const ElementSink& each) const = 0;
  std::vector<EnvelopeResult> Judge(const OutputSet& produced) const {
    return JudgeEach(produced, {});
  }
  // Whether rows()[n] may have these bits, in every output that is judged; an
  // output whose bits are empty is not looked at.
  virtual bool Allows(size_t n, const RowBits& bits) const = 0;
  // Whether anything about that row is claimed.
  virtual bool Bounds(size_t n) const = 0;
  // Output 0 in real numbers, [row][channel]; empty where only sets are known.
  virtual std::span<const double> truth() const = 0;
  // The signed errors of an output as statistics look at them; or why they do
  // not.
  virtual ErrorSample Errors(const OutputSet& produced) const {
    (void)produced;
    ErrorSample sample;
    sample.why_not = "no statistics are known of such outputs";
    return sample;
  }
};

// Our own kernel's answer to a trial. It vouches for rows whose truth is not
// computed: what a profile allows around the truth is larger than the error of
// our arithmetic.
class FirstWitness {
 public:
  virtual ~FirstWitness() = default;

  // Rows whose truth is computed all the same, ascending. These are first and
  // last rows, those at edges of the witness's tiles and of segments, and one
  // in 64, drawn by `salt`.
  virtual std::vector<int64_t> Trials(uint64_t salt) const = 0;
  // Both answers to these rows, by one truth; a result per output.
  struct Tried {
    // The witness's own, before the envelope of its own arithmetic: one that
    // fails is our own fault.
    std::vector<EnvelopeResult> witness;
    // `produced`, before that of the profile. Only bounds are judged, not
    // errors that are allowed but unlikely.
    std::vector<EnvelopeResult> produced;
  };
  virtual Tried OnTrial(const std::vector<int64_t>& rows,
                        const OutputSet& produced) const = 0;
  // None: the profile certainly allows the row. Otherwise how far apart the
  // two are, the larger the more suspect; infinite for NaN.
  virtual std::optional<double> Doubt(int64_t row,
                                      const OutputSet& produced) const = 0;
  // Multiply-adds of the row's truth.
  virtual int64_t TruthCost(int64_t row) const = 0;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ALLOWED_H_
