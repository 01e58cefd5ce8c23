// How large the elements of a tensor are.
#ifndef LOCKSTEP_VERIFY_BASE_MAGNITUDE_H_
#define LOCKSTEP_VERIFY_BASE_MAGNITUDE_H_

#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

struct Magnitude {
  double largest = 0;  // |x| of the finite elements
  bool finite = true;  // all of them are
};

Magnitude MagnitudeOf(const LaneView& x);

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_BASE_MAGNITUDE_H_
