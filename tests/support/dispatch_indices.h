// The compiled targets that this CPU runs, as Highway's dispatch tables count
// them, for tests that call a kernel of each. Include before any Highway
// header.
#ifndef LOCKSTEP_TESTS_SUPPORT_DISPATCH_INDICES_H_
#define LOCKSTEP_TESTS_SUPPORT_DISPATCH_INDICES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/simd/targets.h"

namespace lockstep::test {

// Best first. Static, as what it asks is.
static inline std::vector<size_t> SupportedIndices() {
  std::vector<size_t> indices;
  for (const int64_t bit : optimized::CompiledTargets()) {
    if (!(hwy::SupportedTargets() & bit)) continue;
    indices.push_back(optimized::DispatchIndex(bit));
  }
  return indices;
}

}  // namespace lockstep::test

#endif  // LOCKSTEP_TESTS_SUPPORT_DISPATCH_INDICES_H_
