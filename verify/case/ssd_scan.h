// The keys of ssd_scan case lines: those of mamba3_scan that Mamba-2 has.
#ifndef LOCKSTEP_VERIFY_CASE_SSD_SCAN_H_
#define LOCKSTEP_VERIFY_CASE_SSD_SCAN_H_

#include <span>

#include "verify/case/case.h"
#include "verify/case/keys.h"
#include "verify/case/mamba3_scan/case.h"
#include "verify/case/mamba3_scan/line.h"

namespace lockstep::verify {

// A Mamba-3 case with tau = +infinity, one rank, no angles, no biases and a
// carry that is h alone.
struct SsdScanCase : OpValuesAs<SsdScanCase, Mamba3ScanCase> {
  SsdScanCase() { ssd = true; }
  friend bool operator==(const SsdScanCase&, const SsdScanCase&) = default;
};

// In canonical order.
std::span<const CaseKey> SsdScanKeys();

inline constexpr CaseRow kSsdScanText = [] {
  CaseRow row = Mamba3Text<SsdScanCase>(
      "ssd_scan", "Mamba-2 state-space scan, forward, with its carry",
      &WhyNotMamba3ScanProbe, ShardBit(ShardAxis::kTime));
  row.keys = &SsdScanKeys;
  return row;
}();

}  // namespace lockstep::verify

#endif  // LOCKSTEP_VERIFY_CASE_SSD_SCAN_H_
