// Digests of the truth and of every bound that a case is judged by.
#ifndef LOCKSTEP_TESTS_RECORD_BOUNDS_H_
#define LOCKSTEP_TESTS_RECORD_BOUNDS_H_

#include <string>

#include "verify/base/digest.h"
#include "verify/case/case.h"
#include "verify/profile/profile.h"

namespace lockstep::record {

// 16 hex digits of the digest.
std::string ShortHex(const verify::Digester& digest);
// The bits of a number; all NaN are one.
void UpdateNumber(double x, verify::Digester* digest);

class BoundsDigest {
 public:
  // What is allowed on the inputs of the call, and on those of each of its
  // probes. `profile`: what the kernel claims; null: exact bits, which have no
  // bounds. Computed once for each call and profile.
  //   Requires: the call can be opened, the profile covers it.
  void Add(const verify::Case& call, const verify::NumericProfile* profile);

  // Empty where nothing was added.
  std::string truth() const { return truth_; }
  std::string lo() const { return lo_; }
  std::string hi() const { return hi_; }
  std::string sets() const { return sets_; }

 private:
  std::string truth_, lo_, hi_, sets_;
};

}  // namespace lockstep::record

#endif  // LOCKSTEP_TESTS_RECORD_BOUNDS_H_
