// A mamba3_scan that is Mamba-2's, in the words of ssd_scan: the inverse of
// AsMamba3 (contract/ssd_scan.h).
#ifndef LOCKSTEP_VERIFY_INPUTS_SSD_SCAN_H_
#define LOCKSTEP_VERIFY_INPUTS_SSD_SCAN_H_

#include <array>
#include <cstdint>

#include "reference/contract/mamba3_scan.h"
#include "reference/contract/ssd_scan.h"
#include "reference/contract/tensor_view.h"

namespace lockstep::verify {

// [b, t, g, n] from [b, t, 1, g, n].
template <typename Void>
BasicLaneView<Void> WithoutRank(const BasicLaneView<Void, 5>& x) {
  const auto drop = [](const std::array<int64_t, 5>& s) {
    return std::array<int64_t, 4>{s[0], s[1], s[3], s[4]};
  };
  return {x.data, x.lane, drop(x.shape), drop(x.strides)};
}

// Requires, of all three: one rank; no angles, biases, norm.
inline SsdScanProblem SsdProblemOf(const Mamba3ScanProblem& p) {
  return {p.batch, p.length, p.heads, p.groups, p.state_dim, p.head_dim,
          p.lane,  p.runs,   p.skip,  p.gate,   p.carry_in};
}
inline SsdScanInputs SsdInputsOf(const Mamba3ScanInputs& in) {
  return {WithoutRank(in.q),
          WithoutRank(in.k),
          in.v,
          in.a,
          in.dt,
          in.d,
          in.z,
          in.carry.h,
          in.segments,
          in.cu_seqlens};
}
inline SsdScanOutputs SsdOutputsOf(const Mamba3ScanOutputs& outputs) {
  return {WithoutRank(outputs.y), outputs.carry.h};
}

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_INPUTS_SSD_SCAN_H_
