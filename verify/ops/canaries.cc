#include "verify/ops/canaries.h"

#include <cstddef>

namespace lockstep::verify {

CanariesOfLanes::CanariesOfLanes(std::span<const char* const> bugs,
                                 const KernelOfLane& kernels) {
  for (size_t lane = 0; lane < kernels.size(); ++lane) {
    correct_[lane] = std::string("variant:") + kernels[lane];
    const bool usual = static_cast<Lane>(lane) == Lane::kF32;
    for (const char* bug : bugs) {
      specs_[lane].push_back(
          std::string("mutant:") + bug +
          (usual ? "" : std::string(",base=") + kernels[lane]));
    }
    for (const std::string& spec : specs_[lane]) {
      of_[lane].push_back(spec.c_str());
    }
  }
}

}  // namespace lockstep::verify
