// The scalar functions compiled a second time, from the same source, with the
// flags of a CPU that has FMA (tests/reference/elementary.cmake). Nothing but
// function pointers leaves this file: code compiled with its flags must not be
// linked elsewhere.

#include "reference/contract/coefficients.h"
#include "reference/contract/numerics.h"
#include "tests/support/elementary_sides.h"

// Include paths are not touched by a macro, names are.
#define reference fused

#include "reference/elementary.cc"
#include "tests/support/elementary_scalar-inl.h"

namespace lockstep::elementary {

const Kernel* FusedKernels();
const Kernel* FusedKernels() { return fused::kKernels; }

}  // namespace lockstep::elementary
