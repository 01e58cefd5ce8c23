// Known-bad kernels that the judge has to catch, and what they compute without
// their fault, in each lane.
#ifndef LOCKSTEP_VERIFY_OPS_CANARIES_H_
#define LOCKSTEP_VERIFY_OPS_CANARIES_H_

#include <array>
#include <span>
#include <string>
#include <vector>

#include "reference/contract/lanes.h"

namespace lockstep::verify {

// The names of an op's correct kernels, by lane.
using KernelOfLane = std::array<const char*, kWideLanes>;

class CanariesOfLanes {
 public:
  // Every bug in the kernel of every lane; in f32 in that of the catalogue.
  CanariesOfLanes(std::span<const char* const> bugs,
                  const KernelOfLane& kernels);
  CanariesOfLanes(const CanariesOfLanes&) = delete;
  CanariesOfLanes& operator=(const CanariesOfLanes&) = delete;

  // "mutant:scan.diag_missing,base=scan-f16-lane", ...
  // The added lane has none.
  std::span<const char* const> Of(Lane lane) const {
    if (lane == Lane::kAdded) return {};
    return of_[static_cast<size_t>(lane)];
  }
  // "variant:scan-f16-lane".
  const char* Correct(Lane lane) const {
    return correct_[WideLaneIndex(lane)].c_str();
  }

 private:
  std::array<std::vector<std::string>, kWideLanes> specs_;
  std::array<std::vector<const char*>, kWideLanes> of_;
  std::array<std::string, kWideLanes> correct_;
};

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_OPS_CANARIES_H_
