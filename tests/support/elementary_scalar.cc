#include "tests/support/elementary_scalar-inl.h"

namespace lockstep::elementary {

#ifdef LOCKSTEP_FUSED_SCALAR
const Kernel* FusedKernels();  // elementary_fused.cc
#endif

Side ScalarSide() { return {"scalar", reference::kKernels}; }

std::vector<Side> FusedScalarSide() {
#ifdef LOCKSTEP_FUSED_SCALAR
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return {{"scalar_fma", FusedKernels()}};
  }
#endif
  return {};
}

}  // namespace lockstep::elementary
