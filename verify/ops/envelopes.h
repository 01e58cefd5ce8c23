// What a numeric profile allows the answers to a trial to be.
#ifndef LOCKSTEP_VERIFY_OPS_ENVELOPES_H_
#define LOCKSTEP_VERIFY_OPS_ENVELOPES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "verify/allowed/result.h"
#include "verify/ops/allowed.h"
#include "verify/profile/profile.h"

namespace lockstep::verify {

// What profiles claim of a trial's rows.
class TrialEnvelopes {
 public:
  virtual ~TrialEnvelopes() = default;

  // Why the profile claims nothing about this trial; empty if it does. An op
  // without an envelope takes profiles of exact bits only.
  virtual std::string WhyUndeclared(const NumericProfile& profile) const {
    return profile.exact ? "" : "this op, whose results have no envelope";
  }
  // The envelope of a profile that claims no exact bits, for these rows.
  virtual std::unique_ptr<AllowedResults> Envelope(
      const NumericProfile& profile, std::vector<int64_t> rows,
      int threads) const {
    (void)profile, (void)rows, (void)threads;
    return nullptr;
  }
  // Lines of an output of which the profile says nothing, whatever was
  // produced: structural laws leave them out.
  virtual std::vector<int64_t> OpenLines(const NumericProfile& profile,
                                         size_t output) const {
    (void)profile, (void)output;
    return {};
  }
  // For each output, the range that no element of any row can leave under the
  // profile. It is weak, but only the sizes of the inputs have to be known for
  // it. None: nothing is known of any.
  virtual std::vector<ValueSet> Ranges(const NumericProfile& profile) const {
    (void)profile;
    return {};
  }
  // The first witness of rows under a profile that claims no exact bits. Null:
  // it would vouch for none, costs too much, or cannot run here.
  virtual std::unique_ptr<FirstWitness> Witness(const NumericProfile& profile,
                                                int threads) const {
    (void)profile, (void)threads;
    return nullptr;
  }
  // The exact expectation; null where the inputs are no probe's, or prove
  // nothing under the profile.
  virtual std::unique_ptr<AllowedResults> Probe(
      const NumericProfile& profile, std::vector<int64_t> rows) const {
    (void)profile, (void)rows;
    return nullptr;
  }
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_ENVELOPES_H_
