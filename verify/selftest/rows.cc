#include "verify/selftest/row.h"

namespace lockstep::verify {

std::span<const SelftestRow* const> SelftestRows() {
  static const SelftestRow* const kRows[] = {
      &kAttentionForwardSelftest,   &kAttentionBackwardSelftest,
      &kAttentionMergeSelftest,     &kMamba3ScanSelftest,
      &kMamba3ScanBackwardSelftest, &kSsdScanSelftest};
  return kRows;
}

}  // namespace lockstep::verify
